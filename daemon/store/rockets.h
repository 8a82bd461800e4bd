/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockets of the kernel's log, beside the overflows that the probe saw.
 *
 * A rocket that the probe did not see within a second is a fault in coverage.
 * It is compared with the records of overflows by slots and bytes; an overflow
 * that left no record (throttled, or the ring was full) is known by number
 * only, and each such one speaks for one rocket.
 */
#ifndef DAEMON_STORE_ROCKETS_H
#define DAEMON_STORE_ROCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/core/rocket.h"

#define ROCKETS_HELD 256
#define ROCKETS_WAIT_NS 1000000000ULL

enum rocket_state {
	ROCKET_PENDING, /* younger than ROCKETS_WAIT_NS */
	ROCKET_SEEN,
	ROCKET_UNSEEN,
};

struct rockets;

/* -ENOMEM.  Free with rockets_free. */
int rockets_new(struct rockets **rockets);
void rockets_free(struct rockets **rockets);

/* The log has one; its time is now. */
void rockets_add(struct rockets *rockets, const struct rocket *rocket);

/* The probe has a record.  Those that are no overflow of xen-netfront are passed over. */
void rockets_record(struct rockets *rockets, const struct nf_slots_record *record);

/*
 * Decide on those that have waited long enough.  `overflows`: all of
 * xen-netfront that the probe has counted.
 */
void rockets_check(struct rockets *rockets, uint64_t now_ns, uint64_t overflows);

uint64_t rockets_total(const struct rockets *rockets);
uint64_t rockets_unseen(const struct rockets *rockets);

/* The i-th newest, 0 = the newest, NULL = there are not so many. */
const struct rocket *rockets_newest(const struct rockets *rockets, size_t i,
				    enum rocket_state *state);

#endif
