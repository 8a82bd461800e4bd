/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rockets in the kernel's log, compared with the overflows that the probe saw.
 *
 * A rocket that the probe did not see within a second is a fault in coverage.  A rocket is compared with the records of
 * overflows by slots and bytes.  Of an overflow without a record (throttled, or the ring was full) only the count is
 * known, and each one accounts for one rocket.
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

/* Add a rocket that the log reports; its time is the present. */
void rockets_add(struct rockets *rockets, const struct rocket *rocket);

/* Add a record of the probe.  Records of anything but an overflow of xen-netfront are ignored. */
void rockets_record(struct rockets *rockets, const struct nf_slots_record *record);

/*
 * Decide on the rockets that have waited for ROCKETS_WAIT_NS.  `overflows`: all overflows of xen-netfront that the
 * probe has counted.
 */
void rockets_check(struct rockets *rockets, uint64_t now_ns, uint64_t overflows);

uint64_t rockets_total(const struct rockets *rockets);
uint64_t rockets_unseen(const struct rockets *rockets);

/* The i-th newest rocket, 0 is the newest; NULL if there are fewer. */
const struct rocket *rockets_newest(const struct rockets *rockets, size_t i,
				    enum rocket_state *state);

#endif
