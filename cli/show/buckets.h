/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms as the daemon gives them, lists of buckets that are not empty,
 * and what is done with two or more of them: sums, differences, quantiles,
 * fewer and wider rows.
 */
#ifndef CLI_SHOW_BUCKETS_H
#define CLI_SHOW_BUCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct bucket {
	uint64_t from_ns;
	uint64_t below_ns;
	uint64_t count;
};

/* In order of from_ns, no two alike, none of them of count 0. */
struct buckets {
	struct bucket *at;
	size_t count;
	uint64_t total; /* of all counts */
};

/* Leaves an empty list; the zeroed struct is one as well. */
void buckets_free(struct buckets *buckets);
#define OWN_BUCKETS CLEANUP(buckets_free)

/* Put a bucket where it belongs, or add to the one that begins there.  0 or -ENOMEM. */
int buckets_add(struct buckets *buckets, struct bucket bucket);

/* Add all of `from`.  0 or -ENOMEM. */
int buckets_merge(struct buckets *buckets, const struct buckets *from);

/*
 * What came to `old` to make it `new`; `into` must be empty.  A bucket that
 * shrank began anew, so all of it counts.  0 or -ENOMEM.
 */
int buckets_subtract(struct buckets *into, const struct buckets *new, const struct buckets *old);

/*
 * The middle of the bucket that holds the quantile (0 to 1, nearest rank), but
 * at most `max_ns`; 0 when there is nothing.  As exact as the bucket is wide:
 * 12.5 % off at most with the daemon's buckets.
 */
uint64_t buckets_quantile(const struct buckets *buckets, double quantile, uint64_t max_ns);

/* No value is above this: the end of the last bucket, but at most `max_ns`. */
uint64_t buckets_bound(const struct buckets *buckets, uint64_t max_ns);

#define BUCKETS_ROWS 64

/*
 * Rows for a chart: row i stands for [2^(first + i * step), 2^(first + (i + 1) * step)) ns,
 * also those with nothing in them.
 */
struct bucket_rows {
	unsigned int first;
	unsigned int step;
	size_t count;
	uint64_t rows[BUCKETS_ROWS];
};

/* Powers of two that hold all buckets, then joined until there are at most `limit` rows (1 to 64).
 */
struct bucket_rows buckets_rows(const struct buckets *buckets, size_t limit);

/*
 * The same on a given axis of `count` rows, `first` and `step` as above; what
 * is beyond an end goes to the row there.
 */
struct bucket_rows buckets_rows_on(const struct buckets *buckets, unsigned int first,
				   unsigned int step, size_t count);

/* The powers of two that the first and the last bucket begin in; false when there are none. */
bool buckets_powers(const struct buckets *buckets, unsigned int *first, unsigned int *last);

/* The row's limits in ns; the end of the highest possible one is UINT64_MAX. */
uint64_t bucket_rows_from(const struct bucket_rows *rows, size_t row);
uint64_t bucket_rows_below(const struct bucket_rows *rows, size_t row);

#endif
