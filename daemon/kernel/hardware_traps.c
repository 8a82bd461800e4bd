/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/hardware_traps.h"

#include <errno.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>

#include "daemon/kernel/netlink.h"

/* The last attribute that is read; later kernels send more. */
#define ATTRIBUTES (DEVLINK_ATTR_TRAP_GROUP_NAME + 1)

struct visitor {
	void (*visit)(const struct hardware_trap *trap, void *userdata);
	void *userdata;
};

static int take_family(const struct nlmsghdr *message, void *userdata)
{
	const struct nlattr *at[CTRL_ATTR_MAX + 1];
	uint16_t *family = userdata;

	netlink_attributes(message, GENL_HDRLEN, at, CTRL_ATTR_MAX + 1);
	*family = netlink_u16(at[CTRL_ATTR_FAMILY_ID]);
	return *family ? 0 : -EBADMSG;
}

int hardware_traps_family(int fd, uint16_t *family)
{
	struct {
		struct nlmsghdr header;
		struct genlmsghdr generic;
		struct nlattr attribute;
		char name[sizeof(DEVLINK_GENL_NAME)];
	} request = {.header.nlmsg_type = GENL_ID_CTRL,
		     .generic = {.cmd = CTRL_CMD_GETFAMILY, .version = 1},
		     .attribute = {.nla_len = sizeof(struct nlattr) + sizeof(DEVLINK_GENL_NAME),
				   .nla_type = CTRL_ATTR_FAMILY_NAME},
		     .name = DEVLINK_GENL_NAME};
	uint16_t found = 0;
	int r = netlink_ask(fd, &request, sizeof(request), 0, take_family, &found);

	if (r == 0)
		*family = found;
	return r;
}

static int take_trap(const struct nlmsghdr *message, void *userdata)
{
	const struct visitor *visitor = userdata;
	const struct nlattr *at[ATTRIBUTES], *stats[DEVLINK_ATTR_STATS_MAX + 1];
	struct hardware_trap trap = {0};
	char bus[16], name[32];

	netlink_attributes(message, GENL_HDRLEN, at, ATTRIBUTES);
	if (!at[DEVLINK_ATTR_TRAP_TYPE] || !at[DEVLINK_ATTR_STATS] ||
	    netlink_u8(at[DEVLINK_ATTR_TRAP_TYPE]) != DEVLINK_TRAP_TYPE_DROP)
		return 0;
	netlink_text(at[DEVLINK_ATTR_BUS_NAME], bus, sizeof(bus));
	netlink_text(at[DEVLINK_ATTR_DEV_NAME], name, sizeof(name));
	snprintf(trap.device, sizeof(trap.device), "%s/%s", bus, name);
	netlink_text(at[DEVLINK_ATTR_TRAP_NAME], trap.name, sizeof(trap.name));
	netlink_nested(at[DEVLINK_ATTR_STATS], stats, DEVLINK_ATTR_STATS_MAX + 1);
	trap.trapped = netlink_u64(stats[DEVLINK_ATTR_STATS_RX_PACKETS]);
	trap.dropped = netlink_u64(stats[DEVLINK_ATTR_STATS_RX_DROPPED]);
	visitor->visit(&trap, visitor->userdata);
	return 0;
}

int hardware_traps_visit(int fd, uint16_t family,
			 void (*visit)(const struct hardware_trap *trap, void *userdata),
			 void *userdata)
{
	struct {
		struct nlmsghdr header;
		struct genlmsghdr generic;
	} request = {.header.nlmsg_type = family,
		     .generic = {.cmd = DEVLINK_CMD_TRAP_GET, .version = DEVLINK_GENL_VERSION}};
	struct visitor visitor = {visit, userdata};

	return netlink_ask(fd, &request, sizeof(request), NLM_F_DUMP, take_trap, &visitor);
}
