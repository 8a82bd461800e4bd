/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters by key, of which only the busiest keys have a series of their own: all others of their group count in one
 * more, "other".  So the number of series is bounded, whatever keys a stranger makes.
 *
 * What a series shows never goes backwards:
 *
 *  - It shows what was counted while the key had the series: from the daemon's start on if there was room, otherwise
 *    from the round in which it got the series.  What was counted before stays in "other".
 *  - A key keeps its series until it is idle, and another key needs it.  One exception: a key that counts more than
 *    twice as much as the least busy series takes that over once it was shown for `hold_ns`.
 *  - A key that gets a series again goes on where that ended, as long as the readings have the key.  Later it begins at
 *    0 again, which Prometheus treats as a restart.
 *  - When a key folds (see core/drop_sums.h), its series stays as it is.
 *
 * So each event counts in exactly one series, once: for a group, total = sum of the series + other + unlisted, where
 * unlisted is what series had that were given up.
 */
#ifndef DAEMON_METRICS_SERIES_H
#define DAEMON_METRICS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define SERIES_VALUES 9 /* counters of one key */
#define SERIES_KEY_MAX 48
#define SERIES_TEXT_MAX 600

struct metrics_series;

/* Plain bytes, padding included: begin with SERIES_KEY_MAX zeros. */
struct series_key {
	unsigned char bytes[SERIES_KEY_MAX];
};

struct series_limits {
	size_t shown;	  /* series at once, at least 1 */
	uint64_t idle_ns; /* without events, before another key can take the series */
	uint64_t hold_ns; /* before a busier key can take it */
};

/*
 * `folds`: the counts of a key can decrease, because parts of them move to a rest that metrics_series_add_rest() adds;
 * no group's sum decreases.  Otherwise a count that decreases has begun again at 0.  The first counter ranks the keys.
 * -ENOMEM.
 */
int metrics_series_new(struct metrics_series **series, bool folds);
void metrics_series_free(struct metrics_series **series);
#define OWN_SERIES CLEANUP(metrics_series_free)

/* A round: begin, add all rows, of which several may have the same key, then end.  -ENOMEM ends the round. */
void metrics_series_begin(struct metrics_series *series);
/* `text`, which is copied, belongs to the key and can be NULL. */
int metrics_series_add(struct metrics_series *series, const struct series_key *key, uint32_t group,
		       const char *text, const uint64_t values[SERIES_VALUES]);
/* Of a row that had another key in the round before, which counted it: the key counts what comes after this round. */
int metrics_series_add_moved(struct metrics_series *series, const struct series_key *key,
			     uint32_t group, const char *text,
			     const uint64_t values[SERIES_VALUES]);
/* Counts of a group that have no key. */
int metrics_series_add_rest(struct metrics_series *series, uint32_t group,
			    const uint64_t values[SERIES_VALUES]);
void metrics_series_end(struct metrics_series *series, const struct series_limits *limits,
			uint64_t now_ns);

struct series_row {
	const struct series_key *key;
	const char *text;
	uint32_t group;
	const uint64_t *values;
};

/* The series that are shown; false after the last one. */
bool metrics_series_row(const struct metrics_series *series, size_t i, struct series_row *row);
size_t metrics_series_shown(const struct metrics_series *series);

struct series_group {
	uint32_t group;
	const uint64_t *total, *other, *unlisted;
};

/* The groups, in the order in which they came first. */
bool metrics_series_group(const struct metrics_series *series, size_t i,
			  struct series_group *group);

/* Keys of the last round without a series. */
size_t metrics_series_others(const struct metrics_series *series);

#endif
