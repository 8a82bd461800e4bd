/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/tie.h"

#include <math.h>

#include "daemon/core/histogram.h"
#include "daemon/history/series.h"

/* Numbers that disagree by more standard deviations are of different packets. */
#define SIGMAS 3

/* Packets that can have been counted and not followed, or the other way round: a part of all. */
#define SLACK 0.01

/* In a burst, more packets may come between two readings than in the mean. */
#define BURST 3

/* Readings that are further apart, in parts of the interval, cannot be compared. */
#define SKEW_MOST 0.05

/*
 * Journeys that begin in one interval and end in the next one, in parts of all: a row with more of them is not a part
 * of what was received in the interval.
 */
#define CROSSING_MOST 0.1

static double slack_of(const struct tie *tie)
{
	return SLACK + BURST * (double)tie->skew_ns / (double)tie->ns;
}

static bool agree(const struct tie_sums *sums, double slack)
{
	double counted = (double)sums->counted, weights = (double)sums->weights;
	double off = SIGMAS * sqrt((double)sums->variance) + slack * fmax(counted, weights);

	return counted <= weights + (double)sums->unseen + off && counted >= weights - off;
}

/* Whether the weights say as much as the kernel's count: then they stay. */
static bool suffice(const struct tie_sums *sums, double slack)
{
	double off = fabs((double)sums->counted - (double)sums->weights);

	return off + HISTOGRAM_Z_95 * sqrt((double)sums->variance) <= slack * (double)sums->counted;
}

bool tie_holds(const struct tie *tie)
{
	const struct tie_sums *now = &tie->interval;
	double slack;

	if (!now->counted || !now->weights || (!now->variance && !now->unseen) ||
	    (double)tie->skew_ns > SKEW_MOST * (double)tie->ns)
		return false;
	slack = slack_of(tie);
	return !suffice(now, slack) && agree(now, slack) && agree(&tie->all, slack);
}

/* Half of the 95 % interval of a proportion (Wilson): of its longer side, so never 0. */
static double half_of(double p, double n)
{
	double z = HISTOGRAM_Z_95 * HISTOGRAM_Z_95 / n;
	double middle = (p + z / 2) / (1 + z);
	double half = sqrt(z * p * (1 - p) + z * z / 4) / (1 + z);

	return half + fabs(middle - p);
}

/* Packets of the device that came while no journey began, and for which the weights do not stand. */
static double unseen_of(const struct tie_sums *sums)
{
	double more = (double)sums->counted - (double)sums->weights;
	double most = fmin((double)sums->unseen, (double)sums->counted);

	return fmin(most, fmax(more, 0) + HISTOGRAM_Z_95 * sqrt((double)sums->variance));
}

/* Scale the buckets; they add up to the scaled sum, whatever is rounded. */
static uint64_t scale_buckets(uint64_t *bucket, double scale)
{
	uint64_t before = 0, scaled = 0;

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		uint64_t sum = before + bucket[i];
		uint64_t next = (uint64_t)((double)sum * scale + 0.5);

		bucket[i] = next - scaled;
		before = sum;
		scaled = next;
	}
	return scaled;
}

static uint64_t count_of(const uint64_t *bucket)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++)
		count += bucket[i];
	return count;
}

/*
 * The variance of a row that is the part `p` of all, and had the variance `drawn` with its scaled weights; `crossing`:
 * the part of the row that began before the interval.
 */
static double variance_of(const struct tie *tie, double p, double drawn, double crossing)
{
	const struct tie_sums *sums = &tie->interval;
	double all = (double)sums->counted, weights = (double)sums->weights;
	double n = weights * weights / ((double)sums->variance + weights);
	/* What was seen was followed: then only what was not seen is unknown. */
	double margin = sums->variance ? half_of(p, n) * all : 0;

	if (drawn > 0)
		margin = fmin(margin, HISTOGRAM_Z_95 * sqrt(drawn));
	margin = hypot(margin, slack_of(tie) * p * all) / HISTOGRAM_Z_95;
	return margin * margin + crossing * drawn;
}

void tie_latency(const struct tie *tie, uint64_t *value)
{
	double weights = (double)tie->interval.weights;
	double scale = (double)tie->interval.counted / weights;
	uint64_t *bucket = value + LATENCY_BUCKET, count = count_of(bucket), followed;
	double crossing =
		count ? 2 * (double)value[LATENCY_SUM_NS] / (double)count / (double)tie->ns : 1;
	double spread, variance, drawn = scale * scale * (double)value[LATENCY_VARIANCE];

	if (crossing > CROSSING_MOST || (double)count > weights * (1 + SLACK + crossing))
		return;
	variance = variance_of(tie, fmin((double)count / weights, 1), drawn, crossing);
	spread = drawn + scale * (scale - 1) * (double)count;
	followed = count - value[LATENCY_UNFOLLOWED];
	count = scale_buckets(bucket, scale);
	value[LATENCY_SUM_NS] = (uint64_t)((double)value[LATENCY_SUM_NS] * scale);
	value[LATENCY_UNFOLLOWED] = count > followed ? count - followed : 0;
	value[LATENCY_VARIANCE] = (uint64_t)ceil(fmax(variance, 1));
	value[LATENCY_SPREAD] = (uint64_t)fmax(spread - variance, 0);
	value[LATENCY_UNSEEN] = (uint64_t)ceil(unseen_of(&tie->interval));
}
