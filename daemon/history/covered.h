/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a period netflowd recorded, and the gaps.  Pure arithmetic on the spans in which it recorded; times are
 * us since 1970.  All that is said about the past is said about this time.
 */
#ifndef DAEMON_HISTORY_COVERED_H
#define DAEMON_HISTORY_COVERED_H

#include <stddef.h>
#include <stdint.h>

/* Two spans so close to each other have no gap between them. */
#define COVERED_SLACK_US INT64_C(100000)

/* Gaps that are kept: the newest. */
#define COVERED_GAPS 64

struct covered_gap {
	int64_t from_us, to_us;
	int reason; /* 0: not known; enum reader_gap */
};

struct covered {
	int64_t from_us, to_us; /* the period */
	int64_t covered_us;	/* of it */
	uint64_t gaps;		/* all of them */
	/* For covered.c. */
	int64_t seen_us; /* the spans up to here are added */
	struct covered_gap gap[COVERED_GAPS];
};

void covered_begin(struct covered *covered, int64_t from_us, int64_t to_us);
/* netflowd recorded from `from_us` to `to_us`.  Spans come in the order of their starts; they may overlap. */
void covered_add(struct covered *covered, int64_t from_us, int64_t to_us);
/* It recorded nothing in this time, for a reason that is known.  In the order of the starts, with the spans. */
void covered_miss(struct covered *covered, int64_t from_us, int64_t to_us, int reason);
/* There are no more spans: what is left of the period is a gap. */
void covered_end(struct covered *covered);

/* Gaps that are kept, and one of them: 0 is the newest. */
size_t covered_kept(const struct covered *covered);
const struct covered_gap *covered_gap(const struct covered *covered, size_t index);

#endif
