/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NAPI polls, ring slots, and the kernel's counts of packets by device. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/metrics/internal.h"

/* The device of the CPUs' backlog, which has no name. */
#define BACKLOG "backlog"

/* Devices of one name in one namespace share a series: a device that is made again goes on there. */
struct device_key {
	char name[NF_DEVICE_NAME];
	uint32_t netns;
	uint8_t named;
};

enum { POLLS, POLL_PACKETS, FULL_BUDGETS };
enum { TRANSMITS, NEAR_MISSES, TOO_BIG, OUTCOMES };

_Static_assert(sizeof(struct device_key) <= SERIES_KEY_MAX, "a key fits");
_Static_assert(OUTCOMES + NF_SLOTS_OUTCOMES <= SERIES_VALUES, "all values fit");

static struct series_key key_of(const char *name, uint32_t netns)
{
	struct series_key bytes = {0};
	struct device_key key;

	memset(&key, 0, sizeof(key));
	if (name)
		memcpy(key.name, name, strnlen(name, NF_DEVICE_NAME));
	key.named = name != NULL;
	key.netns = netns;
	memcpy(bytes.bytes, &key, sizeof(key));
	return bytes;
}

int metrics_add_napi(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	struct metrics_series *series = metrics->napi;
	const struct reading *reading = snapshot->reading[READING_NAPI];
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct backend_napi *napi = reading_napi(reading, i);
		const struct series_key key = key_of(napi->name, napi->netns);
		const uint64_t values[SERIES_VALUES] = {
			[POLLS] = napi->polls,
			[POLL_PACKETS] = napi->poll_packets,
			[FULL_BUDGETS] = napi->full_budgets,
		};

		r = metrics_series_add(series, &key, 0, NULL, values);
	}
	return r;
}

int metrics_add_slots(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	struct metrics_series *series = metrics->slots;
	const struct reading *reading = snapshot->reading[READING_SLOTS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct backend_slots *slots = reading_slots(reading, i);
		const struct series_key key = key_of(slots->name, slots->netns);
		uint64_t values[SERIES_VALUES] = {
			[NEAR_MISSES] = slots->near,
			[TOO_BIG] = slots->too_big,
		};

		for (int j = 0; j < NF_SLOTS_BUCKETS; j++)
			values[TRANSMITS] += slots->slots[j];
		for (int j = 0; j < NF_SLOTS_OUTCOMES; j++)
			values[OUTCOMES + j] = slots->overflow[j];
		/* All devices that found the table full, and none yet. */
		if (slots->name || values[TRANSMITS])
			r = metrics_series_add(series, &key, 0, NULL, values);
	}
	return r;
}

int metrics_add_traffic(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	const struct traffic_list *list = reading_traffic(snapshot->reading[READING_TRAFFIC]);
	int r = 0;

	_Static_assert(TRAFFIC_VALUES <= SERIES_VALUES, "all values fit");
	for (size_t i = 0; r == 0 && i < list->count; i++) {
		const struct traffic_device *device = &list->at[i];
		const struct series_key key = key_of(device->name, device->netns);
		uint64_t values[SERIES_VALUES] = {0};

		memcpy(values, device->sum, sizeof(device->sum));
		r = metrics_series_add(metrics->traffic, &key, 0, NULL, values);
	}
	return r;
}

/* ---- writing ----------------------------------------------------------------- */

/* One counter of all series, with one more label if `outcome` is not NULL. */
static void write_value(struct metrics_text *text, const struct metrics_series *series, int value,
			const char *unnamed, const char *outcome)
{
	struct series_group group;
	struct series_row row;

	for (size_t i = 0; metrics_series_row(series, i, &row); i++) {
		char name[NF_DEVICE_NAME + 1] = "", netns[16] = "";
		struct device_key key;

		memcpy(&key, row.key->bytes, sizeof(key));
		memcpy(name, key.name, NF_DEVICE_NAME);
		if (key.netns)
			snprintf(netns, sizeof(netns), "%" PRIu32, key.netns);
		metrics_labels(text, key.named ? name : unnamed, netns, outcome);
		metrics_count(text, row.values[value]);
	}
	if (!metrics_series_group(series, 0, &group))
		return;
	metrics_labels(text, METRICS_OTHER, METRICS_OTHER, outcome);
	metrics_count(text, group.other[value]);
}

void metrics_write_napi(struct metrics_text *text, const struct metrics *metrics)
{
	static const struct {
		enum metrics_family_id family;
		int value;
	} rows[] = {{METRICS_NAPI_POLLS, POLLS},
		    {METRICS_NAPI_PACKETS, POLL_PACKETS},
		    {METRICS_NAPI_FULL_BUDGETS, FULL_BUDGETS}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		metrics_family(text, rows[i].family);
		write_value(text, metrics->napi, rows[i].value, BACKLOG, NULL);
	}
	metrics_one(text, METRICS_NAPI_OTHER_DEVICES, metrics_series_others(metrics->napi));
}

void metrics_write_traffic(struct metrics_text *text, const struct metrics *metrics)
{
	metrics_family(text, METRICS_DEVICE_PACKETS);
	write_value(text, metrics->traffic, TRAFFIC_RX_PACKETS, "", "received");
	write_value(text, metrics->traffic, TRAFFIC_TX_PACKETS, "", "sent");
	metrics_family(text, METRICS_DEVICE_BYTES);
	write_value(text, metrics->traffic, TRAFFIC_RX_BYTES, "", "received");
	write_value(text, metrics->traffic, TRAFFIC_TX_BYTES, "", "sent");
	metrics_one(text, METRICS_DEVICE_OTHERS, metrics_series_others(metrics->traffic));
}

void metrics_write_slots(struct metrics_text *text, const struct metrics *metrics)
{
	static const char *const outcomes[NF_SLOTS_OUTCOMES] = {
		[NF_SLOTS_SENT] = "sent",	[NF_SLOTS_LINEARIZED] = "linearized",
		[NF_SLOTS_DROPPED] = "dropped", [NF_SLOTS_REQUEUED] = "requeued",
		[NF_SLOTS_UNSEEN] = "unseen",
	};

	metrics_family(text, METRICS_SLOTS_TRANSMITS);
	write_value(text, metrics->slots, TRANSMITS, "", NULL);
	metrics_family(text, METRICS_SLOTS_NEAR_MISSES);
	write_value(text, metrics->slots, NEAR_MISSES, "", NULL);
	metrics_family(text, METRICS_SLOTS_OVERFLOWS);
	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		write_value(text, metrics->slots, OUTCOMES + i, "", outcomes[i]);
	metrics_family(text, METRICS_SLOTS_TOO_BIG);
	write_value(text, metrics->slots, TOO_BIG, "", NULL);
	metrics_one(text, METRICS_SLOTS_OTHER_DEVICES, metrics_series_others(metrics->slots));
}
