/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that several commands take: rows for their tables of arguments. */
#ifndef CLI_ASK_OPTIONS_H
#define CLI_ASK_OPTIONS_H

#include "cli/ask/arguments.h"

/* As many rows and records as the daemon can hold: the limit of its settings *.recent and drops.keys. */
#define OPTION_COUNT_MAX (1 << 20)

/* An option --`text` whose value is in `member` of struct arguments; the rest is designated. */
#define OPTION(text, kind, member, ...)                                   \
	{                                                                 \
		.name = text, .type = ARGUMENT_##kind,                    \
		.offset = offsetof(struct arguments, member), __VA_ARGS__ \
	}

/* A flag, and a number of rows or records, named as their members. */
#define OPTION_FLAG(member, text) OPTION(#member, FLAG, member, .help = text)
#define OPTION_COUNT(member, text)                                                       \
	OPTION(#member, NUMBER, member, .value = "N", .min = 1, .max = OPTION_COUNT_MAX, \
	       .help = text)

/* ---- what several commands take ---------------------------------------------------------- */

#define OPTION_DEVICE(text) OPTION("dev", TEXT, device, .value = "D", .help = text)

#define OPTION_NETNS                                                                      \
	{                                                                                 \
		.name = "netns", .value = "N", .type = ARGUMENT_NUMBER,                   \
		.offset = offsetof(struct arguments, netns), .min = 1, .max = UINT32_MAX, \
		.help = "only the network namespace of this inode number"                 \
	}

#define OPTION_FOLLOW(what) \
	OPTION_FLAG(follow, what " as they happen, until Ctrl-C; with --json one a line")

#define OPTION_LIMIT OPTION_COUNT(limit, "the newest N records (100); with --follow end after N")

#define OPTION_PCAP                                 \
	OPTION("pcap", TEXT, pcap, .value = "FILE", \
	       .help = "write records to a pcapng file for Wireshark, - for the standard output")

#endif
