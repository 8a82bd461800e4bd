/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/json.h"
#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/core/stages.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
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

json_t *control_counted(const struct reading *traffic, const struct reading *devices,
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

/* As the kernel shows it: by its name and the number of its namespace, and its own number in that of the daemon. */
struct counted_device {
	const struct device *is;
	uint64_t sum[TRAFFIC_VALUES];
	uint64_t netns_id; /* of its namespace, if it is `owned` */
	bool owned;	   /* a row of latency is of this device */
	bool parted;	   /* those of two namespaces are */
};

static uint64_t hash_device(const struct device *device)
{
	return hash_text((uint64_t)device->netns << 32 | device->ifindex,
			 device->name ? device->name : "");
}

static bool is_same(const void *items, size_t number, const void *key)
{
	const struct device *one = ((const struct counted_device *)items)[number].is, *other = key;

	return one->netns == other->netns && one->ifindex == other->ifindex &&
	       !strcmp(one->name ? one->name : "", other->name ? other->name : "");
}

static struct counted_device *find_same(const struct counted_past *counted,
					const struct device *device)
{
	size_t number;

	return map_find(&counted->map, hash_device(device), is_same, counted->device, device,
			&number)
		       ? &counted->device[number]
		       : NULL;
}

/* NULL: no memory. */
static struct counted_device *add_device(struct counted_past *counted, const struct device *device)
{
	struct counted_device *same = find_same(counted, device);

	if (same)
		return same;
	if (ARRAY_GROW(counted->device, counted->devices, counted->room) < 0 ||
	    map_add(&counted->map, hash_device(device), counted->devices) < 0)
		return NULL;
	same = &counted->device[counted->devices++];
	*same = (struct counted_device){.is = device};
	return same;
}

static struct counted_device *find_counted(const struct counted_past *counted,
					   const struct device *device)
{
	struct device unnumbered = *device;
	struct counted_device *found = find_same(counted, device);

	unnumbered.ifindex = 0;
	return found ? found : find_same(counted, &unnumbered);
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

	if (r < 0)
		return r;
	if (rows->count)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_packets_in);
	for (size_t i = 0; i < rows->count; i++) {
		const struct reader_row *row = &rows->row[i];
		struct counted_device *device = add_device(counted, &row->name.device);

		if (!device)
			return -ENOMEM;
		/* Some packets of any device can be among those of all others: then none is known exactly. */
		if (row->name.other) {
			map_forget(&counted->map);
			return 0;
		}
		for (int j = 0; j < TRAFFIC_VALUES; j++)
			device->sum[j] += row->value[COUNTED_FIRST + j];
	}
	return 0;
}

void counted_past_part(struct counted_past *counted, const struct reader_rows *devices)
{
	for (size_t i = 0; i < devices->count; i++) {
		const struct device *device = &devices->row[i].name.device;
		struct counted_device *found = find_counted(counted, device);

		if (!found)
			continue;
		found->parted |= found->owned && found->netns_id != device->netns_id;
		found->netns_id = device->netns_id;
		found->owned = true;
	}
}

const uint64_t *counted_past_packets(const struct counted_past *counted,
				     const struct device *device, enum nf_segment segment)
{
	const struct counted_device *found = find_counted(counted, device);

	return found && !found->parted ? in_direction(found->sum, segment) : NULL;
}

static json_t *past_row_of(const struct reader_row *row)
{
	json_t *object = json_counted(&row->name.device, row->value + COUNTED_FIRST);

	if (row->name.other)
		json_object_set_new(object, "group", json_string("other"));
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
