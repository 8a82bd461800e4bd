/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latency of an interval by device.  The busiest devices have rows of their own.  Devices that lose their slot move
 * their counts to a group, so all that is not in those rows is what they leave of the sum of all devices.
 *
 * Rows of the devices are tied to what the kernel counted of them, see tie.h; the sum of all devices is, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/time.h"
#include "daemon/core/device.h"
#include "daemon/core/stages.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect.h"
#include "daemon/history/collect_internal.h"
#include "daemon/history/tie.h"

/* Groups have a key of their own, so that the numbers of the keys are those of the rows. */
static struct keymap_key key_of(const struct reading *reading, size_t i)
{
	struct backend_device device;

	reading_device(reading, i, &device);
	return (struct keymap_key){
		.word = {NF_DEVICE_KEY(device.netns, device.ifindex), device.group,
			 device.group && device.kind ? hash_text(0, device.kind) : 0,
			 device.group ? i : 0, device.identity}};
}

struct candidate {
	size_t row;
	uint64_t packets;
};

static int by_packets(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->packets > y->packets ? -1 : x->packets < y->packets;
}

static uint64_t grown(const struct collect *run, const struct reading *base,
		      const struct reading *now, size_t i)
{
	const struct keymap_key key = key_of(now, i);
	uint64_t count = reading_worst(now, i)->count;
	size_t old;

	if (collect_find(run, &key, &old) && base && old < reading_count(base))
		return collect_growth(reading_worst(base, old)->count, count);
	return count;
}

/* Choose the rows of the busiest devices. */
static int choose(struct collect *run, const struct reading *base, const struct reading *now)
{
	size_t count = reading_count(now), kept = 0;
	struct candidate *all = calloc(count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (reading_device_name(now, i))
			all[kept++] = (struct candidate){i, grown(run, base, now, i)};
	if (kept > COLLECT_DEVICES) {
		qsort(all, kept, sizeof(*all), by_packets);
		kept = COLLECT_DEVICES;
	}
	run->device = calloc(kept + 1, sizeof(*run->device));
	if (run->device)
		for (size_t i = 0; i < kept; i++)
			run->device[i] = all[i].row;
	run->devices = kept;
	free(all);
	return run->device ? 0 : -ENOMEM;
}

static int begin(struct collect *run, const struct reading *base, const struct reading *now)
{
	run->own = calloc(NF_SEGMENT_COUNT, sizeof(*run->own));
	run->tied = calloc(NF_SEGMENT_COUNT, sizeof(*run->tied));
	if (!run->own || !run->tied)
		return -ENOMEM;
	for (size_t i = 0; base && i < reading_count(base); i++) {
		const struct keymap_key key = key_of(base, i);

		if (collect_note(run, &key, i) < 0)
			return -ENOMEM;
	}
	return choose(run, base, now);
}

/* ---- tied to the kernel's count ------------------------------------------------------ */

/* What a reading takes at least. */
#define READING_NS UINT64_C(2000000)

/* How far the readings of both numbers are apart. */
static uint64_t skew(const struct reading *devices, const struct reading *traffic)
{
	uint64_t a = reading_time(devices), b = reading_time(traffic);

	return (a > b ? a - b : b - a) + READING_NS;
}

static uint64_t undrawn_until(const struct reading *counters)
{
	return reading_counters(counters)->host.unseen.undrawn;
}

/* False: the device's weights cannot be tied. */
static bool find_tie(const struct collect *run, const struct backend_device *before,
		     const struct backend_device *device, struct tie *tie)
{
	const struct reading *const *base = run->sources.base->reading, *const *now = run->reading;
	struct tie_sums *interval = &tie->interval, *all = &tie->all;

	/* Of other kinds, the driver may count others than netflowd sees. */
	if (!device->received || !device->kind || !base[READING_DEVICES] ||
	    !base[READING_COUNTERS] ||
	    (strcmp(device->kind, "veth") != 0 && strcmp(device->kind, "loopback") != 0) ||
	    !collect_received(run, device, &interval->counted, &all->counted))
		return false;
	tie->ns = reading_time(now[READING_DEVICES]) - reading_time(base[READING_DEVICES]);
	tie->skew_ns = skew(now[READING_DEVICES], now[READING_TRAFFIC]) +
		       skew(base[READING_DEVICES], base[READING_TRAFFIC]);
	all->weights = device->received;
	all->variance = device->received_variance;
	all->unseen = undrawn_until(now[READING_COUNTERS]);
	interval->weights = collect_growth(before->received, device->received);
	interval->variance = collect_growth(before->received_variance, device->received_variance);
	interval->unseen = all->unseen - undrawn_until(base[READING_COUNTERS]);
	return tie_holds(tie);
}

static void tie_segment(struct collect *run, const struct tie *tie, unsigned int segment,
			uint64_t value[LATENCY_VALUES])
{
	uint64_t drawn[LATENCY_VALUES];

	if (strcmp(segment_histograms[segment].direction, "rx") != 0)
		return;
	memcpy(drawn, value, sizeof(drawn));
	tie_latency(tie, value);
	for (unsigned int i = LATENCY_SUM_NS; i < LATENCY_VALUES; i++)
		run->tied[segment][i] += (int64_t)(value[i] - drawn[i]);
}

/* ---- the rows ------------------------------------------------------------------------ */

static int add_segment(struct collect *run, const struct reading *base, size_t old,
		       const struct reading *now, size_t row, unsigned int segment,
		       const struct tie *tie)
{
	struct nf_hist before = {0}, after;
	uint64_t value[LATENCY_VALUES];
	struct backend_device info;
	struct series *series;

	reading_segment(now, row, (enum nf_segment)segment, &after);
	if (base)
		reading_segment(base, old, (enum nf_segment)segment, &before);
	collect_hist(&before, &after, value);
	if (!value[LATENCY_MAX_NS] && !value[LATENCY_SUM_NS])
		return 0;
	vector_merge(run->own[segment], value, LATENCY_VALUES);
	if (tie)
		tie_segment(run, tie, segment, value);
	reading_device(now, row, &info);
	series = series_of_device(run->sources.names, segment,
				  &(struct device){.name = reading_device_name(now, row),
						   .ifindex = info.ifindex,
						   .netns = info.netns,
						   .identity = info.identity});
	return series ? batch_add(run->batch, series, value) : -ENOMEM;
}

static int add_device(struct collect *run, const struct reading *base, const struct reading *now,
		      size_t row)
{
	const struct keymap_key key = key_of(now, row);
	size_t old = 0;
	bool known = base && collect_find(run, &key, &old) && old < reading_count(base), tied;
	struct backend_device device, before = {0};
	struct tie tie;
	int r = 0;

	reading_device(now, row, &device);
	if (known)
		reading_device(base, old, &before);
	tied = find_tie(run, &before, &device, &tie);
	for (unsigned int i = 0; i < NF_SEGMENT_COUNT && r == 0; i++)
		r = add_segment(run, known ? base : NULL, old, now, row, i, tied ? &tie : NULL);
	return r;
}

/* What the rows of single devices leave of all. */
static int add_others(struct collect *run, const struct reading *base, const struct reading *now)
{
	static const struct nf_hist none;
	int r = 0;

	for (unsigned int i = 0; i < NF_SEGMENT_COUNT && r == 0; i++) {
		const struct nf_hist *before =
			base ? reading_all_devices(base, (enum nf_segment)i) : &none;
		uint64_t value[LATENCY_VALUES], any = 0;
		struct series *series;

		collect_hist(before, reading_all_devices(now, (enum nf_segment)i), value);
		for (unsigned int j = LATENCY_SUM_NS; j < LATENCY_VALUES; j++) {
			uint64_t own = run->own[i][j];

			value[j] = value[j] > own ? value[j] - own : 0;
			any |= j >= LATENCY_BUCKET && j < LATENCY_UNFOLLOWED ? value[j] : 0;
		}
		if (!any)
			continue;
		series = series_of_device(run->sources.names, i, NULL);
		r = series ? batch_add(run->batch, series, value) : -ENOMEM;
	}
	return r;
}

int collect_devices(struct collect *run, uint64_t deadline_ns)
{
	const struct reading *base = run->sources.base->reading[READING_DEVICES];
	const struct reading *now = run->reading[READING_DEVICES];
	int r = 0;

	if (!run->at)
		r = begin(run, base, now);
	while (r == 0 && run->at < run->devices) {
		r = add_device(run, base, now, run->device[run->at++]);
		if (r == 0 && run->at < run->devices && time_monotonic() >= deadline_ns)
			return 1;
	}
	if (r == 0)
		r = add_others(run, base, now);
	keymap_clear(&run->base_rows);
	return r;
}

/* ---- all devices --------------------------------------------------------------------- */

static void add_tied(const struct collect *run, unsigned int segment, uint64_t *value)
{
	for (unsigned int i = LATENCY_SUM_NS; i < LATENCY_VALUES; i++) {
		int64_t more = run->tied[segment][i];

		value[i] = more < 0 && (uint64_t)-more > value[i] ? 0 : value[i] + (uint64_t)more;
	}
}

int collect_segments(struct collect *run)
{
	static const struct nf_hist none;
	const struct reading *base = run->sources.base->reading[READING_DEVICES];
	const struct reading *now = run->reading[READING_DEVICES];
	uint64_t value[LATENCY_VALUES];
	int r = 0;

	for (unsigned int i = 0; i < NF_SEGMENT_COUNT && r == 0; i++) {
		struct series *series;

		collect_hist(base ? reading_all_devices(base, (enum nf_segment)i) : &none,
			     reading_all_devices(now, (enum nf_segment)i), value);
		if (!value[LATENCY_MAX_NS] && !value[LATENCY_SUM_NS])
			continue;
		add_tied(run, i, value);
		series = series_of_segment(run->sources.names, i);
		r = series ? batch_add(run->batch, series, value) : -ENOMEM;
	}
	return r;
}
