/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two recordings, or two periods, differ by more than chance explains.  docs/diff.md describes these tests for
 * users.  They assume that packets are independent of each other; a burst, or one pause that delays many packets, is
 * not.
 */
#ifndef CLI_DIFF_SIGNIFICANCE_H
#define CLI_DIFF_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/show/buckets.h"

/* The probability, after the correction, below which a difference is significant. */
#define SIGNIFICANCE_LEVEL 0.01

/* P(X <= k) and P(X >= k) of a binomial X: `n` trials, each with probability `p` of success, 0 < p < 1. */
double significance_at_most(uint64_t k, uint64_t n, double p);
double significance_at_least(uint64_t k, uint64_t n, double p);

/* The result of one test. */
struct significance {
	bool tested; /* false: whatever was measured, so few packets could not have shown a difference */
	double p; /* without correction: how probable such a difference or a larger one is by chance */
	double corrected; /* by significance_correct() */
	int sign;	  /* 1: B is above A; -1: below; 0: neither, and p is 1 */
};

/*
 * Compare the rates of two counts, whose times are exposure_a and exposure_b, in one unit and above 0.
 *
 * If both counts are of Poisson processes with one rate, then `b`, given the sum a + b, is binomial, with the part
 * of B in the time of both as its probability.  The test is exact, for any counts, also 0.  p is two-sided: twice the
 * smaller tail.
 */
struct significance significance_rates(uint64_t a, double exposure_a, uint64_t b,
				       double exposure_b);

/*
 * Compare the quantile `quantile` (between 0 and 1) of the distributions behind two histograms.  The null hypothesis
 * is that both quantiles differ by at most 12.5 %, in either direction.
 *
 * For the end c of each bucket: by the binomial distribution of the number of values below c, A's quantile is above c
 * with a p-value p1, and B's quantile is below 1.125 c with a p-value p2.  If both are small, B's quantile is above
 * 1.125 times A's.  Both p-values are monotonic in c, so a c that is chosen to fit best needs no correction: the limits
 * of both quantiles are one-sided confidence limits, each of which is wrong with at most the probability that the test
 * allows it.  p is 2 * 2 * max(p1, p2) of the best c: two limits, two directions.
 *
 * This uses no model of the distributions and no random numbers.  A bucket counts as below 1.125 c if it begins there,
 * so values in the same bucket, and in two buckets beside each other, never differ significantly.
 */
struct significance significance_quantiles(const struct buckets *a, const struct buckets *b,
					   double quantile);

/*
 * Set `corrected` of those results that were tested, by Holm's method: the probability that at least one of all
 * significant results is by chance is at most SIGNIFICANCE_LEVEL, however the tests depend on each other.  Results that
 * were not tested are left out; that depends on the sums of counts only, which do not say which side is larger.
 * 0 or -ENOMEM.
 */
int significance_correct(struct significance *const results[], size_t count);

/* The direction of a significant difference; 0: there is none. */
int significance_mark(const struct significance *result);

#endif
