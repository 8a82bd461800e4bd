/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon knows: its parts that answers are made of.  Every row of an answer comes from one of them. */
#ifndef DAEMON_SOURCES_SOURCES_H
#define DAEMON_SOURCES_SOURCES_H

#include <stdint.h>

#include "daemon/store/readings.h"

struct attribution;
struct backend;
struct elsewhere;
struct governor;
struct history;
struct pause;
struct records;
struct rockets;

/* The daemon owns all of these. */
struct sources {
	struct backend *backend;
	const char *backend_reason;	 /* why this backend runs */
	const char *symbols_reason;	 /* why symbols are missing; NULL if they are not */
	struct records *records;	 /* the newest records */
	struct readings *readings;	 /* the counters */
	struct attribution *attribution; /* for namespaces that clients name */
	const struct rockets *rockets;	 /* rockets that the kernel's log reports */
	const char *kmsg_reason;	 /* why netflowd does not read that log; NULL if it does */
	uint32_t slots_limit;
	const struct governor *governor;
	struct history *history;	   /* of counters and records, on disk */
	const struct elsewhere *elsewhere; /* drops that the probes do not see */
	struct pause *pause;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

/* The newest reading of a part of the counters; NULL: there is none. */
#define sources_reading(sources, part) readings_latest((sources)->readings, READING_##part)

/* Why this host's other sources are not read: a recording is shown; NULL: none is. */
const char *sources_recorded(const struct sources *sources);

#endif
