/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that several commands take: rows for their tables of arguments. */
#ifndef CLI_ASK_OPTIONS_H
#define CLI_ASK_OPTIONS_H

#include "cli/ask/arguments.h"

/* Rows and records that can be asked for; more are not kept anywhere. */
#define OPTION_COUNT_MAX 1000000

#define OPTION_FLAG(member, text)                                          \
	{                                                                  \
		.name = #member, .type = ARGUMENT_FLAG,                    \
		.offset = offsetof(struct arguments, member), .help = text \
	}

#define OPTION_COUNT(member, text)                                                               \
	{                                                                                        \
		.name = #member, .value = "N", .type = ARGUMENT_NUMBER,                          \
		.offset = offsetof(struct arguments, member), .min = 1, .max = OPTION_COUNT_MAX, \
		.help = text                                                                     \
	}

#define OPTION_DEVICE(text)                                                \
	{                                                                  \
		.name = "dev", .value = "D", .type = ARGUMENT_TEXT,        \
		.offset = offsetof(struct arguments, device), .help = text \
	}

#define OPTION_NETNS                                                                                  \
	{                                                                                             \
		.name = "netns", .value = "N", .type = ARGUMENT_NETNS,                                \
		.offset = offsetof(struct arguments, netns),                                          \
		.help = "only this network namespace: a name of `ip netns`, host, or an inode number" \
	}

#define OPTION_PCAP(what)                                                                          \
	{                                                                                          \
		.name = "pcap", .value = "FILE", .type = ARGUMENT_TEXT,                            \
		.offset = offsetof(struct arguments, pcap),                                        \
		.help = "write " what " to a pcapng file for Wireshark, - for the standard output" \
	}

#endif
