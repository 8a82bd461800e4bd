/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolutions of the history, and which of them answers a question.  Pure arithmetic; times are seconds since 1970,
 * UTC.
 *
 * Every level has all numbers of its time.  A bucket of 10 s is added to the next level when its minute is over, and so
 * on; the finer one is deleted when it gets old.  So a question over a week reads few, coarse buckets, and fine ones at
 * its two ends only.
 */
#ifndef DAEMON_HISTORY_PLAN_H
#define DAEMON_HISTORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum { PLAN_LEVELS = 4 };

/* Seconds of a bucket of each level: 10 s, 1 min, 10 min, 2 h. */
extern const int64_t plan_step[PLAN_LEVELS];

/* What the file has. */
struct plan_levels {
	int64_t cut[PLAN_LEVELS];    /* a level has its buckets from here on */
	int64_t rolled[PLAN_LEVELS]; /* and up to here; of level 0 not used: up to now */
};

struct plan_range {
	int level;
	int64_t from, to; /* buckets that begin in from ≤ time < to */
};

#define PLAN_RANGES_MAX 32

struct plan {
	size_t count;
	struct plan_range range[PLAN_RANGES_MAX];
	/*
	 * The time that the ranges cover, without a gap and once: from ≤ since and until ≤ to, or later than `since` if
	 * the file no longer has it.
	 */
	int64_t from, to;
	int64_t oldest; /* all before it is deleted */
	int64_t step; /* the coarsest bucket at an end, in seconds: how far it is from the time that was asked for */
};

/* The first second of the bucket. */
int64_t plan_floor(int64_t time, int level);

/* The buckets that overlap since ≤ time < until.  `until` must not be later than the last bucket's end. */
void plan_make(struct plan *plan, const struct plan_levels *levels, int64_t since, int64_t until);

#endif
