/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/diff/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/array.h"

/* Terms of a sum that are this much smaller than it do not change it. */
#define NEGLIGIBLE 1e-17

/* ---- the binomial distribution --------------------------------------------------------------- */

/* The log of P(X = k).  For n = 10^9, rounding of lgamma() puts the probability off by some millionths of itself. */
static double log_of_term(uint64_t k, uint64_t n, double p)
{
	double x = (double)k, all = (double)n;

	return lgamma(all + 1) - lgamma(x + 1) - lgamma(all - x + 1) + x * log(p) +
	       (all - x) * log1p(-p);
}

/* P(X >= k) for a k above the mean: each term is a fixed part, or less, of the one before. */
static double upper_tail(uint64_t k, uint64_t n, double p)
{
	double term = 1, sum = 1, odds = p / (1 - p);

	for (uint64_t i = k; i < n && term > NEGLIGIBLE * sum; i++) {
		term *= (double)(n - i) / (double)(i + 1) * odds;
		sum += term;
	}
	return fmin(1, exp(log_of_term(k, n, p) + log(sum)));
}

double significance_at_least(uint64_t k, uint64_t n, double p)
{
	if (k == 0)
		return 1;
	if (k > n)
		return 0;
	if ((double)k > (double)n * p)
		return upper_tail(k, n, p);
	return 1 - significance_at_most(k - 1, n, p);
}

/* The same as at least n - k failures. */
double significance_at_most(uint64_t k, uint64_t n, double p)
{
	if (k >= n)
		return 1;
	if ((double)k < (double)n * p)
		return upper_tail(n - k, n, 1 - p);
	return 1 - significance_at_least(k + 1, n, p);
}

/* ---- the tests --------------------------------------------------------------------------------- */

struct significance significance_rates(uint64_t a, double exposure_a, uint64_t b, double exposure_b)
{
	struct significance result = {.p = 1, .corrected = 1};
	double part = exposure_b / (exposure_a + exposure_b);
	double below, above, n = (double)(a + b);

	/* The most extreme outcomes are that A or B has all packets. */
	result.tested = a + b > 0 && 2 * fmin(pow(part, n), pow(1 - part, n)) <= SIGNIFICANCE_LEVEL;
	if (!result.tested)
		return result;
	below = significance_at_most(b, a + b, part);
	above = significance_at_least(b, a + b, part);
	result.p = fmin(1, 2 * fmin(below, above));
	if (result.p < 1)
		result.sign = above < below ? 1 : -1;
	return result;
}

/* The number of values that are in buckets which begin below `limit`: at least those below it. */
static uint64_t count_below(const struct buckets *buckets, uint64_t limit)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < buckets->count && buckets->at[i].from_ns < limit; i++)
		sum += buckets->at[i].count;
	return sum;
}

/* The p-value of "the quantile of `high` is at most 1.125 times that of `low`", before any factor. */
static double one_side(const struct buckets *low, const struct buckets *high, double quantile)
{
	uint64_t below_low = 0;
	double best = 1;

	for (size_t i = 0; i < low->count; i++) {
		uint64_t end = low->at[i].below_ns;
		double low_p, high_p;

		below_low += low->at[i].count;
		if (end > UINT64_MAX - end / 8 - 1)
			break;
		high_p = significance_at_most(count_below(high, end + end / 8 + 1), high->total,
					      quantile);
		/* It only grows from here. */
		if (high_p >= best)
			break;
		low_p = significance_at_least(below_low, low->total, quantile);
		best = fmin(best, fmax(low_p, high_p));
	}
	return best;
}

/* What one_side() is if all values of `low` are below all values of `high`. */
static double least_one_side(const struct buckets *low, const struct buckets *high, double quantile)
{
	return fmax(pow(quantile, (double)low->total), pow(1 - quantile, (double)high->total));
}

struct significance significance_quantiles(const struct buckets *a, const struct buckets *b,
					   double quantile)
{
	struct significance result = {.p = 1, .corrected = 1};
	double above, below;

	result.tested = 4 * fmin(least_one_side(a, b, quantile), least_one_side(b, a, quantile)) <=
			SIGNIFICANCE_LEVEL;
	if (!result.tested)
		return result;
	above = one_side(a, b, quantile);
	below = one_side(b, a, quantile);
	result.p = fmin(1, 4 * fmin(above, below));
	if (result.p < 1)
		result.sign = above < below ? 1 : -1;
	return result;
}

/* ---- all tests together ------------------------------------------------------------------------ */

static int by_p(const void *a, const void *b)
{
	const struct significance *one = *(struct significance *const *)a;
	const struct significance *other = *(struct significance *const *)b;

	return ORDER(one->p, other->p);
}

int significance_correct(struct significance *const results[], size_t count)
{
	struct significance **tested = calloc(count + 1, sizeof(*tested));
	double most = 0;
	size_t n = 0;

	if (!tested)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (results[i]->tested)
			tested[n++] = results[i];
	qsort(tested, n, sizeof(*tested), by_p);
	for (size_t i = 0; i < n; i++) {
		most = fmax(most, fmin(1, (double)(n - i) * tested[i]->p));
		tested[i]->corrected = most;
	}
	free(tested);
	return 0;
}

int significance_mark(const struct significance *result)
{
	return result->tested && result->corrected <= SIGNIFICANCE_LEVEL ? result->sign : 0;
}
