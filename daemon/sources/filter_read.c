/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client selects by. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "common/knowledge.h"
#include "common/nearest.h"
#include "common/time.h"
#include "daemon/core/selection.h"
#include "daemon/core/verdict.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/netns_names.h"
#include "daemon/kernel/own_device.h"
#include "daemon/probe/backend.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/sources.h"
#include "daemon/sources/words.h"
#include "daemon/store/records.h"
#include "daemon/varlink/call.h"

/* A search for a device by name, among the devices that netflowd has seen and those that the host has. */
struct device_search {
	const char *name;
	bool found;
	struct nearest nearest;
	char best[NF_DEVICE_NAME + 1];
};

static void consider_device(struct device_search *search, const char *name)
{
	if (!name || !name[0] || search->found)
		return;
	if (!strcmp(name, search->name))
		search->found = true;
	nearest_consider(&search->nearest, name);
	/* The candidate does not outlive this call. */
	if (search->nearest.best == name) {
		snprintf(search->best, sizeof(search->best), "%s", name);
		search->nearest.best = search->best;
	}
}

static void consider_readings(struct device_search *search, const struct sources *sources)
{
	const struct reading *devices = sources_reading(sources, DEVICES);
	const struct reading *drops = sources_reading(sources, DROPS);
	const struct reading *slots = sources_reading(sources, SLOTS);
	const struct reading *traffic = sources_reading(sources, TRAFFIC);

	for (size_t i = 0; devices && i < reading_count(devices); i++)
		consider_device(search, reading_device_name(devices, i));
	for (size_t i = 0; drops && i < reading_count(drops); i++)
		consider_device(search, reading_drops(drops, i)->device);
	for (size_t i = 0; slots && i < reading_count(slots); i++)
		consider_device(search, reading_slots(slots, i)->name);
	for (size_t i = 0; traffic && i < reading_traffic(traffic)->count; i++)
		consider_device(search, reading_traffic(traffic)->at[i].name);
}

static void consider_host(struct device_search *search)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *one = all; one && one->if_index; one++)
		consider_device(search, one->if_name);
	if (all)
		if_freenameindex(all);
}

static void search_device(struct device_search *search, const struct sources *sources)
{
	nearest_init(&search->nearest, search->name);
	consider_readings(search, sources);
	if (!search->found)
		consider_host(search);
}

bool filter_knows_device(const struct sources *sources, const char *name)
{
	struct device_search search = {.name = name};

	search_device(&search, sources);
	return search.found;
}

int filter_find_holders(const struct sources *sources, const char *name,
			struct device_holders *holders, const char **now)
{
	struct device_names *names = readings_names(sources->readings);
	uint32_t netns_id, number;

	if (own_device(name, &netns_id, &number) == 0)
		device_names_is(names, NF_DEVICE_KEY(netns_id, number), name, time_monotonic());
	return device_names_holders(names, name, holders, now);
}

static int read_device(struct filter *filter, const struct sources *sources, struct call *call,
		       const char *name)
{
	struct device_search search = {.name = name};
	const char *now;
	int r = filter_find_holders(sources, name, &filter->holders, &now);

	if (r < 0)
		return r;
	/* Without a packet, netflowd has not seen the device that has the name now. */
	if (now && if_nametoindex(name))
		device_holders_clear(&filter->holders);
	else
		filter->renamed = now;
	search_device(&search, sources);
	if (!search.found && !filter->renamed) {
		call_error(
			call, "io.netflowd.UnknownDevice",
			json_pack("{s:s, s:s*}", "device", name, "nearest", search.nearest.best));
		return -EINVAL;
	}
	snprintf(filter->device, sizeof(filter->device), "%s", filter->renamed ? now : name);
	filter->by_device = true;
	return 0;
}

static int read_reason(struct filter *filter, const struct sources *sources, struct call *call,
		       const char *text)
{
	const char *nearest;

	if (records_find_reason(sources->records, text, &filter->reason, &nearest) < 0) {
		call_error(call, "io.netflowd.UnknownReason",
			   json_pack("{s:s, s:s*}", "reason", text, "nearest", nearest));
		return -EINVAL;
	}
	filter->by_reason = true;
	return 0;
}

/* Whether the backend shows nothing that the criterion could select by; then the call has ended. */
static bool is_blind(const struct sources *sources, struct call *call, const char *criterion)
{
	const struct backend *backend = sources->backend;
	const char *reason = backend->ops->blind(backend, criterion);

	if (reason)
		call_error(call, "io.netflowd.CannotSelect",
			   json_pack("{s:s, s:s}", "criterion", criterion, "reason", reason));
	return reason;
}

/*
 * Select counters by the number that the name has now, because they have no names.  Records are selected by the
 * namespace's cookie, or by the name that was captured with them.
 */
static int read_netns(struct filter *filter, const struct sources *sources, struct call *call,
		      const char *text)
{
	char nearest[ATTRIBUTION_NETNS_MAX];

	if (is_blind(sources, call, "netns"))
		return -EINVAL;
	switch (attribution_netns_number(sources->attribution, text, &filter->netns)) {
	case 0:
		filter->by_netns = true;
		filter->netns_id = attribution_netns_id(sources->attribution, text);
		if (strspn(text, "0123456789") < strlen(text))
			snprintf(filter->netns_name, sizeof(filter->netns_name), "%s", text);
		return 0;
	case -ENOENT:
		call_error(
			call, "io.netflowd.UnknownNetns",
			json_pack("{s:s, s:s*}", "netns", text, "nearest",
				  attribution_netns_nearest(sources->attribution, text, nearest)));
		return -EINVAL;
	case -EACCES:
		call_error(call, "io.netflowd.PermissionDenied",
			   json_pack("{s:s}", "reason", NETNS_NAMES_HIDDEN));
		return -EINVAL;
	default:
		call_invalid_parameter(call, "netns");
		return -EINVAL;
	}
}

static const char *class_word(unsigned int number)
{
	return knowledge_class_name((enum knowledge_class)number);
}

int filter_read_classes(struct call *call, const json_t *parameters, unsigned int *classes)
{
	unsigned int read = 0;
	int r = words_read(call, parameters, "classes", KNOWLEDGE_CLASSES, class_word, &read);

	if (r < 0)
		return r;
	if (json_is_true(json_object_get(parameters, "faults")))
		read |= VERDICT_CLASS_BIT(KNOWLEDGE_FAULT);
	if (read)
		*classes = read;
	return 0;
}

static int read_expression(struct filter *filter, const struct sources *sources, struct call *call,
			   const char *text)
{
	struct selection_error error;
	int r;

	if (is_blind(sources, call, "filter"))
		return -EINVAL;
	r = selection_new(&filter->selection, text, &error);
	if (r == -EINVAL || r == -E2BIG) {
		call_error(call, "io.netflowd.InvalidFilter",
			   json_pack("{s:s, s:s}", "filter", text, "reason", error.text));
		return -EINVAL;
	}
	return r;
}

static int read_segment(struct filter *filter, struct call *call, const char *text)
{
	char nearest[SEGMENT_NAME_MAX];

	if (segment_parse(&filter->segment, text, nearest) < 0) {
		call_error(call, "io.netflowd.UnknownSegment",
			   json_pack("{s:s, s:s*}", "segment", text, "nearest",
				     nearest[0] ? nearest : NULL));
		return -EINVAL;
	}
	filter->by_segment = true;
	return 0;
}

static int read_over(struct filter *filter, struct call *call, const json_t *value)
{
	if (json_integer_value(value) < 0) {
		call_invalid_parameter(call, "over_ns");
		return -EINVAL;
	}
	filter->over_ns = (uint64_t)json_integer_value(value);
	filter->by_over = true;
	return 0;
}

/* Read the criteria that only latency records have. */
static int read_path(struct filter *filter, struct call *call, json_t *parameters)
{
	const char *segment = json_string_value(json_object_get(parameters, "segment"));
	const json_t *over = json_object_get(parameters, "over_ns");
	const json_t *slow = json_object_get(parameters, "slow");
	int r = 0;

	filter->segment.total = true;
	filter->by_slow = slow != NULL;
	filter->slow = json_is_true(slow);
	if (segment)
		r = read_segment(filter, call, segment);
	if (r == 0 && over)
		r = read_over(filter, call, over);
	return r;
}

int filter_read(struct filter *filter, const struct sources *sources, struct call *call,
		json_t *parameters)
{
	const char *reason = json_string_value(json_object_get(parameters, "reason"));
	const char *device = json_string_value(json_object_get(parameters, "device"));
	const char *expression = json_string_value(json_object_get(parameters, "filter"));
	const char *netns = json_string_value(json_object_get(parameters, "netns"));
	OWN_FILTER struct filter fresh = {0};
	int r = 0;

	if (reason)
		r = read_reason(&fresh, sources, call, reason);
	if (r == 0 && device)
		r = read_device(&fresh, sources, call, device);
	if (r == 0 && netns)
		r = read_netns(&fresh, sources, call, netns);
	fresh.classes = 0;
	if (r == 0)
		r = filter_read_classes(call, parameters, &fresh.classes);
	fresh.by_class = fresh.classes;
	if (!fresh.by_class)
		fresh.classes = VERDICT_CLASSES_ALL;
	if (r == 0 && expression)
		r = read_expression(&fresh, sources, call, expression);
	if (r == 0)
		r = read_path(&fresh, call, parameters);
	if (r < 0)
		return r;
	*filter = fresh;
	fresh = (struct filter){0};
	return 0;
}
