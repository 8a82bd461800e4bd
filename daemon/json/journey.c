/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type LatencyRecord. */
#include "daemon/core/journey.h"

#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static json_t *stage_list(const struct stages *stages)
{
	json_t *list = json_array();

	for (size_t i = 0; i < stages->count; i++) {
		struct fill f = fill_new();

		fill_text(&f, "stage", stage_name(stages->stage[i].stage));
		fill_time(&f, "time", stages->stage[i].time_ns);
		fill_int(&f, "at_ns", stages->stage[i].time_ns - stages->stage[0].time_ns);
		fill_append(&list, f.object);
	}
	return list;
}

static json_t *times(const struct stages *stages)
{
	json_t *list = json_array();

	for (size_t i = 0; i + 1 < stages->count; i++) {
		const struct stage_time *from = &stages->stage[i], *to = from + 1;
		struct fill f = fill_new();

		fill_text(&f, "from", stage_name(from->stage));
		fill_text(&f, "to", stage_name(to->stage));
		fill_int(&f, "duration_ns", to->time_ns - from->time_ns);
		fill_append(&list, f.object);
	}
	return list;
}

static json_t *missing(const struct stages *stages)
{
	json_t *list = json_array();

	for (size_t i = 0; i < stages->missing_count; i++) {
		struct fill f = fill_new();

		fill_text(&f, "stage", stage_name(stages->missing[i].stage));
		fill_foreign(&f, "reason", stages->missing[i].reason);
		fill_append(&list, f.object);
	}
	return list;
}

static void fill_stages(struct fill *f, const struct stages *stages)
{
	struct segment_text dominant = segment_between(stages->stage[stages->dominant].stage,
						       stages->stage[stages->dominant + 1].stage);

	fill_int(f, "total_ns", stages->total_ns);
	fill_bool(f, "comparable", !stages->missing_count);
	fill_put(f, "stages", stage_list(stages));
	fill_put(f, "times", times(stages));
	fill_text(f, "dominant", dominant.s);
	fill_put(f, "missing", missing(stages));
}

static json_t *devices(const struct journey *journey)
{
	json_t *list = json_array();

	for (size_t i = 0; i < journey->devices; i++) {
		const struct device *device = &journey->device[i];
		struct fill f = fill_new();

		fill_put(&f, "device", json_text(device->name, NF_DEVICE_NAME));
		fill_known(&f, "ifindex", device->ifindex);
		fill_known(&f, "netns", device->netns);
		fill_foreign(&f, "netns_name", device->netns_name);
		fill_append(&list, f.object);
	}
	return list;
}

json_t *json_latency_record(const struct journey *journey)
{
	const struct nf_bytes *bytes = journey->contents.bytes;
	struct fill f = fill_new();

	fill_time(&f, "time", journey->time_ns);
	fill_text(&f, "outcome", outcome_name(journey->outcome));
	fill_bool(&f, "slow", journey->slow);
	if (journey->weight_shift)
		fill_int(&f, "one_in", UINT64_C(1) << (journey->weight_shift & 63));
	fill_stages(&f, &journey->stages);
	fill_put(&f, "devices", devices(journey));
	fill_bool(&f, "more_devices", journey->more_devices);
	fill_int(&f, "cpu", journey->cpu);
	if (journey->has_contents) {
		fill_int(&f, "length_bytes", bytes->len);
		fill_known(&f, "segments", bytes->segments);
		fill_contents(&f, &journey->contents);
		fill_header(&f, bytes);
	}
	if (journey->merged)
		fill_int(&f, "merged_bytes", journey->merged);
	if (journey->task)
		fill_task(&f, journey->task, &(bool){true});
	fill_owner(&f, journey->owner);
	if (journey->has_missing)
		fill_put(&f, "missing_segment", json_drop_record(&journey->missing));
	return f.object;
}
