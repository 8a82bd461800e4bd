/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
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

void counted_add_packets(json_t *latency, const struct reading *traffic,
			 const struct backend_device *device, enum nf_segment segment)
{
	const char *direction = segment_histograms[segment].direction;
	const struct traffic_device *counted =
		device->name ? traffic_find(reading_traffic(traffic), device->netns, device->name)
			     : NULL;

	/* A forwarded packet has two devices. */
	if (!latency || !counted || !strcmp(direction, "fwd"))
		return;
	json_object_set_new(latency, "packets",
			    json_integer(json_count(
				    counted->sum[strcmp(direction, "rx") ? TRAFFIC_TX_PACKETS
									 : TRAFFIC_RX_PACKETS])));
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

int counted_put_past(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows all = {0};
	json_t *rows, *counted;
	uint64_t last_us = 0;
	int r = reader_sums(reader, HISTORY_TRAFFIC, part_of, past, &all);

	if (r < 0 || !all.count)
		return r;
	qsort(all.row, all.count, sizeof(*all.row), by_packets_in);
	rows = json_array();
	for (size_t i = 0; i < all.count; i++) {
		if (all.row[i].value[COUNTED_LAST_US] > last_us)
			last_us = all.row[i].value[COUNTED_LAST_US];
		if (i < COUNTED_ROWS)
			json_array_append_new(rows, past_row_of(&all.row[i]));
	}
	past_hide_keys(rows);
	counted = json_pack("{s:o, s:I, s:o}", "time", past_time((int64_t)last_us), "devices",
			    json_count(all.count), "rows", rows);
	return json_object_set_new(past->head, "counted", counted) ? -ENOMEM : 0;
}
