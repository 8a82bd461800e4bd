/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types DropRecord and Drops. */
#include "daemon/core/drop.h"

#include <stdint.h>

#include "common/knowledge.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static void fill_reason(struct fill *f, const struct cause *cause)
{
	if (!cause->has_reason)
		return;
	fill_text(f, "reason", cause->reason_name);
	fill_int(f, "reason_number", cause->reason);
	fill_text(f, "subsystem", cause->subsystem);
	if (cause->knowledge)
		fill_text(f, "class", knowledge_class_name(cause->knowledge->class));
}

static json_t *stack(const struct drop *drop)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < drop->stack_count; i++)
		fill_append(&lines, json_text(drop->stack[i], SIZE_MAX));
	return lines;
}

json_t *json_drop_record(const struct drop *drop)
{
	struct fill f = fill_new();

	fill_time(&f, "time", drop->time_ns);
	fill_reason(&f, &drop->cause);
	fill_foreign(&f, "location", drop->cause.location);
	fill_device(&f, &drop->device);
	fill_int(&f, "cpu", drop->cpu);
	fill_int(&f, "length_bytes", drop->contents.bytes->len);
	fill_known(&f, "segments", drop->contents.bytes->segments);
	fill_contents(&f, &drop->contents);
	fill_task(&f, drop->task, drop->involved);
	fill_owner(&f, drop->owner);
	if (drop->stack_count)
		fill_put(&f, "stack", stack(drop));
	fill_header(&f, drop->contents.bytes);
	return f.object;
}

json_t *json_drops(const struct json_drops *row)
{
	struct fill f = fill_new();

	if (row->fields & JSON_DROPS_REASON)
		fill_reason(&f, row->cause);
	if (row->fields & JSON_DROPS_LOCATION)
		fill_foreign(&f, "location", row->cause->location);
	if (row->fields & JSON_DROPS_DEVICE) {
		fill_bytes(&f, "device", row->device.name, NF_DEVICE_NAME);
		fill_known(&f, "ifindex", row->device.ifindex);
	}
	if (row->fields & JSON_DROPS_NETNS)
		fill_known(&f, "netns", row->device.netns);
	if (row->fields & JSON_DROPS_PROTOCOL)
		fill_text(&f, "protocol", row->protocol);
	if (row->fields & JSON_DROPS_CGROUP) {
		fill_known(&f, "cgroup_id", row->cgroup);
		fill_owner(&f, row->owner);
	}
	fill_text(&f, "flow", row->flow);
	if (row->gone)
		fill_bool(&f, "gone", true);
	if (row->unkeyed)
		fill_bool(&f, "unkeyed", true);
	if (row->coarse)
		fill_bool(&f, "coarse", true);
	fill_int(&f, "packets", row->packets);
	fill_int(&f, "segments", row->segments);
	fill_int(&f, "bytes", row->bytes);
	fill_time(&f, "last", row->last_ns);
	return f.object;
}
