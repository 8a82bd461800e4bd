/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The token bucket that limits records, as the generic cell rate algorithm.
 *
 * A bucket is one word: the time at which it is full again, CLOCK_MONOTONIC
 * nanoseconds.  Each admitted record takes one token, which moves that time
 * one interval ahead.  The bucket is empty while the time is more than the
 * burst ahead of now.  A time in the past is a full bucket, also 0, the value in
 * a new map.
 *
 *   interval_ns = 1 s / rate: 1,000 to 10^9, for a rate of 10^6 to 1 per second
 *   burst_ns = (burst - 1) * interval_ns: 0 to 10^10, for a burst of 1 to 10^7
 *
 * So a full bucket admits exactly `burst` records at once, and no sum overflows.
 *
 * CPUs that share a bucket update it without a lock.  One update can undo
 * another, so a race admits a few records too many, but never too few.
 *
 * The correlator of trace events uses it, too.
 */
#ifndef NF_THROTTLE_H
#define NF_THROTTLE_H

#include "records.h"

/* Take a token; false: the bucket is empty, and the caller counts the record as throttled. */
static inline __attribute__((always_inline)) _Bool
nf_throttle_admit(struct nf_bucket *bucket, __u64 now, __u64 interval_ns, __u64 burst_ns)
{
	__u64 full_ns = *(volatile __u64 *)&bucket->full_ns;

	if (full_ns < now)
		full_ns = now;
	if (full_ns - now > burst_ns)
		return 0;
	*(volatile __u64 *)&bucket->full_ns = full_ns + interval_ns;
	return 1;
}

#endif
