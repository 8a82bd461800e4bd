/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatency. */
#include <errno.h>

#include "common/time.h"
#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"

struct collection {
	const struct filter *filter;
	json_t *latencies;
};

/* Say for which devices a group stands. */
static json_t *with_group(const struct backend_device *device, json_t *latency)
{
	if (!device->group)
		return latency;
	json_object_set_new(latency, "group", json_string(device->kind));
	json_object_set_new(latency, "devices", json_integer((json_int_t)device->devices));
	return latency;
}

static int collect_device(const struct backend_device *device, void *userdata)
{
	struct collection *collection = userdata;
	const struct device named = {
		.name = device->name, .ifindex = device->ifindex, .netns = device->netns};

	if (!filter_takes(collection->filter, 0, device->name ? device->name : "", device->netns))
		return 0;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (device->used & UINT32_C(1) << i)
			json_array_append_new(
				collection->latencies,
				with_group(device, json_latency((enum nf_segment)i,
								device->name ? &named : NULL,
								&device->segment[i])));
	return 0;
}

int method_get_latency(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"device", PARAMETER_STRING, true},
						 {"netns", PARAMETER_STRING, true},
						 {NULL, 0, 0}};
	const struct control *control = userdata;
	const struct backend *backend = control->parts.backend;
	OWN_FILTER struct filter filter = {0};
	struct collection collection = {.filter = &filter};
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	r = filter_read(&filter, control, call, parameters);
	if (r < 0)
		return r;
	collection.latencies = json_array();
	backend->ops->devices(backend, collect_device, &collection);
	return control_reply(call, json_pack("{s:o, s:o, s:o}", "time", json_time(time_monotonic()),
					     "since", json_time(control->parts.started_ns),
					     "latencies", collection.latencies));
}
