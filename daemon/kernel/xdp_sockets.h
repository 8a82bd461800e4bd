/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AF_XDP sockets and the packets that the kernel dropped at their rings. */
#ifndef DAEMON_KERNEL_XDP_SOCKETS_H
#define DAEMON_KERNEL_XDP_SOCKETS_H

#include <stdint.h>

struct xdp_socket {
	uint32_t inode;	  /* of the socket */
	uint32_t ifindex; /* of the device it is bound to */
	/* Packets since the socket was made; see struct xdp_statistics in linux/if_xdp.h. */
	uint64_t rx_dropped, rx_ring_full, rx_invalid, tx_invalid;
};

/*
 * Call `visit` for each bound AF_XDP socket of the namespace of `fd`, a socket of netlink_open(NETLINK_SOCK_DIAG).  If
 * the kernel has its part of this as a module that is not loaded, it loads it; so call this only if there are such
 * sockets (proc_net_sockets()).  0; -ENOENT: the kernel lacks CONFIG_XDP_SOCKETS_DIAG; or an error of netlink_ask().
 */
int xdp_sockets_visit(int fd, void (*visit)(const struct xdp_socket *one, void *userdata),
		      void *userdata);

#endif
