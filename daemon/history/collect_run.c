/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/core/device.h"
#include "daemon/core/histogram.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect_internal.h"

/* The parts are read one after the other, and wait for their share of the CPU: the first one may be seconds older. */
static uint64_t seen_ns(const struct collect *run)
{
	uint64_t oldest = run->time_ns;

	/* That of TRAFFIC can be older on purpose, and its rows have their own time. */
	for (int part = 0; part < READING_PARTS; part++)
		if (COLLECT_PARTS & 1U << part && part != READING_TRAFFIC && run->reading[part] &&
		    reading_time(run->reading[part]) < oldest)
			oldest = reading_time(run->reading[part]);
	return oldest;
}

/* A smaller step is one that the kernel reports, or an error of reading two clocks. */
#define STEP_US INT64_C(100000)

/*
 * A clock that was stepped has left the interval at an unknown moment, a few ms ago.  So the interval ends where the
 * clock would be without the step, and the next one begins where it is.
 */
static void set_interval(struct collect *run)
{
	const struct collect_base *base = run->sources.base;
	struct batch *batch = run->batch;

	run->time_us = (int64_t)(time_realtime() / 1000);
	run->clock_us = time_clock() / 1000;
	batch->first = !base->reading[READING_DROPS];
	batch->from_us = base->time_us;
	batch->to_us = run->time_us;
	batch->boot = run->sources.boot;
	batch->clock_us = run->clock_us;
	if (run->sources.stepped || llabs(run->clock_us - base->clock_us) > STEP_US) {
		batch->to_us = base->time_us + (int64_t)((run->time_ns - base->time_ns) / 1000);
		batch->clock_us = base->clock_us;
		batch->step_us = run->clock_us - base->clock_us;
	}
	/* A small step back that the kernel has not reported. */
	if (batch->from_us > batch->to_us)
		batch->from_us = batch->to_us;
}

int collect_new(struct collect **run, const struct collect_sources *sources)
{
	struct collect *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->sources = *sources;
	fresh->time_ns = time_monotonic();
	for (int part = 0; part < READING_PARTS; part++) {
		const struct reading *latest =
			readings_latest(sources->readings, (enum reading_part)part);

		if (latest)
			fresh->reading[part] = reading_hold(latest);
	}
	for (int kind = 0; kind < RECORDS_KINDS; kind++)
		fresh->records[kind] = records_added(sources->records, (enum record_kind)kind);
	if (batch_new(&fresh->batch) < 0) {
		collect_free(&fresh);
		return -ENOMEM;
	}
	fresh->batch->seen_ns = seen_ns(fresh);
	fresh->batch->seen_us = (int64_t)(time_realtime_of(fresh->batch->seen_ns) / 1000);
	set_interval(fresh);
	*run = fresh;
	return 0;
}

void collect_free(struct collect **run)
{
	struct collect *old = *run;

	if (!old)
		return;
	for (int part = 0; part < READING_PARTS; part++)
		reading_release(&old->reading[part]);
	keymap_clear(&old->base_rows);
	keymap_clear(&old->totals);
	free(old->total);
	free(old->device);
	free(old->own);
	free(old->tied);
	batch_free(&old->batch);
	free(old);
	*run = NULL;
}

struct batch *collect_batch(const struct collect *run)
{
	return run->batch;
}

struct batch *collect_take(struct collect *run)
{
	return TAKE_PTR(run->batch);
}

const struct reading *collect_reading(const struct collect *run, int part)
{
	return run->reading[part];
}

uint64_t collect_time(const struct collect *run)
{
	return run->time_ns;
}

int64_t collect_end(const struct collect *run)
{
	return run->time_us;
}

int64_t collect_clock(const struct collect *run)
{
	return run->clock_us;
}

uint64_t collect_records_end(const struct collect *run, enum record_kind kind)
{
	return run->records[kind];
}

uint64_t collect_left_out(const struct collect *run)
{
	return run->left_out;
}

int collect_note(struct collect *run, const struct keymap_key *key, size_t row)
{
	const struct keymap_key filler = {.word = {UINT64_MAX, row}};
	size_t number;
	int r = keymap_add(&run->base_rows, key, &number);

	/* The numbers of the keys are those of the rows. */
	return r == 0 && number != row ? keymap_add(&run->base_rows, &filler, &number) : r;
}

bool collect_find(const struct collect *run, const struct keymap_key *key, size_t *row)
{
	return keymap_find(&run->base_rows, key, row);
}

/*
 * Two readings do not say how long the longest of the interval was, unless it is the longest of all.  Otherwise it is
 * the end of the highest bucket that grew, at most an eighth too long.
 */
void collect_hist(const struct nf_hist *before, const struct nf_hist *now, uint64_t *value)
{
	uint64_t followed = collect_growth(before->journeys, now->journeys);
	uint64_t highest = 0, count = 0;

	memset(value, 0, LATENCY_VALUES * sizeof(*value));
	value[LATENCY_SUM_NS] = collect_growth(before->sum_ns, now->sum_ns);
	value[LATENCY_VARIANCE] = collect_growth(before->variance, now->variance);
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		uint64_t grown = collect_growth(before->bucket[i], now->bucket[i]);

		value[LATENCY_BUCKET + i] = grown;
		count += grown;
		if (grown)
			highest = histogram_bounds(i).below - 1;
	}
	if (value[LATENCY_VARIANCE] && count > followed)
		value[LATENCY_UNFOLLOWED] = count - followed;
	if (now->max_ns > before->max_ns || highest > now->max_ns)
		highest = highest ? now->max_ns : 0;
	value[LATENCY_MAX_NS] = highest;
}

/* ---- parts with few rows ------------------------------------------------------------- */

static const struct reading *base_of(const struct collect *run, enum reading_part part)
{
	return run->sources.base->reading[part];
}

static int add(struct collect *run, struct series *series, const uint64_t *value)
{
	return series ? batch_add(run->batch, series, value) : -ENOMEM;
}

static int collect_events(struct collect *run)
{
	static const struct reading_counters none;
	const struct reading *base = base_of(run, READING_COUNTERS);
	const struct reading_counters *before = base ? reading_counters(base) : &none;
	const struct reading_counters *now = reading_counters(run->reading[READING_COUNTERS]);
	int r = 0;

	_Static_assert(EVENTS_FIRST + NF_EVENT_COUNT + 1 <= EVENTS_VALUES, "all events fit");
	for (unsigned int probe = 0; probe < NF_PROBE_COUNT && r == 0; probe++) {
		uint64_t value[EVENTS_VALUES] = {0}, any = 0;

		for (unsigned int i = 0; i < NF_EVENT_COUNT; i++)
			any |= value[EVENTS_FIRST + i] =
				collect_growth(before->events[probe][i], now->events[probe][i]);
		/* The last one: runs that the kernel skipped. */
		any |= value[EVENTS_VALUES - 1] =
			collect_growth(before->missed[probe], now->missed[probe]);
		if (any)
			r = add(run, series_of_probe(run->sources.names, probe), value);
	}
	return r;
}

static struct keymap_key napi_key(const struct backend_napi *napi)
{
	return (struct keymap_key){.word = {NF_DEVICE_KEY(napi->netns, napi->ifindex), napi->cpu,
					    !napi->name, napi->identity}};
}

static int collect_napi(struct collect *run)
{
	const struct reading *base = base_of(run, READING_NAPI), *now = run->reading[READING_NAPI];
	size_t number;
	int r = 0;

	for (size_t i = 0; base && i < reading_count(base) && r == 0; i++) {
		const struct keymap_key key = napi_key(reading_napi(base, i));

		r = collect_note(run, &key, i);
	}
	for (size_t i = 0; i < reading_count(now) && r == 0; i++) {
		static const struct backend_napi none;
		const struct backend_napi *row = reading_napi(now, i), *old = &none;
		const struct device device = {.name = row->name,
					      .ifindex = row->ifindex,
					      .netns = row->netns,
					      .identity = row->identity};
		const struct keymap_key key = napi_key(row);
		uint64_t value[NAPI_VALUES] = {0};

		if (collect_find(run, &key, &number) && number < reading_count(base))
			old = reading_napi(base, number);
		/* A device of the same number is another one. */
		if (old->polls > row->polls)
			old = &none;
		value[NAPI_POLLS] = row->polls - old->polls;
		value[NAPI_PACKETS] = collect_growth(old->poll_packets, row->poll_packets);
		value[NAPI_FULL] = collect_growth(old->full_budgets, row->full_budgets);
		if (value[NAPI_POLLS])
			r = add(run, series_of_napi(run->sources.names, &device, row->cpu), value);
	}
	keymap_clear(&run->base_rows);
	return r;
}

static int collect_softirqs(struct collect *run)
{
	static const struct nf_hist none;
	const struct reading *base = base_of(run, READING_NAPI), *now = run->reading[READING_NAPI];
	const struct nf_hist *hist;
	uint64_t value[LATENCY_VALUES];
	int r = 0;

	for (uint32_t cpu = 0; (hist = reading_softirq_wait(now, cpu)) && r == 0; cpu++) {
		const struct nf_hist *before = base ? reading_softirq_wait(base, cpu) : NULL;

		collect_hist(before ? before : &none, hist, value);
		if (value[LATENCY_MAX_NS] || value[LATENCY_SUM_NS])
			r = add(run, series_of_cpu(run->sources.names, cpu), value);
	}
	return r;
}

static int64_t to_realtime_us(uint64_t monotonic_ns)
{
	return (int64_t)(time_realtime_of(monotonic_ns) / 1000);
}

static int collect_slots_row(struct collect *run, const struct backend_slots *old,
			     const struct backend_slots *row)
{
	uint64_t value[SLOTS_VALUES] = {0}, any = 0;

	_Static_assert(SLOTS_VALUES <= VECTOR_MAX, "all fit");
	value[SLOTS_NEAR] = collect_growth(old->near, row->near);
	any |= value[SLOTS_TOO_BIG] = collect_growth(old->too_big, row->too_big);
	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		any |= value[SLOTS_OVERFLOW + i] =
			collect_growth(old->overflow[i], row->overflow[i]);
	for (int i = 0; i < NF_SLOTS_BUCKETS; i++)
		any |= value[SLOTS_BUCKET + i] = collect_growth(old->slots[i], row->slots[i]);
	if (row->last_overflow_ns > old->last_overflow_ns)
		value[SLOTS_LAST_US] = (uint64_t)to_realtime_us(row->last_overflow_ns);
	return any ? add(run, series_of_slots(run->sources.names, row), value) : 0;
}

static struct keymap_key slots_key(const struct backend_slots *slots)
{
	return (struct keymap_key){.word = {NF_DEVICE_KEY(slots->netns, slots->ifindex),
					    !slots->name, slots->xen, slots->identity}};
}

static int collect_slots(struct collect *run)
{
	static const struct backend_slots none;
	const struct reading *base = base_of(run, READING_SLOTS);
	const struct reading *now = run->reading[READING_SLOTS];
	size_t number;
	int r = 0;

	for (size_t i = 0; base && i < reading_count(base) && r == 0; i++) {
		const struct keymap_key key = slots_key(reading_slots(base, i));

		r = collect_note(run, &key, i);
	}
	for (size_t i = 0; i < reading_count(now) && r == 0; i++) {
		const struct backend_slots *row = reading_slots(now, i);
		const struct keymap_key key = slots_key(row);
		bool known = collect_find(run, &key, &number) && number < reading_count(base);

		r = collect_slots_row(run, known ? reading_slots(base, number) : &none, row);
	}
	keymap_clear(&run->base_rows);
	return r;
}

/* A quiet host follows journeys all the time, so that nothing is kept. */
static int collect_seen(struct collect *run)
{
	const struct reading *base = base_of(run, READING_COUNTERS);
	const struct reading_counters *now = reading_counters(run->reading[READING_COUNTERS]);
	const struct reading_counters *before = base ? reading_counters(base) : NULL;
	uint64_t missable = reading_missable(now, before);
	struct reading_unended unended = reading_unended(now, before);
	const uint64_t value[SEEN_VALUES] = {
		[SEEN_LONGEST_NS] = run->sources.unseen.longest_ns,
		[SEEN_UNSEEN_NS] = run->sources.unseen.all_ns,
		[SEEN_UNSEEN_PACKETS] =
			now->host.unseen.packets - (before ? before->host.unseen.packets : 0),
		[SEEN_MISSABLE] = missable * missable,
		[SEEN_DETACHED] = unended.detached,
		[SEEN_OVERWRITTEN] = unended.overwritten,
		[SEEN_MISSED] = unended.missed,
	};

	if (!value[SEEN_UNSEEN_NS] && !missable && !reading_unended_packets(unended))
		return 0;
	return add(run, series_of_seen(run->sources.names), value);
}

/* ---- the steps ------------------------------------------------------------------------ */

static int do_step(struct collect *run, uint64_t deadline_ns)
{
	switch (run->step) {
	case 0:
		return collect_events(run);
	case 1:
		return collect_napi(run);
	case 2:
		return collect_softirqs(run);
	case 3:
		return collect_slots(run);
	case 4:
		return collect_seen(run);
	case 5:
		return collect_traffic(run);
	case 6:
		return collect_devices(run, deadline_ns);
	case 7:
		return collect_segments(run);
	case 8:
		return collect_drops(run, deadline_ns);
	default:
		return collect_records(run, (enum record_kind)(run->step - 9));
	}
}

#define STEPS (9 + RECORDS_KINDS)

int collect_step(struct collect *run, uint64_t deadline_ns)
{
	while (run->step < STEPS) {
		int r = do_step(run, deadline_ns);

		if (r)
			return r;
		run->step++;
		run->at = 0;
		if (run->step < STEPS && time_monotonic() >= deadline_ns)
			return 1;
	}
	return 0;
}
