/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types DropRecord and Drops. */
#include <string.h>

#include "daemon/core/resolved.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static void fill_reason(struct fill *f, const struct cause *cause)
{
	if (!cause->has_reason)
		return;
	fill_text(f, "reason", cause->name);
	fill_int(f, "reason_number", cause->reason);
	fill_text(f, "subsystem", cause->subsystem);
	fill_text(f, "class", cause->class);
}

static json_t *stack(const struct drop *drop)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < drop->stack_len; i++)
		fill_append(&lines, json_text(drop->stack[i], LOCATION_TEXT_MAX));
	return lines;
}

json_t *json_drop_record(const struct drop *drop)
{
	const struct nf_drop_record *record = drop->record;
	struct fill f = fill_new();

	fill_time(&f, "time", record->header.time_ns);
	fill_reason(&f, &drop->cause);
	fill_foreign(&f, "location", drop->cause.location);
	fill_bytes(&f, "device", record->device, sizeof(record->device));
	fill_known(&f, "ifindex", record->ifindex);
	fill_known(&f, "netns", record->netns);
	fill_foreign(&f, "netns_name", drop->netns_name);
	fill_int(&f, "cpu", record->header.cpu);
	fill_int(&f, "length_bytes", record->bytes.len);
	fill_contents(&f, &drop->contents);
	fill_task(&f, &record->task, record->flags & NF_DROP_TASK);
	if (drop->stack_len)
		fill_put(&f, "stack", stack(drop));
	fill_header(&f, &record->bytes);
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
		fill_bytes(&f, "device", row->device, NF_DEVICE_NAME);
		fill_known(&f, "ifindex", row->ifindex);
	}
	if (row->fields & JSON_DROPS_NETNS)
		fill_known(&f, "netns", row->netns);
	if (row->fields & JSON_DROPS_PROTOCOL)
		fill_text(&f, "protocol", row->protocol);
	fill_text(&f, "flow", row->flow);
	fill_int(&f, "packets", row->packets);
	fill_int(&f, "bytes", row->bytes);
	fill_time(&f, "last", row->last_ns);
	return f.object;
}
