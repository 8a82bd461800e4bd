/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type LatencyRecord. */
#include "daemon/core/path.h"

#include "daemon/core/packet.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"
#include "daemon/kernel/attribution.h"

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
	struct segment_text dominant = path_segment_name(path->stage[path->dominant].stage,
							 path->stage[path->dominant + 1].stage);

	fill_int(f, "total_ns", path->total_ns);
	fill_bool(f, "comparable", !path->missing_count);
	fill_put(f, "stages", stages(path));
	fill_put(f, "times", times(path));
	fill_text(f, "dominant", dominant.s);
	fill_put(f, "missing", missing(path));
}

static json_t *device(const struct nf_path_device *d, struct attribution *attribution)
{
	char name[ATTRIBUTION_NETNS_MAX];
	struct fill f = fill_new();

	fill_put(&f, "device", json_text(d->name, sizeof(d->name)));
	fill_int(&f, "ifindex", d->ifindex);
	fill_int(&f, "netns", d->netns);
	if (attribution)
		fill_foreign(&f, "netns_name", attribution_netns(attribution, d->netns, name));
	return f.object;
}

static json_t *devices(const struct nf_path_record *record, struct attribution *attribution)
{
	size_t count = record->devices < NF_PATH_DEVICES ? record->devices : NF_PATH_DEVICES;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		fill_append(&list, device(&record->device[i], attribution));
	return list;
}

/* Nothing where the reader's skb was gone before anything of it was kept. */
static void fill_contents(struct fill *f, const struct nf_bytes *bytes)
{
	struct packet packet;

	if (!bytes->len && !bytes->net_len)
		return;
	packet_parse(bytes, &packet);
	fill_int(f, "length_bytes", bytes->len);
	fill_protocol(f, bytes->protocol, packet.parts & PACKET_L4, packet.ip.protocol);
	fill_packet(f, &packet);
	fill_header(f, bytes);
}

static void fill_owner(struct fill *f, uint64_t cgroup, struct attribution *attribution)
{
	char path[ATTRIBUTION_CGROUP_MAX], name[NAME_MAX + 1];
	struct fill owner;

	_Static_assert(sizeof(name) >= ATTRIBUTION_UNIT_MAX &&
			       sizeof(name) >= ATTRIBUTION_CONTAINER_MAX,
		       "room for both");
	if (!attribution || !cgroup || !attribution_cgroup(attribution, cgroup, path))
		return;
	owner = fill_new();
	fill_foreign(&owner, "cgroup", path);
	fill_foreign(&owner, "unit", attribution_unit(path, name));
	fill_foreign(&owner, "container", attribution_container(path, name));
	fill_put(f, "owner", owner.object);
}

json_t *json_latency_record(const struct nf_path_record *record, const struct path *path,
			    struct attribution *attribution)
{
	struct fill f = fill_new();

	fill_time(&f, "time", record->header.time_ns);
	fill_text(&f, "outcome", path_outcome_name((enum nf_outcome)record->outcome));
	fill_bool(&f, "slow", record->flags & NF_PATH_SLOW);
	fill_path(&f, path);
	fill_put(&f, "devices", devices(record, attribution));
	fill_bool(&f, "more_devices", record->flags & NF_PATH_MORE);
	fill_int(&f, "cpu", record->header.cpu);
	fill_contents(&f, &record->bytes);
	if (record->merged)
		fill_int(&f, "merged_bytes", record->merged);
	if (record->flags & NF_PATH_TASK)
		fill_task(&f, &record->task, true);
	fill_owner(&f, record->cgroup, attribution);
	return f.object;
}
