/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms as the daemon sends them: lists of the buckets that are not empty.  This file adds and subtracts them,
 * finds quantiles, and joins buckets into the rows of a chart.
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

/* Sorted by from_ns, which is unique; every count is above 0.  A zeroed struct is empty. */
struct buckets {
	struct bucket *at;
	size_t count;
	uint64_t total; /* sum of all counts */
};

/* Free the list and leave it empty. */
void buckets_free(struct buckets *buckets);
#define OWN_BUCKETS CLEANUP(buckets_free)

/* Insert a bucket, or add its count to the bucket with the same from_ns.  0 or -ENOMEM. */
int buckets_add(struct buckets *buckets, struct bucket bucket);

/* Add all buckets of `from`.  0 or -ENOMEM. */
int buckets_merge(struct buckets *buckets, const struct buckets *from);

/*
 * Set `into`, which must be empty, to the counts that `new` has in addition to `old`.  A bucket that shrank was reset
 * in between, so its whole count is new.  0 or -ENOMEM.
 */
int buckets_subtract(struct buckets *into, const struct buckets *new, const struct buckets *old);

/*
 * The middle of the bucket that contains the quantile (0 to 1, nearest rank), but at most `max_ns`; 0 if there are no
 * buckets.  The result is at most 12.5 % off with the daemon's buckets.
 */
uint64_t buckets_quantile(const struct buckets *buckets, double quantile, uint64_t max_ns);

/* An upper limit of all values: the end of the last bucket, but at most `max_ns`; 0 if there are no buckets. */
uint64_t buckets_bound(const struct buckets *buckets, uint64_t max_ns);

#define BUCKETS_ROWS 64

/*
 * Rows for a chart.  Row i covers [2^(first + i * step), 2^(first + (i + 1) * step)) ns; rows in between may be empty.
 */
struct bucket_rows {
	unsigned int first;
	unsigned int step;
	size_t count;
	uint64_t rows[BUCKETS_ROWS];
};

/* At most `limit` rows (1 to 64) that cover all buckets, each as few powers of two wide as possible. */
struct bucket_rows buckets_rows(const struct buckets *buckets, size_t limit);

/*
 * Rows on a given axis of `count` rows, with `first` and `step` of struct bucket_rows.  Buckets outside the axis count
 * in its first or last row.
 */
struct bucket_rows buckets_rows_on(const struct buckets *buckets, unsigned int first,
				   unsigned int step, size_t count);

/* The powers of two in which the first and the last bucket begin; false if there are no buckets. */
bool buckets_powers(const struct buckets *buckets, unsigned int *first, unsigned int *last);

/* The limits of a row in ns.  The row of power 0 begins at 0; the highest possible row ends at UINT64_MAX. */
uint64_t bucket_rows_from(const struct bucket_rows *rows, size_t row);
uint64_t bucket_rows_below(const struct bucket_rows *rows, size_t row);

#endif
