/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/counted.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/core/histogram.h"
#include "daemon/core/stages.h"
#include "daemon/history/place_key.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
#include "daemon/store/reading.h"

/* A number of 64 bits, a slash, and the name of a device. */
#define DEVICE_KEY_MAX (24 + IF_NAMESIZE)

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
static void put_packets(json_t *latency, const uint64_t sum[TRAFFIC_VALUES], const char *direction)
{
	uint64_t packets = sum[strcmp(direction, "rx") ? TRAFFIC_TX_PACKETS : TRAFFIC_RX_PACKETS];

	if (strcmp(direction, "fwd") != 0)
		json_object_set_new(latency, "packets", json_integer(json_count(packets)));
}

/* The ifindex is not known in other namespaces: there a device that is gone has the counts of its successor. */
static bool is_device(const struct traffic_device *counted, const struct backend_device *device)
{
	return !counted->ifindex || !device->ifindex || counted->ifindex == device->ifindex;
}

void counted_add_packets(json_t *latency, const struct reading *traffic,
			 const struct backend_device *device, enum nf_segment segment)
{
	const char *direction = segment_histograms[segment].direction;
	const struct traffic_device *counted =
		device->name ? traffic_find(reading_traffic(traffic), device->netns, device->name)
			     : NULL;

	if (latency && counted && is_device(counted, device))
		put_packets(latency, counted->sum, direction);
}

void counted_add_margin(json_t *latency, const struct nf_hist *hist,
			const struct counted_margin *margin)
{
	const json_t *packets = margin->limits ? json_object_get(latency, "packets") : NULL;
	uint64_t all = (uint64_t)json_integer_value(packets), count = histogram_count(hist);
	uint64_t most = (all > count ? all - count : count - all) + margin->tied;
	uint64_t all_unseen = margin->unseen + margin->unended;
	uint64_t unseen = packets && most < all_unseen ? most : all_unseen;
	uint64_t missable = packets && most < margin->missable ? most : margin->missable;
	uint64_t drawn = histogram_margin(margin->variance);
	double sum = ceil(hypot(hypot((double)drawn, (double)unseen), (double)missable));

	if (!latency || (!drawn && !unseen && !missable))
		return;
	json_object_set_new(latency, "drawn_margin", json_integer(json_count(drawn)));
	json_object_set_new(latency, "followed",
			    json_integer(json_count(histogram_followed(hist))));
	json_object_set_new(latency, "count_margin", json_integer(json_count((uint64_t)sum)));
}

/* ---- the past ------------------------------------------------------------------------- */

static json_t *part_of(json_t *name, bool full, void *userdata)
{
	struct past *past = userdata;

	if ((past_text(past, "device") || past_text(past, "netns")) &&
	    !past_takes_place(past, name))
		return NULL;
	return full ? json_pack("{s:s}", "group", "other") : json_incref(name);
}

static uint64_t packets_in(const struct reader_row *row)
{
	const uint64_t *value = row->value + COUNTED_FIRST;

	return value[TRAFFIC_RX_PACKETS] + value[TRAFFIC_TX_PACKETS];
}

static int by_packets_in(const void *a, const void *b)
{
	return ORDER(packets_in(b), packets_in(a));
}

static json_t *past_row_of(const struct reader_row *row)
{
	json_t *object = json_counted(NULL, row->value + COUNTED_FIRST);

	if (object)
		json_object_update_missing(object, row->name);
	return object;
}

/* What the kernel shows of a device: its name, and the number of its namespace. */
static void device_key(const json_t *name, char key[static DEVICE_KEY_MAX])
{
	const char *device = json_string_value(json_object_get(name, "device"));

	snprintf(key, DEVICE_KEY_MAX, "%" JSON_INTEGER_FORMAT "/%s",
		 json_integer_value(json_object_get(name, "netns")), device ? device : "");
}

void counted_past_clear(struct counted_past *counted)
{
	reader_rows_clear(&counted->rows);
	json_decref(counted->by_device);
	counted->by_device = NULL;
}

int counted_past_read(struct reader *reader, struct past *past, struct counted_past *counted)
{
	struct reader_rows *rows = &counted->rows;
	int r = reader_sums(reader, HISTORY_TRAFFIC, part_of, past, rows);

	counted->by_device = json_object();
	if (r < 0 || !counted->by_device)
		return r < 0 ? r : -ENOMEM;
	if (rows->count)
		qsort(rows->row, rows->count, sizeof(*rows->row), by_packets_in);
	for (size_t i = 0; i < rows->count; i++) {
		char key[DEVICE_KEY_MAX];

		/* Some packets of any device can be among those of all others: then none is known exactly. */
		if (!json_object_get(rows->row[i].name, "device"))
			return json_object_clear(counted->by_device);
		device_key(rows->row[i].name, key);
		if (json_object_set_new(counted->by_device, key, json_integer((json_int_t)i)))
			return -ENOMEM;
	}
	return 0;
}

int counted_past_part(struct counted_past *counted, const struct reader_rows *devices)
{
	OWN_JSON json_t *owners = json_object();

	for (size_t i = 0; i < devices->count; i++) {
		const json_t *name = devices->row[i].name, *owner;
		json_int_t own = json_integer_value(json_object_get(name, PLACE_NETNS));
		char key[DEVICE_KEY_MAX];

		device_key(name, key);
		owner = json_object_get(owners, key);
		if (owner && json_integer_value(owner) != own)
			json_object_del(counted->by_device, key);
		if (!owner && json_object_set_new(owners, key, json_integer(own)))
			return -ENOMEM;
	}
	return 0;
}

void counted_past_add_packets(json_t *latency, const struct counted_past *counted,
			      const json_t *name, enum nf_segment segment)
{
	char key[DEVICE_KEY_MAX];
	const json_t *row;

	device_key(name, key);
	row = json_object_get(counted->by_device, key);
	if (row && latency)
		put_packets(latency,
			    counted->rows.row[json_integer_value(row)].value + COUNTED_FIRST,
			    segment_histograms[segment].direction);
}

int counted_past_put(struct past *past, struct counted_past *all)
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
	past_hide_keys(rows);
	counted = json_pack("{s:o, s:I, s:o}", "time", past_time((int64_t)last_us), "devices",
			    json_count(all->rows.count), "rows", rows);
	return json_object_set_new(past->head, "counted", counted) ? -ENOMEM : 0;
}
