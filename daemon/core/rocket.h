/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen-netfront's own word of a transmit that takes more slots than its ring
 * has, out of the kernel's log: "xennet: skb rides the rocket: 19 slots, 1514
 * bytes".  Before 3.16 it is an alert, since then a debug message that is
 * switched on by dynamic_debug; it is limited to 10 in 5 s.
 */
#ifndef DAEMON_CORE_ROCKET_H
#define DAEMON_CORE_ROCKET_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct rocket {
	uint64_t time_ns; /* CLOCK_MONOTONIC, when it was read */
	uint32_t slots;
	uint32_t bytes;
	char device[NF_DEVICE_NAME]; /* empty where the message does not name it */
};

/*
 * Read one record as /dev/kmsg gives it: "prefix;text\n KEY=value\n…".  Only the
 * kernel's own are believed, not what a process wrote there.  -ENOENT when it
 * is about something else; time_ns is the caller's.
 */
int rocket_parse(struct rocket *rocket, const char *record, size_t size);

#endif
