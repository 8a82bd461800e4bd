/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows for the commands' tables of options, and the options that several commands have. */
#ifndef CLI_ASK_OPTIONS_H
#define CLI_ASK_OPTIONS_H

#include "cli/ask/arguments.h"

/* The most rows and records that a daemon can hold: the limit of *.recent and drops.keys. */
#define OPTION_COUNT_MAX (1 << 20)

/* Option --`text`, whose value goes to `member` of struct arguments; then designated members. */
#define OPTION(text, kind, member, ...)                                   \
	{                                                                 \
		.name = text, .type = ARGUMENT_##kind,                    \
		.offset = offsetof(struct arguments, member), __VA_ARGS__ \
	}

/* A flag that is named as its member. */
#define OPTION_FLAG(member, text) OPTION(#member, FLAG, member, .help = text)

/* A number of rows or records that is named as its member; the help names the limits. */
#define OPTION_COUNT(member, text)                                                       \
	OPTION(#member, NUMBER, member, .value = "N", .min = 1, .max = OPTION_COUNT_MAX, \
	       .help = text)

/* ---- options of several commands --------------------------------------------------------- */

#define OPTION_DEVICE(text) OPTION("dev", TEXT, device, .value = "DEV", .help = text)

#define OPTION_NETNS                                                                                  \
	{                                                                                             \
		.name = "netns", .value = "N", .type = ARGUMENT_NETNS,                                \
		.offset = offsetof(struct arguments, netns),                                          \
		.help = "only this network namespace: a name of `ip netns`, host, or an inode number" \
	}

#define OPTION_FOLLOW(what) \
	OPTION_FLAG(follow, "print " what " as they happen, until Ctrl-C; with --json one per line")

/* Rows of a table that a person gets without --all: a screen or two, with what is around it. */
#define OPTION_ROWS_SHOWN 40
/* Records without --limit. */
#define OPTION_RECORDS_SHOWN 100

#define OPTION_ALL       \
	OPTION_FLAG(all, \
		    "show all rows; without it a table shows 40 and says how many more there are")

#define OPTION_LIMIT        \
	OPTION_COUNT(limit, \
		     "show the newest N records, 1 to 1048576 (100); with --follow stop after N")

/* The past; see session_show(). */
#define OPTION_PERIOD                                                                                                           \
	OPTION("since", MOMENT, since_ns, .value = "TIME", .max = INT64_MAX,                                                    \
	       .help = "count from TIME on, from the history: 15m (ago), 03:00 (the last one), \"yesterday 03:00\", RFC 3339"), \
		OPTION("until", END, until_ns, .value = "TIME", .max = INT64_MAX,                                               \
		       .help = "count up to TIME (now), given like that of --since; 03:00 is the first one after --since")

#define OPTION_PCAP                                 \
	OPTION("pcap", TEXT, pcap, .value = "FILE", \
	       .help = "write the packets to a pcapng file for Wireshark; -: standard output")

#endif
