/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparison of two recordings, A and B, as JSON, which `netflowctl diff --json` prints; docs/diff.md lists its
 * members.  No I/O.
 */
#ifndef CLI_DIFF_DIFF_H
#define CLI_DIFF_DIFF_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

/* What the daemon replied about one recording.  The replies are borrowed. */
struct diff_side {
	const char *file;
	const json_t *status;  /* GetStatus */
	const json_t *probes;  /* ListProbes */
	const json_t *drops;   /* GetDrops, all rows */
	const json_t *latency; /* GetLatency, all devices together */
};

/* The names of both recordings in JSON, indexed like the sides. */
extern const char *const diff_names[2];

/* Compare sides[0], A, with sides[1], B.  NULL when out of memory. */
json_t *diff_make(const struct diff_side sides[2]);

/* ---- parts of it, which share these -------------------------------------------------------- */

/* Whether a recording has the events of a probe. */
bool diff_has_probe(const struct diff_side *side, const char *name);

/* The state of a question of coverage, "unavailable" if it is not there. */
const char *diff_coverage(const struct diff_side *side, const char *question);

/* The time from the first to the last event, in ns; 0: there is none. */
uint64_t diff_duration(const struct diff_side *side);

/* The members "drops" and "latency".  NULL when out of memory. */
json_t *diff_drops(const struct diff_side sides[2]);
json_t *diff_latency(const struct diff_side sides[2]);

#endif
