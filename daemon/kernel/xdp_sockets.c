/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/xdp_sockets.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/xdp_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/kernel/netlink.h"

struct visitor {
	void (*visit)(const struct xdp_socket *one, void *userdata);
	void *userdata;
};

static int take_socket(const struct nlmsghdr *message, void *userdata)
{
	const struct visitor *visitor = userdata;
	const struct xdp_diag_msg *header = NLMSG_DATA(message);
	const struct nlattr *at[XDP_DIAG_MAX + 1];
	struct xdp_diag_info info;
	struct xdp_diag_stats stats;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*header)))
		return 0;
	netlink_attributes(message, sizeof(*header), at, XDP_DIAG_MAX + 1);
	/* A socket that is not bound has no device.  Kernels before 5.9 have no statistics. */
	if (!at[XDP_DIAG_INFO] || netlink_size(at[XDP_DIAG_INFO]) < sizeof(info) ||
	    !at[XDP_DIAG_STATS] || netlink_size(at[XDP_DIAG_STATS]) < sizeof(stats))
		return 0;
	memcpy(&info, netlink_data(at[XDP_DIAG_INFO]), sizeof(info));
	memcpy(&stats, netlink_data(at[XDP_DIAG_STATS]), sizeof(stats));
	visitor->visit(&(struct xdp_socket){.inode = header->xdiag_ino,
					    .ifindex = info.ifindex,
					    .rx_dropped = stats.n_rx_dropped,
					    .rx_ring_full = stats.n_rx_full,
					    .rx_invalid = stats.n_rx_invalid,
					    .tx_invalid = stats.n_tx_invalid},
		       visitor->userdata);
	return 0;
}

int xdp_sockets_visit(int fd, void (*visit)(const struct xdp_socket *one, void *userdata),
		      void *userdata)
{
	struct {
		struct nlmsghdr header;
		struct xdp_diag_req xdp;
	} request = {.header.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		     .xdp = {.sdiag_family = AF_XDP, .xdiag_show = XDP_SHOW_INFO | XDP_SHOW_STATS}};
	struct visitor visitor = {visit, userdata};

	return netlink_ask(fd, &request, sizeof(request), NLM_F_DUMP, take_socket, &visitor);
}
