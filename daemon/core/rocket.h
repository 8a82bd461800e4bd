/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xen-netfront's own message about a transmit that needs more slots than the driver can give it, from the kernel's log:
 * "xennet: skb rides the rocket: 19 slots, 1514 bytes".  Before 3.16 it has the level alert.  Since then it is a debug
 * message that dynamic_debug enables.  The driver logs at most 10 in 5 s.
 */
#ifndef DAEMON_CORE_ROCKET_H
#define DAEMON_CORE_ROCKET_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"

struct rocket {
	uint64_t time_ns; /* when it was read, CLOCK_MONOTONIC */
	uint32_t slots;
	uint32_t bytes;
	char device[NF_DEVICE_NAME]; /* empty: the message does not name it */
};

/*
 * Read one record of /dev/kmsg: "prefix;text\n KEY=value\n…".  Only the kernel's own messages count, not those that a
 * process wrote there.  -ENOENT: it is another message.  time_ns stays as the caller set it.
 */
int rocket_parse(struct rocket *rocket, const char *record, size_t size);

#endif
