/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/json.h"
#include "daemon/core/stages.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/past.h"
#include "daemon/store/reading.h"

/* ---- now --------------------------------------------------------------------------- */

static uint64_t packets_of(const struct traffic_device *device)
{
	return device->sum[TRAFFIC_RX_PACKETS] + device->sum[TRAFFIC_TX_PACKETS];
}

static int by_packets(const void *a, const void *b)
{
	const struct traffic_device *const *x = a, *const *y = b;

	return ORDER(packets_of(*y), packets_of(*x));
}

/* Devices that netflowd followed packets of, and whose counters it cannot read. */
static size_t uncounted(const struct traffic_list *list, const struct reading *devices,
			const struct filter *filter)
{
	size_t count = 0;

	for (size_t i = 0; i < reading_count(devices); i++) {
		const char *name = reading_device_name(devices, i);
		struct backend_device device;

		reading_device(devices, i, &device);
		count += name && filter_takes(filter, NULL, name, device.identity, device.netns) &&
			 !traffic_find(list, device.netns, name);
	}
	return count;
}

static json_t *row_of(const struct traffic_device *device)
{
	json_t *row = json_counted(&(struct device){.name = device->name,
						    .ifindex = device->ifindex,
						    .netns = device->netns},
				   device->sum);

	if (row)
		json_object_set_new(row, "since", json_time(device->since_ns));
	return row;
}

json_t *counted_json(const struct reading *traffic, const struct reading *devices,
		     const struct filter *filter)
{
	const struct traffic_list *list = reading_traffic(traffic);
	const struct traffic_device **selected;
	json_t *rows = json_array();
	size_t count = 0;

	if (!list->namespaces) {
		json_decref(rows);
		return NULL;
	}
	selected = calloc(list->count + 1, sizeof(const struct traffic_device *));
	for (size_t i = 0; selected && i < list->count; i++)
		if (filter_takes(filter, NULL, list->at[i].name, 0, list->at[i].netns))
			selected[count++] = &list->at[i];
	if (count)
		qsort(selected, count, sizeof(const struct traffic_device *), by_packets);
	for (size_t i = 0; i < count && i < COUNTED_ROWS; i++)
		json_array_append_new(rows, row_of(selected[i]));
	free(selected);
	return json_pack("{s:o, s:I, s:I, s:o}", "time", json_time(reading_time(traffic)),
			 "devices", json_count(count), "uncounted",
			 json_count(uncounted(list, devices, filter)), "rows", rows);
}

/* A forwarded packet has two devices. */
static const uint64_t *in_direction(const uint64_t *sum, enum nf_segment segment)
{
	const char *direction = segment_histograms[segment].direction;

	if (!strcmp(direction, "fwd"))
		return NULL;
	return &sum[strcmp(direction, "rx") ? TRAFFIC_TX_PACKETS : TRAFFIC_RX_PACKETS];
}

/* The ifindex is not known in other namespaces: there a device that is gone has the counts of its successor. */
static bool is_device(const struct traffic_device *counted, const struct device *device)
{
	return !counted->ifindex || !device->ifindex || counted->ifindex == device->ifindex;
}

const uint64_t *counted_packets(const struct reading *traffic, const struct device *device,
				enum nf_segment segment)
{
	const struct traffic_device *counted =
		device->name ? traffic_find(reading_traffic(traffic), device->netns, device->name)
			     : NULL;

	return counted && is_device(counted, device) ? in_direction(counted->sum, segment) : NULL;
}

/* ---- the past ------------------------------------------------------------------------- */

static uint64_t packets_in(const struct reader_row *row)
{
	const uint64_t *value = row->value + COUNTED_FIRST;

	return value[TRAFFIC_RX_PACKETS] + value[TRAFFIC_TX_PACKETS];
}

static int by_packets_in(const void *a, const void *b)
{
	return ORDER(packets_in(b), packets_in(a));
}

/*
 * A device as the kernel shows it: by its name and the number of its namespace, and its own number in that of the
 * daemon.  In a period these can be given to another one.
 */
struct counted_device {
	const struct reader_row *row;
	const struct device *owner; /* of the latency that was measured with it; NULL: none */
	bool parted;		    /* it is several devices, or one under several names */
};

static uint64_t hash_device(const struct counted_past *counted, const struct device *device)
{
	uint64_t seed =
		hash_word((uintptr_t)counted, (uint64_t)device->netns << 32 | device->ifindex);

	return hash_text(seed, device->name ? device->name : "");
}

static bool is_same(const void *items, size_t number, const void *key)
{
	const struct counted_device *devices = items;
	const struct device *one = &devices[number].row->name.device, *other = key;

	return one->netns == other->netns && one->ifindex == other->ifindex &&
	       !strcmp(one->name ? one->name : "", other->name ? other->name : "");
}

static struct counted_device *find_same(const struct counted_past *counted,
					const struct device *device)
{
	uint64_t hash = hash_device(counted, device);
	size_t number;

	return map_find(&counted->map, hash, is_same, counted->device, device, &number)
		       ? &counted->device[number]
		       : NULL;
}

static int add_device(struct counted_past *counted, const struct reader_row *row)
{
	const struct device *device = &row->name.device;
	struct counted_device *same = find_same(counted, device);

	if (same) {
		same->parted = true;
		return 0;
	}
	if (ARRAY_GROW(counted->device, counted->devices, counted->room) < 0 ||
	    map_add(&counted->map, hash_device(counted, device), counted->devices) < 0)
		return -ENOMEM;
	counted->device[counted->devices++] = (struct counted_device){.row = row};
	return 0;
}

/* Outside of the daemon's namespace the kernel shows no numbers. */
static struct counted_device *find_unnumbered(const struct counted_past *counted,
					      const struct device *device)
{
	struct device unnumbered = *device;

	unnumbered.ifindex = 0;
	return device->ifindex ? find_same(counted, &unnumbered) : NULL;
}

void counted_past_clear(struct counted_past *counted)
{
	reader_rows_clear(&counted->rows);
	free(counted->device);
	map_clear(&counted->map);
}

int counted_past_read(struct reader *reader, struct past *past, struct counted_past *counted)
{
	struct reader_rows *rows = &counted->rows;
	int r = reader_sums(reader, HISTORY_TRAFFIC, past_project_device, past, rows);

	if (rows->count)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_packets_in);
	for (size_t i = 0; i < rows->count && r == 0; i++) {
		/* Some packets of any device can be among those of all others: then none is known exactly. */
		if (rows->row[i].name.other) {
			map_forget(&counted->map);
			break;
		}
		r = add_device(counted, &rows->row[i]);
	}
	return r;
}

static void part(struct counted_device *counted, const struct device *device)
{
	if (!counted)
		return;
	if (counted->owner && memcmp(counted->owner, device, sizeof(*device)) != 0)
		counted->parted = true;
	counted->owner = device;
}

void counted_past_part(struct counted_past *counted, const struct reader_rows *devices)
{
	for (size_t i = 0; i < devices->count; i++) {
		const struct device *device = &devices->row[i].name.device;

		part(find_same(counted, device), device);
		part(find_unnumbered(counted, device), device);
	}
}

const uint64_t *counted_past_packets(const struct counted_past *counted,
				     const struct device *device, enum nf_segment segment)
{
	const struct counted_device *found = find_same(counted, device);
	const struct counted_device *other = find_unnumbered(counted, device);

	if (!found == !other)
		return NULL;
	found = found ? found : other;
	return found->parted ? NULL : in_direction(found->row->value + COUNTED_FIRST, segment);
}

static json_t *past_row_of(const struct reader_row *row)
{
	json_t *object = json_counted(&row->name.device, row->value + COUNTED_FIRST);

	if (row->name.other)
		json_object_set_new(object, "group", json_string(JSON_GROUP_OTHER));
	return object;
}

int counted_past_put(struct past *past, const struct counted_past *all)
{
	json_t *rows, *counted;
	uint64_t last_us = 0;

	if (!all->rows.count)
		return 0;
	rows = json_array();
	for (size_t i = 0; i < all->rows.count; i++) {
		const struct reader_row *row = &all->rows.row[i];

		if (row->value[COUNTED_LAST_US] > last_us)
			last_us = row->value[COUNTED_LAST_US];
		if (i < COUNTED_ROWS)
			json_array_append_new(rows, past_row_of(row));
	}
	counted = json_pack("{s:o, s:I, s:o}", "time", past_time((int64_t)last_us), "devices",
			    json_count(all->rows.count), "rows", rows);
	return json_object_set_new(past->head, "counted", counted) ? -ENOMEM : 0;
}
