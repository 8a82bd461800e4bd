/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/histogram.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "bpf/records.h"

#define LAST_BUCKET (NF_HIST_BUCKETS - 1)

/* The smallest value of a bucket; for NF_HIST_BUCKETS, the end of the closed range. */
static uint64_t bucket_from(unsigned int bucket)
{
	unsigned int log2 = bucket / NF_HIST_STEPS + 1;
	uint64_t step = bucket % NF_HIST_STEPS;

	if (bucket < NF_HIST_STEPS)
		return bucket;
	return (NF_HIST_STEPS + step) << (log2 - NF_HIST_STEPS_LOG2);
}

struct histogram_bounds histogram_bounds(unsigned int bucket)
{
	return (struct histogram_bounds){
		.from = bucket_from(bucket),
		.below = bucket == LAST_BUCKET ? UINT64_MAX : bucket_from(bucket + 1),
	};
}

void histogram_merge(struct nf_hist *into, const struct nf_hist *from)
{
	into->sum_ns += from->sum_ns;
	into->journeys += from->journeys;
	/* A history that was damaged has any number. */
	if (__builtin_add_overflow(into->variance, from->variance, &into->variance))
		into->variance = UINT64_MAX;
	if (from->max_ns > into->max_ns)
		into->max_ns = from->max_ns;
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

uint64_t histogram_count(const struct nf_hist *hist)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++)
		count += hist->bucket[i];
	return count;
}

int histogram_mean(const struct nf_hist *hist, double *mean)
{
	uint64_t count = histogram_count(hist);

	if (!count)
		return -ENODATA;
	*mean = (double)hist->sum_ns / (double)count;
	return 0;
}

/* The nearest rank, ⌈q · count⌉: 1 … count. */
static uint64_t nearest_rank(double q, uint64_t count)
{
	/* In binary, 0.07 · 100 is slightly more than 7, but the rank must be 7. */
	double exact = q * (double)count * (1 - 2 * DBL_EPSILON);
	uint64_t rank;

	if (exact >= (double)count)
		return count;
	rank = (uint64_t)exact;
	if ((double)rank < exact)
		rank++;
	if (rank < 1)
		return 1;
	return rank < count ? rank : count;
}

static uint64_t bucket_middle(unsigned int bucket, uint64_t max_ns)
{
	uint64_t from = bucket_from(bucket);
	uint64_t last = bucket_from(bucket + 1) - 1;
	uint64_t middle;

	if (bucket == LAST_BUCKET && max_ns > last)
		last = max_ns;
	middle = from + (last - from) / 2;
	return middle < max_ns ? middle : max_ns;
}

static unsigned int bucket_of_rank(const struct nf_hist *hist, uint64_t rank)
{
	uint64_t seen = 0;
	unsigned int bucket;

	for (bucket = 0; bucket < LAST_BUCKET; bucket++) {
		seen += hist->bucket[bucket];
		if (seen >= rank)
			break;
	}
	return bucket;
}

int histogram_quantile(const struct nf_hist *hist, double q, uint64_t *ns)
{
	uint64_t count = histogram_count(hist);

	if (!(q >= 0 && q <= 1))
		return -EINVAL;
	if (!count)
		return -ENODATA;
	*ns = bucket_middle(bucket_of_rank(hist, nearest_rank(q, count)), hist->max_ns);
	return 0;
}

/* ---- estimates ------------------------------------------------------------------- */

uint64_t histogram_margin(uint64_t variance)
{
	return (uint64_t)ceil(HISTOGRAM_Z_95 * sqrt((double)variance));
}

bool histogram_is_estimate(const struct nf_hist *hist)
{
	return hist->variance > 0;
}

uint64_t histogram_followed(const struct nf_hist *hist)
{
	return histogram_is_estimate(hist) ? hist->journeys : histogram_count(hist);
}

uint64_t histogram_count_margin(const struct nf_hist *hist)
{
	return histogram_margin(hist->variance);
}

double histogram_effective(const struct nf_hist *hist)
{
	double sum = (double)histogram_count(hist), effective;

	if (!histogram_is_estimate(hist))
		return sum;
	/* The sum of the squares of the weights is at most variance + sum. */
	effective = sum * sum / ((double)hist->variance + sum);
	return effective < (double)hist->journeys ? effective : (double)hist->journeys;
}

int histogram_quantile_interval(const struct nf_hist *hist, double q, uint64_t *low_ns,
				uint64_t *high_ns)
{
	uint64_t count = histogram_count(hist), high;
	double n = histogram_effective(hist), half;
	unsigned int last;

	if (!(q >= 0 && q <= 1))
		return -EINVAL;
	if (!count)
		return -ENODATA;
	half = HISTOGRAM_Z_95 * sqrt(n * q * (1 - q));
	if (histogram_is_estimate(hist) && (n * q - half < 1 || n * q + half > n - 1))
		return -ENODATA;
	if (!histogram_is_estimate(hist))
		half = 0;
	last = bucket_of_rank(hist, nearest_rank((n * q + half) / n, count));
	high = last == LAST_BUCKET ? UINT64_MAX : bucket_from(last + 1) - 1;
	*low_ns = bucket_from(bucket_of_rank(hist, nearest_rank((n * q - half) / n, count)));
	*high_ns = high < hist->max_ns ? high : hist->max_ns;
	return 0;
}
