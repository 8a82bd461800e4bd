/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rate of a cause of drops means, compared with its past: docs/baseline.md has the definition.  Pure
 * arithmetic on packets and covered time in buckets of ten minutes.
 *
 * Arrays of buckets are by age: [0] is the bucket of now, which has not ended, [1] the one before it, and so on.
 */
#ifndef DAEMON_HISTORY_BASELINE_RATES_H
#define DAEMON_HISTORY_BASELINE_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Seconds of a bucket: that of a level of plan.h. */
#define BASELINE_STEP_S 600

/*
 * Ages of buckets.  The last hour is 0 to 6, because bucket 0 is short.  The reference is what netflowd compares it
 * with: the 14 hours that ended 12 hours ago.  It includes this time of yesterday and two hours on both sides of it.
 */
enum {
	BASELINE_NOW_END = 7,
	BASELINE_REFERENCE = 73,
	BASELINE_BUCKETS = 157,
	BASELINE_HOUR = 6,
};

/* What the time before must have: 18 covered hours of all, 7 of the reference, the oldest 24 hours ago. */
#define BASELINE_COVERED_S (18 * 3600)
#define BASELINE_REFERENCE_S (7 * 3600)
#define BASELINE_OLDEST 143

/* Fewer packets in ten minutes, or in an hour, have not grown: that is chance. */
#define BASELINE_LEAST 20

enum baseline_mark {
	BASELINE_NONE,	     /* no drop in the time of the buckets */
	BASELINE_BACKGROUND, /* at a steady rate for a day */
	BASELINE_RECURRING,  /* it came before, but not steadily, and not less than now */
	BASELINE_GROWN,	     /* more than the reference explains */
	BASELINE_NEW,	     /* none in the reference */
};

/* The identifier of a mark in JSON; NULL for BASELINE_NONE. */
const char *baseline_mark_name(enum baseline_mark mark);

/* What the buckets cover, in seconds. */
struct baseline_cover {
	bool ready;	    /* the covered time is enough to evaluate */
	uint32_t covered_s; /* of all buckets */
	uint32_t reference_s;
	unsigned int oldest; /* the age of the oldest covered bucket; 0 if none is */
};

/* `covered_s` has BASELINE_BUCKETS values: seconds in which netflowd counted drops. */
void baseline_cover(const uint32_t *covered_s, struct baseline_cover *cover);

struct baseline_rate {
	enum baseline_mark mark;
	unsigned int first; /* BASELINE_NEW: the age of its first bucket */
	int64_t since_s; /* and when that began, since 1970, which baseline_evaluate() leaves at 0 */
	double per_second; /* packets per second of covered time in the last hour */
	double usual;	   /* in the reference */
};

/*
 * `count`: the packets of one cause, and `covered_s` as above, BASELINE_BUCKETS values each.  The caller checks
 * baseline_cover() first: with too little history, the mark means nothing.  Takes about 3 µs.
 */
void baseline_evaluate(const uint32_t *count, const uint32_t *covered_s,
		       struct baseline_rate *rate);

#endif
