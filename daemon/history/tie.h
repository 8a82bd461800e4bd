/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Followed journeys give a shape, and the kernel counts the packets: both together say more than each of them.  Here
 * the weights of what a device received in an interval are made to add up to what the kernel counted of it
 * (post-stratification).  A row of it then is a part of an exact number, and its margin is that of a proportion.
 *
 * That is right only where both are of the same packets, see nf_device_received() in bpf/device.h and "Tied to the
 * kernel's count" in docs/exactness.md.  What disagrees stays as it was drawn.  Pure arithmetic.
 */
#ifndef DAEMON_HISTORY_TIE_H
#define DAEMON_HISTORY_TIE_H

#include <stdbool.h>
#include <stdint.h>

/* Packets that a device received, in the interval or since netflowd counts. */
struct tie_sums {
	uint64_t counted;  /* by the kernel */
	uint64_t weights;  /* of those that were followed */
	uint64_t variance; /* of the sum of the weights */
	uint64_t
		unseen; /* that the host received while no journey began, and no window stands for them */
};

struct tie {
	struct tie_sums interval, all;
	uint64_t ns;	  /* the interval */
	uint64_t skew_ns; /* between the readings of both numbers, at both of its ends */
};

/* Whether both numbers can be of the same packets, and the kernel's says more than the weights. */
bool tie_holds(const struct tie *tie);

/* Tie a row of the device's latency in the interval, LATENCY_VALUES values of a segment of direction rx. */
void tie_latency(const struct tie *tie, uint64_t *value);

#endif
