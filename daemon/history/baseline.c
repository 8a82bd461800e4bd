/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/json.h"
#include "common/map.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/baseline_view.h"
#include "daemon/history/batch.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"

#define US INT64_C(1000000)
#define BUCKET_US (BASELINE_STEP_S * US)

struct counted_cause {
	char *key;
	uint32_t family;
	uint32_t count[BASELINE_BUCKETS]; /* by number of the bucket % BASELINE_BUCKETS */
};

struct family {
	char *key;
	uint32_t causes;
	bool folded; /* it has one cause, whose key is its own */
};

struct baseline {
	int64_t now; /* number of the bucket of the present: seconds since 1970 / BASELINE_STEP_S */
	int64_t seen_us; /* the present */
	uint64_t seen_ns;
	int64_t covered_us[BASELINE_BUCKETS];
	struct counted_cause **cause; /* by number; each is on the heap */
	size_t causes, causes_room;
	struct family *family;
	size_t families, families_room;
	struct map by_key, by_family; /* by their texts */
	bool full;
};

int baseline_new(struct baseline **baseline)
{
	struct baseline *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	*baseline = fresh;
	return 0;
}

static void free_cause(struct counted_cause *cause)
{
	free(cause->key);
	free(cause);
}

void baseline_free(struct baseline **baseline)
{
	struct baseline *old = *baseline;

	*baseline = NULL;
	if (!old)
		return;
	for (size_t i = 0; i < old->causes; i++)
		free_cause(old->cause[i]);
	for (size_t i = 0; i < old->families; i++)
		free(old->family[i].key);
	free(old->cause);
	free(old->family);
	map_clear(&old->by_key);
	map_clear(&old->by_family);
	free(old);
}

/* ---- finding ------------------------------------------------------------------------- */

static bool is_cause(const void *causes, size_t number, const void *key)
{
	return !strcmp(((struct counted_cause *const *)causes)[number]->key, key);
}

static bool is_family(const void *families, size_t number, const void *key)
{
	return !strcmp(((const struct family *)families)[number].key, key);
}

static struct counted_cause *known_cause(const struct baseline *baseline, const char *key)
{
	size_t number;

	return map_find(&baseline->by_key, hash_text(0, key), is_cause, baseline->cause, key,
			&number)
		       ? baseline->cause[number]
		       : NULL;
}

/* ---- folding and forgetting ------------------------------------------------------------ */

static uint64_t total_of(const struct counted_cause *cause)
{
	uint64_t total = 0;

	for (size_t i = 0; i < BASELINE_BUCKETS; i++)
		total += cause->count[i];
	return total;
}

static uint32_t saturated(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void merge(struct counted_cause *into, const struct counted_cause *from)
{
	for (size_t i = 0; i < BASELINE_BUCKETS; i++)
		into->count[i] = saturated((uint64_t)into->count[i] + from->count[i]);
}

/* After causes or families have new numbers, of which there are not more than before: the maps keep their memory. */
static void number_again(struct baseline *baseline)
{
	map_forget(&baseline->by_key);
	map_forget(&baseline->by_family);
	for (size_t i = 0; i < baseline->causes; i++)
		map_add(&baseline->by_key, hash_text(0, baseline->cause[i]->key), i);
	for (size_t i = 0; i < baseline->families; i++)
		map_add(&baseline->by_family, hash_text(0, baseline->family[i].key), i);
}

/* All causes of a family become its first one. */
static int fold(struct baseline *baseline, uint32_t number)
{
	struct family *family = &baseline->family[number];
	char *key = strdup(family->key);
	struct counted_cause *first = NULL;
	size_t kept = 0;

	if (!key)
		return -ENOMEM;
	for (size_t i = 0; i < baseline->causes; i++) {
		struct counted_cause *cause = baseline->cause[i];

		if (cause->family == number && first) {
			merge(first, cause);
			free_cause(cause);
			continue;
		}
		if (cause->family == number)
			first = cause;
		baseline->cause[kept++] = cause;
	}
	baseline->causes = kept;
	family->folded = true;
	family->causes = first ? 1 : 0;
	if (first) {
		free(first->key);
		first->key = key;
	} else {
		free(key);
	}
	number_again(baseline);
	return 0;
}

/* The family with the most causes; false: none has two. */
static bool largest_family(const struct baseline *baseline, uint32_t *number)
{
	uint32_t most = 1;

	for (size_t i = 0; i < baseline->families; i++)
		if (baseline->family[i].causes > most) {
			most = baseline->family[i].causes;
			*number = (uint32_t)i;
		}
	return most > 1;
}

/* Forget causes without packets, and families without causes. */
static int tidy(struct baseline *baseline)
{
	OWN_FREE uint32_t *renamed = calloc(baseline->families + 1, sizeof(*renamed));
	size_t kept = 0;

	if (!renamed)
		return -ENOMEM;
	for (size_t i = 0; i < baseline->causes; i++) {
		struct counted_cause *cause = baseline->cause[i];

		if (total_of(cause)) {
			baseline->cause[kept++] = cause;
		} else {
			baseline->family[cause->family].causes--;
			free_cause(cause);
		}
	}
	if (kept == baseline->causes)
		return 0;
	baseline->causes = kept;
	kept = 0;
	for (size_t i = 0; i < baseline->families; i++) {
		struct family family = baseline->family[i];

		renamed[i] = (uint32_t)kept;
		if (family.causes)
			baseline->family[kept++] = family;
		else
			free(family.key);
	}
	baseline->families = kept;
	for (size_t i = 0; i < baseline->causes; i++)
		baseline->cause[i]->family = renamed[baseline->cause[i]->family];
	baseline->full = false;
	number_again(baseline);
	return 0;
}

/* ---- time -------------------------------------------------------------------------------- */

static int64_t bucket_of(int64_t time_s)
{
	return time_s >= 0 ? time_s / BASELINE_STEP_S : 0;
}

static size_t slot_of(int64_t bucket)
{
	return (size_t)(bucket % BASELINE_BUCKETS);
}

static void clear_bucket(struct baseline *baseline, int64_t bucket)
{
	size_t slot = slot_of(bucket);

	baseline->covered_us[slot] = 0;
	for (size_t i = 0; i < baseline->causes; i++)
		baseline->cause[i]->count[slot] = 0;
}

/* The present is in this bucket: forget what is too old, or after it. */
static void move_to(struct baseline *baseline, int64_t bucket)
{
	int64_t from = bucket > baseline->now ? baseline->now : bucket;
	int64_t to = bucket > baseline->now ? bucket : baseline->now;

	if (bucket == baseline->now)
		return;
	if (to - from > BASELINE_BUCKETS)
		from = to - BASELINE_BUCKETS;
	/* The slots of buckets that are no longer in the table, or not yet. */
	for (int64_t i = from + 1; i <= to; i++)
		clear_bucket(baseline, i);
	baseline->now = bucket;
	/* Without memory, they are forgotten the next time. */
	tidy(baseline);
}

static bool has_bucket(const struct baseline *baseline, int64_t bucket)
{
	return bucket <= baseline->now && bucket > baseline->now - BASELINE_BUCKETS && bucket > 0;
}

void baseline_set_present(struct baseline *baseline, int64_t now_us)
{
	/* An end on a boundary belongs to the bucket before. */
	move_to(baseline, bucket_of((now_us - 1) / US));
	baseline->seen_us = now_us;
}

void baseline_cover_time(struct baseline *baseline, int64_t from_us, int64_t to_us)
{
	int64_t bucket = baseline->now - BASELINE_BUCKETS + 1;

	if (bucket < bucket_of(from_us / US))
		bucket = bucket_of(from_us / US);
	for (; has_bucket(baseline, bucket) && bucket * BUCKET_US < to_us; bucket++) {
		int64_t begin = bucket * BUCKET_US, end = begin + BUCKET_US;

		if (begin < from_us)
			begin = from_us;
		if (end > to_us)
			end = to_us;
		if (end > begin)
			baseline->covered_us[slot_of(bucket)] += end - begin;
	}
}

/* ---- adding ------------------------------------------------------------------------------- */

/* The number of a family, which is added if it is new.  -ENOSPC, -ENOMEM. */
static int find_family(struct baseline *baseline, const char *key, uint32_t *number)
{
	struct family *fresh;
	uint64_t hash = hash_text(0, key);
	size_t known;

	if (map_find(&baseline->by_family, hash, is_family, baseline->family, key, &known)) {
		*number = (uint32_t)known;
		return 0;
	}
	if (baseline->families == BASELINE_CAUSES)
		return -ENOSPC;
	if (ARRAY_GROW(baseline->family, baseline->families, baseline->families_room) < 0 ||
	    map_reserve(&baseline->by_family, baseline->families + 1) < 0)
		return -ENOMEM;
	fresh = &baseline->family[baseline->families];
	*fresh = (struct family){.key = strdup(key)};
	if (!fresh->key)
		return -ENOMEM;
	*number = (uint32_t)baseline->families++;
	return map_add(&baseline->by_family, hash, *number);
}

/* Make room for one more cause of a family.  -ENOSPC: there is none. */
static int make_way(struct baseline *baseline, uint32_t family)
{
	uint32_t largest;

	if (baseline->family[family].causes >= BASELINE_FAMILY)
		return fold(baseline, family);
	if (baseline->causes < BASELINE_CAUSES)
		return 0;
	return largest_family(baseline, &largest) ? fold(baseline, largest) : -ENOSPC;
}

static int add_cause(struct baseline *baseline, const char *key, uint32_t family,
		     struct counted_cause **cause)
{
	struct counted_cause *fresh;

	if (ARRAY_GROW(baseline->cause, baseline->causes, baseline->causes_room) < 0 ||
	    map_reserve(&baseline->by_key, baseline->causes + 1) < 0)
		return -ENOMEM;
	fresh = calloc(1, sizeof(*fresh));
	if (fresh)
		fresh->key = strdup(key);
	if (!fresh || !fresh->key) {
		free(fresh);
		return -ENOMEM;
	}
	fresh->family = family;
	baseline->cause[baseline->causes] = fresh;
	map_add(&baseline->by_key, hash_text(0, key), baseline->causes++);
	baseline->family[family].causes++;
	*cause = fresh;
	return 0;
}

/* -ENOSPC: there is no room for another cause. */
static int find_cause(struct baseline *baseline, const char *key, struct counted_cause **cause)
{
	char family_key[BASELINE_KEY_MAX] = "";
	uint32_t family;
	int r;

	*cause = known_cause(baseline, key);
	if (*cause)
		return 0;
	memcpy(family_key, key, baseline_key_family(key));
	r = find_family(baseline, family_key, &family);
	if (r == 0 && baseline->family[family].folded)
		*cause = known_cause(baseline, family_key);
	if (r == 0 && !*cause)
		r = make_way(baseline, family);
	if (r == -ENOSPC)
		baseline->full = true;
	if (r < 0)
		return r;
	if (baseline->family[family].folded) {
		*cause = known_cause(baseline, family_key);
		key = family_key;
	}
	return *cause ? 0 : add_cause(baseline, key, family, cause);
}

int baseline_add(struct baseline *baseline, const char *key, int64_t time_s, uint64_t packets)
{
	struct counted_cause *cause;
	uint32_t *count;
	int r;

	if (!packets || !has_bucket(baseline, bucket_of(time_s)))
		return 0;
	r = find_cause(baseline, key, &cause);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	count = &cause->count[slot_of(bucket_of(time_s))];
	*count = saturated(packets < UINT32_MAX ? *count + packets : packets);
	return 0;
}

int baseline_add_batch(struct baseline *baseline, const struct batch *batch)
{
	int64_t time = batch_buckets(batch).middle;
	int r = 0;

	baseline_set_present(baseline, batch->to_us);
	if (batch->seen_us)
		baseline->seen_us = batch->seen_us;
	baseline->seen_ns = batch->seen_ns;
	if (!coverage_lacks(&batch->coverage, COVERAGE_DROPS))
		baseline_cover_time(baseline, batch->from_us, batch->to_us);
	for (size_t i = 0; i < batch->rows && r == 0; i++) {
		const struct batch_row *row = &batch->row[i];
		uint64_t value[DROPS_VALUES] = {0};

		if (row->series->kind != HISTORY_DROPS || !row->series->cause[0])
			continue;
		if (vector_add(value, DROPS_VALUES, batch->bytes + row->at, row->size) == 0)
			r = baseline_add(baseline, row->series->cause, time, value[DROPS_PACKETS]);
	}
	return r;
}

/* ---- the view -------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct baseline_shown *)a)->key,
		      ((const struct baseline_shown *)b)->key);
}

/* By age, in seconds. */
static void get_covered(const struct baseline *baseline, uint32_t *covered_s)
{
	for (int age = 0; age < BASELINE_BUCKETS; age++) {
		int64_t bucket = baseline->now - age;

		covered_s[age] =
			bucket > 0
				? saturated((uint64_t)(baseline->covered_us[slot_of(bucket)] / US))
				: 0;
	}
}

static void evaluate(const struct baseline *baseline, const struct counted_cause *cause,
		     const uint32_t *covered_s, struct baseline_rate *rate)
{
	uint32_t count[BASELINE_BUCKETS] = {0};

	for (int age = 0; age < BASELINE_BUCKETS && baseline->now > age; age++)
		count[age] = cause->count[slot_of(baseline->now - age)];
	baseline_evaluate(count, covered_s, rate);
}

int baseline_show(struct baseline *baseline, struct baseline_view **view)
{
	OWN_BASELINE_VIEW struct baseline_view *fresh = calloc(1, sizeof(*fresh));
	uint32_t covered_s[BASELINE_BUCKETS];

	if (!fresh)
		return -ENOMEM;
	atomic_init(&fresh->holders, 1);
	fresh->shown = calloc(baseline->causes + 1, sizeof(*fresh->shown));
	if (!fresh->shown)
		return -ENOMEM;
	fresh->seen_us = baseline->seen_us;
	fresh->seen_ns = baseline->seen_ns;
	fresh->bucket_s = baseline->now * BASELINE_STEP_S;
	fresh->causes = baseline->causes;
	fresh->families = baseline->families;
	fresh->full = baseline->full;
	for (size_t i = 0; i < baseline->families; i++)
		fresh->folded += baseline->family[i].folded;
	get_covered(baseline, covered_s);
	baseline_cover(covered_s, &fresh->cover);
	for (size_t i = 0; i < baseline->causes; i++) {
		struct baseline_shown *one = &fresh->shown[fresh->count];

		one->key = strdup(baseline->cause[i]->key);
		if (!one->key)
			return -ENOMEM;
		fresh->count++;
		evaluate(baseline, baseline->cause[i], covered_s, &one->rate);
	}
	qsort(fresh->shown, fresh->count, sizeof(*fresh->shown), by_key);
	*view = TAKE_PTR(fresh);
	return 0;
}
