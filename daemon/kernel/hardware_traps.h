/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that hardware dropped, or that it trapped for a reason to drop: devlink's traps, as `devlink -s trap show`
 * shows them.  Drivers report such a packet (tracepoint devlink_trap_report) and free it with consume_skb().
 */
#ifndef DAEMON_KERNEL_HARDWARE_TRAPS_H
#define DAEMON_KERNEL_HARDWARE_TRAPS_H

#include <stdint.h>

#define HARDWARE_TRAP_NAME_MAX 64
#define HARDWARE_TRAP_DEVICE_MAX 48

struct hardware_trap {
	char device[HARDWARE_TRAP_DEVICE_MAX]; /* "pci/0000:03:00.0" */
	char name[HARDWARE_TRAP_NAME_MAX];     /* "source_mac_is_multicast" */
	/* Since the device was made: trapped and reported; dropped by the hardware, if it counts them. */
	uint64_t trapped, dropped;
};

/*
 * The number of devlink's family of generic netlink; `fd` is a socket of netlink_open(NETLINK_GENERIC).  -ENOENT: the
 * kernel has none.
 */
int hardware_traps_family(int fd, uint16_t *family);

/* Call `visit` for each trap of type drop in the namespace of `fd`.  0, or an error of netlink_ask(). */
int hardware_traps_visit(int fd, uint16_t family,
			 void (*visit)(const struct hardware_trap *trap, void *userdata),
			 void *userdata);

#endif
