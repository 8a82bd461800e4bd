/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The growth between readings: whatever keys fold and come again, and whatever devices lose their slots, the sums of
 * all intervals are what was counted.  Random, with a model that knows the numbers; the seed is fixed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/drop_sums.h"
#include "daemon/core/names.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect_internal.h"
#include "daemon/history/series_name.h"
#include "daemon/probe/absent.h"
#include "daemon/process/loop.h"
#include "daemon/rows/drop_row.h"
#include "tests/unit/test.h"

#define KEYS 40
#define REASONS 4
#define LOCATIONS 3
#define DEVICES 6
#define ROUNDS 400

/* ---- a backend whose counters the test knows ------------------------------------- */

static struct drop_sums *sums;

/* Latency of each device; `gone` counts what devices without a slot had. */
static struct backend_device device[DEVICES], gone;
static bool has_slot[DEVICES];

static int visit_sum(const struct drop_sum *sum, void *userdata)
{
	struct {
		int (*visit)(const struct backend_drops *, void *);
		void *userdata;
	} *to = userdata;
	struct backend_drops drops = {.key = sum->key,
				      .netns = sum->netns,
				      .packets = sum->count.packets,
				      .segments = sum->count.segments,
				      .bytes = sum->count.bytes,
				      .last_ns = sum->count.last_ns,
				      .gone = sum->gone};

	/* All rows in one walk. */
	to->visit(&drops, to->userdata);
	return 0;
}

static int drops(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_drops *, void *), void *userdata)
{
	struct {
		int (*visit)(const struct backend_drops *, void *);
		void *userdata;
	} to = {visit, userdata};

	(void)backend;
	(void)cursor;
	return drop_sums_visit(sums, visit_sum, &to);
}

static int devices(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_device *, void *), void *userdata)
{
	(void)backend;
	(void)cursor;
	visit(&gone, userdata);
	for (int i = 0; i < DEVICES; i++)
		if (has_slot[i])
			visit(&device[i], userdata);
	return 0;
}

static uint32_t cpus(const struct backend *backend)
{
	(void)backend;
	return 1;
}

static void probe(const struct backend *backend, enum nf_probe i, struct probe_status *status)
{
	(void)backend;
	(void)i;
	*status = (struct probe_status){0};
}

static const char *reasons_missing(const struct backend *backend)
{
	(void)backend;
	return NULL;
}

static const struct backend_ops ops = {
	.name = "fake",
	.events = absent_events,
	.most_drawn = absent_most_drawn,
	.streams = absent_streams,
	.cpus = cpus,
	.slots_events = absent_slots_events,
	.probe = probe,
	.softirq_wait = absent_softirq_wait,
	.devices = devices,
	.napi = absent_napi,
	.slots = absent_slots,
	.drops = drops,
	.reasons_missing = reasons_missing,
};

/* ---- the fixture -------------------------------------------------------------------- */

static struct backend backend = {.ops = &ops};
static struct loop *loop;
static struct readings *readings;
static struct names *names;
static struct records *records;
static struct series_names *series;
static struct collect_base base;

static int set_up(void **state)
{
	const size_t capacity[RECORDS_KINDS] = {1, 1, 1};
	struct records_sources sources = {0};
	struct series_sources of = {.backend = &backend};

	(void)state;
	base = (struct collect_base){0};
	memset(device, 0, sizeof(device));
	memset(&gone, 0, sizeof(gone));
	gone = (struct backend_device){.group = true, .kind = "other"};
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(readings_new(&readings, loop, &backend), 0);
	assert_int_equal(names_new(&names), 0);
	sources.names = names;
	assert_int_equal(records_new(&records, capacity, &sources), 0);
	of.records = records;
	assert_int_equal(series_names_new(&series, &of), 0);
	/* So few keys that most fold. */
	assert_int_equal(drop_sums_new(&sums, 12), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int part = 0; part < READING_PARTS; part++)
		reading_release(&base.reading[part]);
	series_names_free(&series);
	records_free(&records);
	names_free(&names);
	readings_free(&readings);
	loop_free(&loop);
	drop_sums_free(&sums);
	return 0;
}

EACH_TEST(set_up, tear_down);

/* Take a reading, and collect what came since the one before. */
static struct batch *collect(void)
{
	const struct collect_sources sources = {
		.base = &base, .readings = readings, .names = series, .records = records};
	struct collect *run = NULL;
	struct batch *batch;
	int r;

	assert_int_equal(readings_take(readings, READING_BIT(COUNTERS) | READING_BIT(DROPS) |
							 READING_BIT(DEVICES) | READING_BIT(NAPI) |
							 READING_BIT(SLOTS)),
			 0);
	assert_int_equal(collect_new(&run, &sources), 0);
	/* In the smallest slices. */
	while ((r = collect_step(run, 0)) > 0)
		;
	assert_int_equal(r, 0);
	for (int part = 0; part < READING_PARTS; part++) {
		const struct reading *fresh = collect_reading(run, part);

		reading_release(&base.reading[part]);
		if (fresh)
			base.reading[part] = reading_hold(fresh);
	}
	batch = collect_take(run);
	collect_free(&run);
	return batch;
}

/* ---- drops ------------------------------------------------------------------------------ */

static void drop(unsigned int key, uint64_t packets, uint64_t now)
{
	struct drop_sum sum = {.key = {.reason = 2 + key % REASONS,
				       .location = 0x1000 + key % LOCATIONS,
				       .netns = 1 + key,
				       .device = key,
				       .protocol = 0x800},
			       .netns = 100 + key,
			       .count = {packets, 2 * packets, 100 * packets, now}};

	drop_sums_begin(sums);
	assert_int_equal(drop_sums_reserve(sums, 1), 0);
	drop_sums_keep(sums, &sum);
}

TEST(test_drops_that_fold)
{
	uint64_t truth[REASONS][LOCATIONS] = {0}, found[REASONS][LOCATIONS] = {0};
	bool folded = false;

	srandom(4217);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct batch *batch;

		for (long i = random() % 20; i > 0; i--) {
			/* Some keys come again and again, the others now and then. */
			unsigned int key =
				(unsigned int)(random() % 3 ? random() % 5 : random() % KEYS);
			uint64_t packets = 1 + (uint64_t)random() % 1000;

			drop(key, packets, round * 1000000);
			truth[key % REASONS][key % LOCATIONS] += packets;
		}
		drop_sums_begin(sums);
		folded |= drop_sums_fold(sums) > 0;
		batch = collect();
		for (size_t i = 0; i < batch->rows; i++) {
			const struct batch_row *row = &batch->row[i];
			uint64_t value[DROPS_VALUES] = {0}, reason, location;
			struct drop_row drops = {0};

			if (row->series->kind != HISTORY_DROPS)
				continue;
			assert_int_equal(
				vector_add(value, DROPS_VALUES, batch->bytes + row->at, row->size),
				0);
			assert_int_equal(series_name_decode_drops(&drops, row->series->name,
								  row->series->size),
					 0);
			reason = drops.key.reason_number;
			location = strtoull(drops.key.location ? drops.key.location : "", NULL, 0);
			assert_in_range(reason, 2, 1 + REASONS);
			assert_in_range(location, 0x1000, 0x1000 + LOCATIONS - 1);
			found[reason - 2][location - 0x1000] += value[DROPS_PACKETS];
			assert_int_equal(value[DROPS_SEGMENTS], 2 * value[DROPS_PACKETS]);
			assert_int_equal(value[DROPS_BYTES], 100 * value[DROPS_PACKETS]);
		}
		batch_free(&batch);
		/* After every round, not only at the end. */
		assert_memory_equal(truth, found, sizeof(truth));
	}
	assert_true(folded);
}

/* ---- latency ------------------------------------------------------------------------------ */

static void wait_on(int i, unsigned int bucket, uint64_t ns)
{
	struct backend_device *to = has_slot[i] ? &device[i] : &gone;
	struct nf_hist *hist = &to->segment[NF_SEGMENT_TX_TOTAL];

	hist->bucket[bucket]++;
	hist->sum_ns += ns;
	if (ns > hist->max_ns)
		hist->max_ns = ns;
	to->used = 1U << NF_SEGMENT_TX_TOTAL;
}

/* The device's counts move to the group, and its slot is free. */
static void lose_slot(int i)
{
	struct nf_hist *from = &device[i].segment[NF_SEGMENT_TX_TOTAL];
	struct nf_hist *to = &gone.segment[NF_SEGMENT_TX_TOTAL];

	for (unsigned int b = 0; b < NF_HIST_BUCKETS; b++)
		to->bucket[b] += from->bucket[b];
	to->sum_ns += from->sum_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	gone.used = 1U << NF_SEGMENT_TX_TOTAL;
	memset(from, 0, sizeof(*from));
	has_slot[i] = false;
}

TEST(test_devices_that_lose_their_slot)
{
	uint64_t truth[NF_HIST_BUCKETS] = {0}, all[LATENCY_VALUES] = {0},
		 rows[LATENCY_VALUES] = {0};
	uint64_t sum = 0, longest = 0;
	static char name[DEVICES][8];

	srandom(4217);
	for (int i = 0; i < DEVICES; i++) {
		snprintf(name[i], sizeof(name[i]), "d%d", i);
		device[i].name = name[i];
		device[i].ifindex = (uint32_t)i + 1;
		device[i].netns = 7;
		has_slot[i] = true;
	}
	for (int round = 0; round < ROUNDS; round++) {
		struct batch *batch;

		for (long n = random() % 30; n > 0; n--) {
			unsigned int bucket = (unsigned int)(20 + random() % 40);
			uint64_t ns = (uint64_t)random() % 1000000;

			wait_on((int)(random() % DEVICES), bucket, ns);
			truth[bucket]++;
			sum += ns;
			if (ns > longest)
				longest = ns;
		}
		if (random() % 4 == 0) {
			int i = (int)(random() % DEVICES);

			if (has_slot[i])
				lose_slot(i);
			else
				has_slot[i] = true;
		}
		batch = collect();
		for (size_t i = 0; i < batch->rows; i++) {
			const struct batch_row *row = &batch->row[i];
			int kind = row->series->kind;

			if (kind == HISTORY_LATENCY || kind == HISTORY_DEVICE)
				assert_int_equal(vector_add(kind == HISTORY_LATENCY ? all : rows,
							    LATENCY_VALUES, batch->bytes + row->at,
							    row->size),
						 0);
		}
		batch_free(&batch);
		assert_memory_equal(truth, all + LATENCY_BUCKET, sizeof(truth));
		assert_memory_equal(truth, rows + LATENCY_BUCKET, sizeof(truth));
		assert_int_equal(all[LATENCY_SUM_NS], sum);
	}
	assert_int_equal(all[LATENCY_MAX_NS], longest);
}

/* The kernel soon gives the number of a namespace to another one, whose devices have the same numbers and names. */
TEST(test_numbers_that_are_used_again)
{
	uint64_t truth[DEVICES][NF_HIST_BUCKETS] = {{0}}, *own;
	uint64_t found[LATENCY_VALUES], same[LATENCY_VALUES] = {0}, last[LATENCY_VALUES] = {0};
	static char name[DEVICES][8];

	srandom(4217);
	for (int i = 0; i < DEVICES; i++) {
		snprintf(name[i], sizeof(name[i]), "d%d", i / 2);
		device[i].name = name[i];
		device[i].ifindex = (uint32_t)i / 2 + 1;
		device[i].netns = 7;
		device[i].identity = (uint64_t)i + 1;
		has_slot[i] = true;
	}
	for (int round = 0; round < ROUNDS; round++) {
		struct batch *batch;

		for (long n = random() % 30; n > 0; n--) {
			int i = (int)(random() % DEVICES);
			unsigned int bucket = (unsigned int)(20 + random() % 40);

			wait_on(i, bucket, 100);
			truth[i][bucket]++;
		}
		batch = collect();
		for (size_t i = 0; i < batch->rows; i++) {
			const struct batch_row *row = &batch->row[i];
			struct series_name of = {0};

			if (row->series->kind != HISTORY_DEVICE)
				continue;
			memset(found, 0, sizeof(found));
			assert_int_equal(vector_add(found, LATENCY_VALUES, batch->bytes + row->at,
						    row->size),
					 0);
			assert_int_equal(
				series_name_decode(&of, row->series->name, row->series->size), 0);
			if (of.device.name && !strcmp(of.device.name, "d0"))
				vector_merge(same, found, LATENCY_VALUES);
			else if (of.device.name && !strcmp(of.device.name, name[DEVICES - 1]))
				vector_merge(last, found, LATENCY_VALUES);
		}
		batch_free(&batch);
		own = truth[0];
		for (int b = 0; b < NF_HIST_BUCKETS; b++)
			assert_int_equal(same[LATENCY_BUCKET + b], own[b] + truth[1][b]);
		own = truth[DEVICES - 1];
		for (int b = 0; b < NF_HIST_BUCKETS; b++)
			assert_int_equal(last[LATENCY_BUCKET + b],
					 own[b] + (DEVICES % 2 ? 0 : truth[DEVICES - 2][b]));
	}
}
