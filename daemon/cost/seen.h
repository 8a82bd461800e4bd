/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For how much of the time journeys began to be followed, and the longest time in which none did. */
#ifndef DAEMON_COST_SEEN_H
#define DAEMON_COST_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SEEN_GAPS_MAX 512

struct seen {
	uint64_t start_ns, since_ns; /* of all, and of what lasts now */
	bool now;
	uint64_t gaps_ns, longest_ns; /* of the gaps that are over */
	struct {
		uint64_t from_ns, to_ns;
	} gap[SEEN_GAPS_MAX]; /* the newest; gap n is at n % SEEN_GAPS_MAX */
	uint64_t gaps;
};

struct seen_part {
	uint64_t from_ns;    /* later than asked if older gaps are not kept */
	double share;	     /* 0 … 1 of the time from then on */
	uint64_t unseen_ns;  /* the rest of it */
	uint64_t longest_ns; /* the longest gap */
};

/* Nothing is seen at first. */
void seen_begin(struct seen *seen, uint64_t now_ns);
void seen_set(struct seen *seen, bool now, uint64_t now_ns);
/* `from_ns` 0: since seen_begin(). */
struct seen_part seen_part(const struct seen *seen, uint64_t from_ns, uint64_t now_ns);

#endif
