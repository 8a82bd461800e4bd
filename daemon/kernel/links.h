/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The network devices of a namespace, with their counters and their XDP programs. */
#ifndef DAEMON_KERNEL_LINKS_H
#define DAEMON_KERNEL_LINKS_H

#include <linux/if_link.h>
#include <net/if.h>
#include <stdint.h>

#define LINK_KIND_MAX 24

struct link {
	uint32_t ifindex;
	char name[IF_NAMESIZE];
	char kind
		[LINK_KIND_MAX]; /* of a virtual device: veth, bridge, …; empty for a driver of hardware */
	uint8_t mac[6];		 /* 0 if the device has none of this length */
	/* Numbers of the XDP programs; 0: none.  The kernel runs the generic one on skbs. */
	uint32_t xdp_generic, xdp_native, xdp_offloaded;
	struct rtnl_link_stats64 stats; /* counters that this kernel lacks are 0 */
};

/*
 * Call `visit` for each device of the namespace of `fd`, a socket of netlink_open(NETLINK_ROUTE).  A `visit` that
 * returns a negative errno ends this.  The kernel holds the RTNL lock for the answer: about 5 µs per device.  0, or an
 * error of netlink_ask().
 */
int links_visit(int fd, int (*visit)(const struct link *link, void *userdata), void *userdata);

/*
 * Call `visit` for each of the driver's own counters of a device (`ethtool -S`); `fd` is any socket of its namespace.
 * `name` is the driver's and valid during the call.  0; -EOPNOTSUPP: it has none; -E2BIG: more than LINK_COUNTERS_MAX;
 * -ENOMEM, or the driver's error.
 */
#define LINK_COUNTERS_MAX 16384
int link_counters(int fd, const char *device,
		  int (*visit)(const char *name, uint64_t value, void *userdata), void *userdata);

#endif
