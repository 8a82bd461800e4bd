/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/filter.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "daemon/control/internal.h"
#include "daemon/core/names.h"
#include "daemon/probe/backend.h"
#include "daemon/util/nearest.h"

/* A search for a device by name among all that were seen and all that are there. */
struct device_search {
	const char *name;
	bool found;
	struct nearest nearest;
	char best[NF_DEVICE_NAME + 1];
};

static void consider_device(struct device_search *search, const char *name)
{
	if (!name || !name[0])
		return;
	if (!strcmp(name, search->name))
		search->found = true;
	nearest_consider(&search->nearest, name);
	/* The candidate does not live on. */
	if (search->nearest.best == name) {
		snprintf(search->best, sizeof(search->best), "%s", name);
		search->nearest.best = search->best;
	}
}

static int consider_slot(const struct backend_device *device, void *userdata)
{
	consider_device(userdata, device->name);
	return 0;
}

static int consider_drops(const struct backend_drops *drops, void *userdata)
{
	consider_device(userdata, drops->device);
	return 0;
}

static void consider_host(struct device_search *search)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *one = all; one && one->if_index; one++)
		consider_device(search, one->if_name);
	if (all)
		if_freenameindex(all);
}

static int read_device(struct filter *filter, const struct control *control, struct call *call,
		       const char *name)
{
	const struct backend *backend = control->parts.backend;
	struct device_search search = {.name = name};

	nearest_init(&search.nearest, name);
	backend->ops->devices(backend, consider_slot, &search);
	backend->ops->drops(backend, consider_drops, &search);
	consider_host(&search);
	if (!search.found) {
		call_error(call, "io.netflowd.UnknownDevice",
			   json_pack("{s:s, s:s*}", "device", name, "nearest", search.nearest.best));
		return -EINVAL;
	}
	snprintf(filter->device, sizeof(filter->device), "%s", name);
	filter->by_device = true;
	return 0;
}

static int read_reason(struct filter *filter, const struct control *control, struct call *call,
		       const char *text)
{
	const struct names *names = control->parts.names;

	if (names_find_reason(names, text, &filter->reason) < 0) {
		call_error(call, "io.netflowd.UnknownReason",
			   json_pack("{s:s, s:s*}", "reason", text, "nearest",
				     names_nearest_reason(names, text)));
		return -EINVAL;
	}
	filter->by_reason = true;
	return 0;
}

int filter_read(struct filter *filter, const struct control *control, struct call *call,
		json_t *parameters)
{
	const char *reason = json_string_value(json_object_get(parameters, "reason"));
	const char *device = json_string_value(json_object_get(parameters, "device"));
	const json_t *netns = json_object_get(parameters, "netns");

	memset(filter, 0, sizeof(*filter));
	if (reason && read_reason(filter, control, call, reason) < 0)
		return -EINVAL;
	if (device && read_device(filter, control, call, device) < 0)
		return -EINVAL;
	if (netns) {
		json_int_t inode = json_integer_value(netns);

		if (inode < 1 || inode > UINT32_MAX) {
			call_invalid_parameter(call, "netns");
			return -EINVAL;
		}
		filter->netns = (uint32_t)inode;
		filter->by_netns = true;
	}
	return 0;
}

bool filter_takes(const struct filter *filter, uint32_t reason, const char *device, uint32_t netns)
{
	if (filter->by_reason && filter->reason != reason)
		return false;
	if (filter->by_netns && filter->netns != netns)
		return false;
	return !filter->by_device || !strncmp(filter->device, device, NF_DEVICE_NAME);
}
