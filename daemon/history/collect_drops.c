/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The drops of an interval by key.  When keys fold, their counts move to a sum by reason, location and evidence, or by
 * reason.
 * So what a sum of all rows grew by is exact, and what the keys' own growth leaves of it belongs to keys that are gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect_internal.h"

/* The key of trace events has no device: only the identity distinguishes the rows of two devices. */
static struct keymap_key row_key(const struct backend_drops *drops)
{
	struct keymap_key key = {
		.word = {drops->unkeyed | (uint64_t)drops->gone << 1, drops->identity}};

	memcpy(&key.word[2], &drops->key, sizeof(drops->key));
	return key;
}

static struct collect_total *total_of(struct collect *run, const struct nf_drop_key *of)
{
	const struct keymap_key key = {.word = {of->reason, of->location, of->evidence}};
	size_t before = run->totals.count, number;

	if (ARRAY_GROW(run->total, before, run->totals_room) < 0 ||
	    keymap_add(&run->totals, &key, &number) < 0)
		return NULL;
	if (run->totals.count > before)
		run->total[number] = (struct collect_total){0};
	return &run->total[number];
}

static void get_counts(const struct backend_drops *drops, uint64_t count[static 3])
{
	count[0] = drops->packets;
	count[1] = drops->segments;
	count[2] = drops->bytes;
}

/* Index the rows of the base, and sum up both readings. */
static int begin(struct collect *run, const struct reading *base, const struct reading *now)
{
	for (size_t i = 0; base && i < reading_count(base); i++) {
		const struct backend_drops *drops = reading_drops(base, i);
		struct collect_total *total = total_of(run, &drops->key);
		const struct keymap_key key = row_key(drops);
		uint64_t count[3];

		/* Numbers are those of the rows, so sums that folded have a key, too. */
		if (!total || collect_note(run, &key, i) < 0)
			return -ENOMEM;
		get_counts(drops, count);
		for (int j = 0; j < 3; j++)
			total->before[j] += count[j];
	}
	for (size_t i = 0; i < reading_count(now); i++) {
		const struct backend_drops *drops = reading_drops(now, i);
		struct collect_total *total = total_of(run, &drops->key);
		uint64_t count[3];

		if (!total)
			return -ENOMEM;
		get_counts(drops, count);
		for (int j = 0; j < 3; j++)
			total->now[j] += count[j];
		if (drops->last_ns > total->last_ns)
			total->last_ns = drops->last_ns;
	}
	return 0;
}

static int add(struct collect *run, struct series *series, const uint64_t count[static 3],
	       uint64_t last_ns, bool unmeasured)
{
	const uint64_t value[DROPS_VALUES] = {
		[DROPS_LAST_US] = last_ns ? time_realtime_of(last_ns) / 1000 : 0,
		[DROPS_PACKETS] = count[0],
		[DROPS_SEGMENTS] = count[1],
		[DROPS_BYTES] = count[2],
		[DROPS_UNMEASURED] = unmeasured ? count[0] : 0,
	};

	return series ? batch_add(run->batch, series, value) : -ENOMEM;
}

static int add_row(struct collect *run, const struct reading *base,
		   const struct backend_drops *drops)
{
	const struct keymap_key key = row_key(drops);
	uint64_t before[3] = {0}, count[3];
	struct collect_total *total;
	size_t number;

	if (drops->gone)
		return 0;
	get_counts(drops, count);
	if (collect_find(run, &key, &number) && number < reading_count(base))
		get_counts(reading_drops(base, number), before);
	/* The key had folded, and came again. */
	if (before[0] > count[0])
		memset(before, 0, sizeof(before));
	for (int i = 0; i < 3; i++)
		count[i] = collect_growth(before[i], count[i]);
	if (!count[0])
		return 0;
	total = total_of(run, &drops->key);
	if (!total)
		return -ENOMEM;
	for (int i = 0; i < 3; i++)
		total->own[i] += count[i];
	return add(run, series_of_drops(run->sources.names, drops), count, drops->last_ns,
		   drops->unmeasured);
}

/*
 * What is left of each reason and location.  Below 0, keys have folded into the sum of their reason, which has so much
 * more; `rest` is what that sum keeps.
 */
static int64_t rest_of(const struct collect_total *total, int i)
{
	return (int64_t)(total->now[i] - total->before[i] - total->own[i]);
}

/* The sum of a reason, without a location, takes what its locations have too much. */
static int settle(struct collect *run)
{
	for (size_t i = 0, count = run->totals.count; i < count; i++) {
		const struct nf_drop_key of = {.reason = (uint32_t)run->totals.key[i].word[0],
					       .evidence = run->totals.key[i].word[2] &
							   NF_EVIDENCE_MESSAGE};
		struct collect_total *any;

		if (!run->totals.key[i].word[1] || rest_of(&run->total[i], 0) >= 0)
			continue;
		any = total_of(run, &of);
		if (!any)
			return -ENOMEM;
		for (int j = 0; j < 3; j++) {
			any->now[j] += (uint64_t)rest_of(&run->total[i], j);
			run->total[i].now[j] = run->total[i].before[j] + run->total[i].own[j];
		}
	}
	return 0;
}

static int add_rests(struct collect *run)
{
	int r = settle(run);

	for (size_t i = 0; i < run->totals.count && r == 0; i++) {
		const struct keymap_key key = run->totals.key[i];
		const struct nf_drop_key of = {.reason = (uint32_t)key.word[0],
					       .location = key.word[1],
					       .evidence = key.word[2]};
		const struct collect_total *total = &run->total[i];
		uint64_t count[3];

		for (int j = 0; j < 3; j++)
			count[j] = rest_of(total, j) > 0 ? (uint64_t)rest_of(total, j) : 0;
		if (count[0])
			r = add(run, series_of_gone(run->sources.names, &of), count, total->last_ns,
				false);
	}
	return r;
}

int collect_drops(struct collect *run, uint64_t deadline_ns)
{
	const struct reading *base = run->sources.base->reading[READING_DROPS];
	const struct reading *now = run->reading[READING_DROPS];
	int r = 0;

	if (!run->at)
		r = begin(run, base, now);
	while (r == 0 && run->at < reading_count(now)) {
		r = add_row(run, base, reading_drops(now, run->at++));
		if (r == 0 && run->at < reading_count(now) && time_monotonic() >= deadline_ns)
			return 1;
	}
	if (r == 0)
		r = add_rests(run);
	keymap_clear(&run->base_rows);
	return r;
}
