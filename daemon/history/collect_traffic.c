/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel counted on each device in an interval.  The busiest devices have rows of their own, all others one
 * together.  What the interval cannot have is what a device counted between its last reading and its deletion.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/time.h"
#include "daemon/core/device.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect.h"
#include "daemon/history/collect_internal.h"

_Static_assert(COUNTED_VALUES - COUNTED_FIRST == TRAFFIC_VALUES, "all values have a place");

struct grown {
	const struct traffic_device *device;
	uint64_t value[COUNTED_VALUES];
};

static int by_packets(const void *a, const void *b)
{
	const uint64_t *x = ((const struct grown *)a)->value + COUNTED_FIRST;
	const uint64_t *y = ((const struct grown *)b)->value + COUNTED_FIRST;
	uint64_t m = x[TRAFFIC_RX_PACKETS] + x[TRAFFIC_TX_PACKETS];
	uint64_t n = y[TRAFFIC_RX_PACKETS] + y[TRAFFIC_TX_PACKETS];

	return m > n ? -1 : m < n;
}

/* The device at the begin of the interval; NULL: it was not there. */
static const struct traffic_device *find_before(const struct reading *base,
						const struct traffic_device *device)
{
	const struct traffic_list *list = base ? reading_traffic(base) : NULL;
	const struct traffic_device *same;

	if (!list || device->since_ns > list->time_ns)
		return NULL;
	same = traffic_find(list, device->netns, device->name);
	if (same && same->id == device->id)
		return same;
	/* It was renamed since. */
	for (size_t i = 0; i < list->count; i++)
		if (list->at[i].id == device->id)
			return &list->at[i];
	return NULL;
}

/* False: the device has not counted anything. */
static bool grow(const struct reading *base, const struct traffic_device *device, uint64_t *value)
{
	const struct traffic_device *before = find_before(base, device);
	uint64_t any = 0;

	for (int i = 0; i < TRAFFIC_VALUES; i++)
		any |= value[COUNTED_FIRST + i] = device->sum[i] - (before ? before->sum[i] : 0);
	return any;
}

bool collect_received(const struct collect *run, const struct backend_device *device,
		      uint64_t *packets, uint64_t *all)
{
	const struct reading *base = run->sources.base->reading[READING_TRAFFIC];
	const struct reading *now = run->reading[READING_TRAFFIC];
	const struct traffic_device *counted, *before;

	if (!base || !now)
		return false;
	counted = traffic_find(reading_traffic(now), device->netns, device->name);
	/* The ifindex is known in the own namespace only. */
	if (!counted || (counted->ifindex && counted->ifindex != device->ifindex))
		return false;
	before = find_before(base, counted);
	*all = counted->sum[TRAFFIC_RX_PACKETS];
	*packets = *all - (before ? before->sum[TRAFFIC_RX_PACKETS] : 0);
	return true;
}

static int add_row(struct collect *run, const struct grown *grown)
{
	const struct traffic_device *device = grown->device;
	const struct device of = {.name = device->name,
				  .ifindex = device->ifindex,
				  .netns = device->netns,
				  .identity = device->id};
	struct series *series = series_of_traffic(run->sources.names, &of);

	return series ? batch_add(run->batch, series, grown->value) : -ENOMEM;
}

static int add_rows(struct collect *run, struct grown *grown, size_t count)
{
	uint64_t others[COUNTED_VALUES] = {0};
	struct series *series;
	int r = 0;

	if (count > COLLECT_TRAFFIC)
		qsort(grown, count, sizeof(*grown), by_packets);
	for (size_t i = 0; i < count && r == 0; i++)
		if (i < COLLECT_TRAFFIC)
			r = add_row(run, &grown[i]);
		else
			vector_merge(others, grown[i].value, COUNTED_VALUES);
	if (r < 0 || count <= COLLECT_TRAFFIC)
		return r;
	series = series_of_traffic(run->sources.names, NULL);
	return series ? batch_add(run->batch, series, others) : -ENOMEM;
}

int collect_traffic(struct collect *run)
{
	const struct reading *base = run->sources.base->reading[READING_TRAFFIC];
	const struct reading *now = run->reading[READING_TRAFFIC];
	const struct traffic_list *list = now ? reading_traffic(now) : NULL;
	uint64_t time_us = now ? time_realtime_of(reading_time(now)) / 1000 : 0;
	struct grown *grown;
	size_t count = 0;
	int r;

	if (!list || !list->count)
		return 0;
	grown = calloc(list->count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		struct grown *one = &grown[count];

		*one = (struct grown){.device = &list->at[i],
				      .value = {[COUNTED_LAST_US] = time_us}};
		count += grow(base, one->device, one->value);
	}
	r = add_rows(run, grown, count);
	free(grown);
	return r;
}
