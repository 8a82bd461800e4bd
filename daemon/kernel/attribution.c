/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/attribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/core/owner.h"
#include "daemon/kernel/cgroup_paths.h"
#include "daemon/kernel/netns_cookie.h"
#include "daemon/kernel/netns_names.h"
#include "daemon/kernel/netns_owners.h"

struct attribution {
	struct netns_names *netns;
	struct cgroup_paths *cgroups;
	struct netns_owners *owners;
};

/* On most hosts /var/run is the same directory as /run, and is then read only once. */
static const struct attribution_places host_places = {
	.netns = {"/run/netns", "/var/run/netns"},
	.init_netns = "/proc/1/ns/net",
	.mountinfo = "/proc/self/mountinfo",
	.proc = "/proc",
};

static bool names_owner(const char *path)
{
	struct owner_names names;
	struct owner owner;

	owner_of_cgroup(&owner, path, false, &names);
	return owner.unit || owner.container || owner.pod;
}

int attribution_new(struct attribution **attribution, const struct attribution_places *places)
{
	OWN_ATTRIBUTION struct attribution *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	if (!places)
		places = &host_places;
	r = netns_names_new(&a->netns, places->netns, ARRAY_SIZE(places->netns),
			    places->init_netns);
	if (r < 0)
		return r;
	r = cgroup_paths_new(&a->cgroups, places->mountinfo);
	if (r < 0)
		return r;
	r = netns_owners_new(&a->owners, places->proc, netns_cookie_enter, names_owner);
	if (r < 0)
		return r;
	*attribution = TAKE_PTR(a);
	return 0;
}

void attribution_free(struct attribution **attribution)
{
	if (!*attribution)
		return;
	netns_owners_free(&(*attribution)->owners);
	cgroup_paths_free(&(*attribution)->cgroups);
	netns_names_free(&(*attribution)->netns);
	free(*attribution);
	*attribution = NULL;
}

const char *attribution_netns(struct attribution *attribution, uint32_t inode,
			      char name[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_find(attribution->netns, inode, time_monotonic(), name);
}

int attribution_netns_identify(struct attribution *attribution, uint32_t id, uint32_t inode,
			       char name[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_identify(attribution->netns, id, inode, time_monotonic(), name);
}

int attribution_netns_number(const struct attribution *attribution, const char *text,
			     uint32_t *inode)
{
	return netns_names_number(attribution->netns, text, inode);
}

uint32_t attribution_netns_id(const struct attribution *attribution, const char *text)
{
	return netns_names_id(attribution->netns, text);
}

const char *attribution_netns_nearest(const struct attribution *attribution, const char *text,
				      char nearest[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_nearest(attribution->netns, text, nearest);
}

const char *attribution_cgroup(struct attribution *attribution, uint64_t id,
			       char path[static ATTRIBUTION_CGROUP_MAX])
{
	return cgroup_paths_find(attribution->cgroups, id, time_monotonic(), path);
}

/* ---- owners of namespaces ------------------------------------------------ */

bool attribution_netns_is_host(const struct attribution *attribution, uint32_t inode)
{
	return netns_names_is_host(attribution->netns, inode);
}

int attribution_netns_owner(struct attribution *attribution, uint32_t id, uint32_t inode,
			    char path[static ATTRIBUTION_CGROUP_MAX])
{
	if (netns_names_is_host(attribution->netns, inode))
		return -ENOENT;
	return netns_owners_find(attribution->owners, id, inode, time_monotonic(), path);
}
