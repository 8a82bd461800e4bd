/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counts for the ring buffer of a CPU: per_cpu/cpuN/stats of an instance. */
#ifndef DAEMON_PROBE_TRACEFS_STATS_H
#define DAEMON_PROBE_TRACEFS_STATS_H

#include <stdint.h>

struct stats {
	uint64_t events; /* that are in the ring buffer, or were read from it */
	uint64_t lost;	 /* overwritten before they were read, or not written at all */
};

/* Read the text of the file.  Returns 0, or -EINVAL if a counter is missing or is not a number. */
int stats_parse(const char *text, struct stats *stats);

#endif
