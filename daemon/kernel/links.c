/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/links.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "common/cleanup.h"
#include "daemon/kernel/netlink.h"

struct visitor {
	int (*visit)(const struct link *link, void *userdata);
	void *userdata;
};

/* Kernels before 4.19 report one program in IFLA_XDP_PROG_ID only, as later ones do as well. */
static void read_xdp(const struct nlattr *outer, struct link *link)
{
	const struct nlattr *at[IFLA_XDP_MAX + 1];

	netlink_nested(outer, at, IFLA_XDP_MAX + 1);
	link->xdp_generic = netlink_u32(at[IFLA_XDP_SKB_PROG_ID]);
	link->xdp_native = netlink_u32(at[IFLA_XDP_DRV_PROG_ID]);
	link->xdp_offloaded = netlink_u32(at[IFLA_XDP_HW_PROG_ID]);
}

static int take_link(const struct nlmsghdr *message, void *userdata)
{
	const struct visitor *visitor = userdata;
	const struct ifinfomsg *header = NLMSG_DATA(message);
	const struct nlattr *at[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
	struct link link = {0};
	size_t size;

	if (message->nlmsg_type != RTM_NEWLINK ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*header)))
		return 0;
	netlink_attributes(message, sizeof(*header), at, IFLA_MAX + 1);
	link.ifindex = (uint32_t)header->ifi_index;
	netlink_text(at[IFLA_IFNAME], link.name, sizeof(link.name));
	if (at[IFLA_LINKINFO]) {
		netlink_nested(at[IFLA_LINKINFO], info, IFLA_INFO_MAX + 1);
		netlink_text(info[IFLA_INFO_KIND], link.kind, sizeof(link.kind));
	}
	if (at[IFLA_ADDRESS] && netlink_size(at[IFLA_ADDRESS]) == sizeof(link.mac))
		memcpy(link.mac, netlink_data(at[IFLA_ADDRESS]), sizeof(link.mac));
	if (at[IFLA_XDP])
		read_xdp(at[IFLA_XDP], &link);
	if (at[IFLA_STATS64]) {
		size = netlink_size(at[IFLA_STATS64]);
		memcpy(&link.stats, netlink_data(at[IFLA_STATS64]),
		       size < sizeof(link.stats) ? size : sizeof(link.stats));
	}
	return visitor->visit(&link, visitor->userdata);
}

int links_visit(int fd, int (*visit)(const struct link *link, void *userdata), void *userdata)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = {.header.nlmsg_type = RTM_GETLINK, .link.ifi_family = AF_UNSPEC};
	struct visitor visitor = {visit, userdata};

	return netlink_ask(fd, &request, sizeof(request), NLM_F_DUMP, take_link, &visitor);
}

/* ---- the driver's own counters ---------------------------------------------- */

/* ETHTOOL_GSTATS and its kind need no privilege (dev_ethtool()), and any socket will do (sock_do_ioctl()). */
static int ask_driver(int fd, const char *device, void *command)
{
	struct ifreq request = {.ifr_data = command};

	strncpy(request.ifr_name, device, sizeof(request.ifr_name) - 1);
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

static int count_counters(int fd, const char *device, uint32_t *count)
{
	union {
		struct ethtool_sset_info info;
		char room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} command = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS}};
	int r = ask_driver(fd, device, &command);

	if (r < 0)
		return r;
	if (!command.info.sset_mask)
		return -EOPNOTSUPP;
	memcpy(count, command.room + sizeof(struct ethtool_sset_info), sizeof(*count));
	if (!*count)
		return -EOPNOTSUPP;
	return *count > LINK_COUNTERS_MAX ? -E2BIG : 0;
}

/*
 * The driver writes as many names and values as it has now, which can be more than a moment ago if a queue was added.
 * So there is room for more, and counters whose number has changed are not read this time.
 */
int link_counters(int fd, const char *device,
		  int (*visit)(const char *name, uint64_t value, void *userdata), void *userdata)
{
	OWN_FREE struct ethtool_gstrings *names = NULL;
	OWN_FREE struct ethtool_stats *values = NULL;
	uint32_t count;
	int r = count_counters(fd, device, &count);

	if (r < 0)
		return r;
	names = calloc(1, sizeof(*names) + 2ULL * count * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + 2ULL * count * sizeof(uint64_t));
	if (!names || !values)
		return -ENOMEM;
	*names = (struct ethtool_gstrings){
		.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
	r = ask_driver(fd, device, names);
	*values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
	if (r == 0)
		r = ask_driver(fd, device, values);
	if (r == 0 && (names->len != count || values->n_stats != count))
		r = -EAGAIN;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		char name[ETH_GSTRING_LEN + 1];

		memcpy(name, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
		name[ETH_GSTRING_LEN] = '\0';
		r = visit(name, values->data[i], userdata);
	}
	return r;
}
