/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/buckets.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/array.h"

void buckets_free(struct buckets *buckets)
{
	free(buckets->at);
	*buckets = (struct buckets){};
}

/* The index of the first bucket that does not begin before `from_ns`. */
static size_t position(const struct buckets *buckets, uint64_t from_ns)
{
	size_t count = buckets->count;

	/* The daemon sends buckets in order, so most insertions are at the end. */
	if (count && buckets->at[count - 1].from_ns < from_ns)
		return count;
	return LOWER_BOUND(bucket, buckets->at, count, bucket->from_ns < from_ns);
}

int buckets_add(struct buckets *buckets, struct bucket bucket)
{
	size_t i = position(buckets, bucket.from_ns);
	struct bucket *at;

	if (!bucket.count)
		return 0;
	if (i < buckets->count && buckets->at[i].from_ns == bucket.from_ns) {
		buckets->at[i].count += bucket.count;
		buckets->total += bucket.count;
		return 0;
	}
	at = reallocarray(buckets->at, buckets->count + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	buckets->at = at;
	memmove(at + i + 1, at + i, (buckets->count - i) * sizeof(*at));
	at[i] = bucket;
	buckets->count++;
	buckets->total += bucket.count;
	return 0;
}

int buckets_merge(struct buckets *buckets, const struct buckets *from)
{
	for (size_t i = 0; i < from->count; i++) {
		int r = buckets_add(buckets, from->at[i]);

		if (r)
			return r;
	}
	return 0;
}

int buckets_subtract(struct buckets *into, const struct buckets *new, const struct buckets *old)
{
	for (size_t i = 0; i < new->count; i++) {
		struct bucket bucket = new->at[i];
		size_t j = position(old, bucket.from_ns);
		int r;

		if (j < old->count && old->at[j].from_ns == bucket.from_ns &&
		    old->at[j].count <= bucket.count)
			bucket.count -= old->at[j].count;
		r = buckets_add(into, bucket);
		if (r)
			return r;
	}
	return 0;
}

uint64_t buckets_quantile(const struct buckets *buckets, double quantile, uint64_t max_ns)
{
	uint64_t rank = (uint64_t)ceil(quantile * (double)buckets->total);
	uint64_t seen = 0;

	if (!buckets->count)
		return 0;
	if (!rank)
		rank = 1;
	for (size_t i = 0; i < buckets->count; i++) {
		const struct bucket *bucket = &buckets->at[i];
		uint64_t middle = bucket->from_ns + (bucket->below_ns - bucket->from_ns) / 2;

		seen += bucket->count;
		if (seen >= rank)
			return middle < max_ns ? middle : max_ns;
	}
	return buckets_bound(buckets, max_ns);
}

uint64_t buckets_bound(const struct buckets *buckets, uint64_t max_ns)
{
	uint64_t below;

	if (!buckets->count)
		return 0;
	below = buckets->at[buckets->count - 1].below_ns;
	return below && below - 1 < max_ns ? below - 1 : max_ns;
}

/* log2 rounded down; 0 for the value 0. */
static unsigned int log2_floor(uint64_t value)
{
	return value ? 63U - (unsigned int)__builtin_clzll(value) : 0;
}

bool buckets_powers(const struct buckets *buckets, unsigned int *first, unsigned int *last)
{
	if (!buckets->count)
		return false;
	*first = log2_floor(buckets->at[0].from_ns);
	*last = log2_floor(buckets->at[buckets->count - 1].from_ns);
	return true;
}

struct bucket_rows buckets_rows_on(const struct buckets *buckets, unsigned int first,
				   unsigned int step, size_t count)
{
	struct bucket_rows rows = {.first = first, .step = step, .count = count};

	for (size_t i = 0; i < buckets->count; i++) {
		unsigned int power = log2_floor(buckets->at[i].from_ns);
		size_t row = power < first ? 0 : (power - first) / step;

		rows.rows[row < count ? row : count - 1] += buckets->at[i].count;
	}
	return rows;
}

struct bucket_rows buckets_rows(const struct buckets *buckets, size_t limit)
{
	unsigned int first, last, step = 1;

	if (!buckets_powers(buckets, &first, &last))
		return (struct bucket_rows){.step = 1};
	while ((last - first) / step + 1 > limit)
		step++;
	return buckets_rows_on(buckets, first, step, (last - first) / step + 1);
}

uint64_t bucket_rows_from(const struct bucket_rows *rows, size_t row)
{
	uint64_t power = rows->first + row * rows->step;

	/* The row of power 0 includes the value 0. */
	return power ? UINT64_C(1) << power : 0;
}

uint64_t bucket_rows_below(const struct bucket_rows *rows, size_t row)
{
	uint64_t power = rows->first + (row + 1) * rows->step;

	return power < 64 ? UINT64_C(1) << power : UINT64_MAX;
}
