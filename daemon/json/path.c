/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type LatencyRecord. */
#include "daemon/core/resolved.h"

#include "daemon/json/internal.h"
#include "daemon/json/json.h"

static json_t *stages(const struct path *path)
{
	json_t *list = json_array();

	for (size_t i = 0; i < path->count; i++) {
		struct fill f = fill_new();

		fill_text(&f, "stage", path_stage_name(path->stage[i].stage));
		fill_time(&f, "time", path->stage[i].time_ns);
		fill_int(&f, "at_ns", path->stage[i].time_ns - path->stage[0].time_ns);
		fill_append(&list, f.object);
	}
	return list;
}

static json_t *times(const struct path *path)
{
	json_t *list = json_array();

	for (size_t i = 0; i + 1 < path->count; i++) {
		const struct path_stage *from = &path->stage[i], *to = from + 1;
		struct fill f = fill_new();

		fill_text(&f, "from", path_stage_name(from->stage));
		fill_text(&f, "to", path_stage_name(to->stage));
		fill_int(&f, "duration_ns", to->time_ns - from->time_ns);
		fill_append(&list, f.object);
	}
	return list;
}

static json_t *missing(const struct path *path)
{
	json_t *list = json_array();

	for (size_t i = 0; i < path->missing_count; i++) {
		struct fill f = fill_new();

		fill_text(&f, "stage", path_stage_name(path->missing[i].stage));
		fill_foreign(&f, "reason", path->missing[i].reason);
		fill_append(&list, f.object);
	}
	return list;
}

static void fill_path(struct fill *f, const struct path *path)
{
	char dominant[PATH_SEGMENT_MAX];

	path_segment_format(path->stage[path->dominant].stage,
			    path->stage[path->dominant + 1].stage, dominant);
	fill_int(f, "total_ns", path->total_ns);
	fill_bool(f, "comparable", !path->missing_count);
	fill_put(f, "stages", stages(path));
	fill_put(f, "times", times(path));
	fill_text(f, "dominant", dominant);
	fill_put(f, "missing", missing(path));
}

static json_t *devices(const struct journey *journey)
{
	json_t *list = json_array();

	for (size_t i = 0; i < journey->devices; i++) {
		const struct nf_path_device *d = &journey->record->device[i];
		struct fill f = fill_new();

		fill_put(&f, "device", json_text(d->name, sizeof(d->name)));
		fill_int(&f, "ifindex", d->ifindex);
		fill_int(&f, "netns", d->netns);
		fill_foreign(&f, "netns_name", journey->netns_name[i]);
		fill_append(&list, f.object);
	}
	return list;
}

static json_t *owner(const struct owner *of)
{
	struct fill f = fill_new();

	fill_foreign(&f, "cgroup", of->cgroup);
	fill_bytes(&f, "unit", of->unit, sizeof(of->unit));
	fill_bytes(&f, "container", of->container, sizeof(of->container));
	return f.object;
}

json_t *json_latency_record(const struct journey *journey)
{
	const struct nf_path_record *record = journey->record;
	struct fill f = fill_new();

	fill_time(&f, "time", record->header.time_ns);
	fill_text(&f, "outcome", path_outcome_name((enum nf_outcome)record->outcome));
	fill_bool(&f, "slow", record->flags & NF_PATH_SLOW);
	fill_path(&f, &journey->path);
	fill_put(&f, "devices", devices(journey));
	fill_bool(&f, "more_devices", record->flags & NF_PATH_MORE);
	fill_int(&f, "cpu", record->header.cpu);
	if (journey->has_contents) {
		fill_int(&f, "length_bytes", record->bytes.len);
		fill_contents(&f, &journey->contents);
		fill_header(&f, &record->bytes);
	}
	if (record->merged)
		fill_int(&f, "merged_bytes", record->merged);
	if (record->flags & NF_PATH_TASK)
		fill_task(&f, &record->task, true);
	if (journey->owner.cgroup)
		fill_put(&f, "owner", owner(&journey->owner));
	return f.object;
}
