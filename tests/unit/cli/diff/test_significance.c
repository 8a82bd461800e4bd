/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics of netflowctl diff: values that were computed exactly, and the promised rate of false marks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/diff/significance.h"
#include "common/array.h"
#include "tests/unit/test.h"

static void expect_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-9 * fmax(1e-3, fabs(expected)))
		fail_msg("%.12g instead of %.12g", value, expected);
}

/* ---- the binomial distribution ---- */

TEST(test_binomial)
{
	expect_near(significance_at_least(10, 10, 0.5), 1 / 1024.0);
	expect_near(significance_at_most(3, 10, 0.5), 176 / 1024.0);
	expect_near(significance_at_most(7, 40, 0.25), 0.181954154000583);
	assert_true(significance_at_least(0, 10, 0.5) == 1);
	assert_true(significance_at_least(11, 10, 0.5) == 0);
	assert_true(significance_at_most(10, 10, 0.5) == 1);
	for (uint64_t k = 0; k < 40; k++)
		expect_near(significance_at_most(k, 40, 0.3) +
				    significance_at_least(k + 1, 40, 0.3),
			    1);
}

TEST(test_binomial_of_many)
{
	const uint64_t n = 1000000000;

	/* Half of it, and half of the term in the middle, 1 / sqrt(pi n / 2). */
	assert_true(fabs(significance_at_most(n / 2, n, 0.5) - 0.5000126157) < 1e-5);
	/* Four standard deviations. */
	assert_true(fabs(significance_at_least(n / 2 + 63246, n, 0.5) / 3.167e-5 - 1) < 1e-2);
	assert_true(significance_at_least(n / 2 + n / 8, n, 0.5) == 0);
}

/* ---- rates ---- */

static void expect_rates(uint64_t a, double exposure_a, uint64_t b, double exposure_b, double p,
			 int sign)
{
	struct significance result = significance_rates(a, exposure_a, b, exposure_b);

	assert_true(result.tested);
	expect_near(result.p, p);
	assert_int_equal(result.sign, sign);
}

TEST(test_rates)
{
	expect_rates(0, 1, 10, 1, 2 / 1024.0, 1);
	expect_rates(10, 1, 0, 1, 2 / 1024.0, -1);
	expect_rates(10, 1, 12, 1, 0.831811904907227, 1);
	expect_rates(500, 3, 560, 3, 0.0699095594602693, 1);
	expect_rates(500, 1, 600, 1, 0.00281954499143644, 1);
	expect_rates(7, 1, 33, 1.0 / 3, significance_at_least(33, 40, 0.25) * 2, 1);
	/* Equal rates. */
	expect_rates(500, 1, 500, 1, 1, 0);
	expect_rates(10, 1, 20, 2, 1, 0);
	/* Equal counts, but B took a hundred times as long. */
	assert_int_equal(significance_rates(10, 1, 10, 100).sign, -1);
	assert_true(significance_rates(10, 1, 10, 100).p < 1e-9);
	/* There is no smaller number, and none that is not a number. */
	assert_true(significance_rates(1, 1, 1000000, 1).p == 0);
}

TEST(test_too_few_packets)
{
	assert_false(significance_rates(0, 1, 0, 1).tested);
	assert_false(significance_rates(0, 1, 7, 1).tested);
	assert_true(significance_rates(0, 1, 8, 1).tested);
	/* One packet in B can be significant, if B is that short. */
	assert_true(significance_rates(0, 1000, 1, 1).tested);
}

/* Of all outcomes with equal rates, those with p <= 1 % have a probability of at most 1 %. */
TEST(test_level_of_rates)
{
	for (uint64_t n = 8; n < 300; n += 7) {
		for (double part = 0.1; part < 1; part += 0.1) {
			double wrong = 0;

			for (uint64_t b = 0; b <= n; b++)
				if (significance_rates(n - b, 1 - part, b, part).p <=
				    SIGNIFICANCE_LEVEL)
					wrong += significance_at_most(b, n, part) -
						 (b ? significance_at_most(b - 1, n, part) : 0);
			assert_true(wrong <= SIGNIFICANCE_LEVEL + 1e-12);
		}
	}
}

/* ---- quantiles ---- */

/* Counts in the buckets of the daemon that begin at 1024 ns. */
static struct buckets histogram(const uint64_t *counts, size_t count)
{
	static const uint64_t limits[] = {1024, 1280, 1536, 1792, 2048, 2560, 3072};
	struct buckets buckets = {};

	for (size_t i = 0; i < count; i++)
		assert_int_equal(
			buckets_add(&buckets, (struct bucket){limits[i], limits[i + 1], counts[i]}),
			0);
	return buckets;
}

#define HISTOGRAM(name, ...)                            \
	const uint64_t name##_counts[] = {__VA_ARGS__}; \
	OWN_BUCKETS struct buckets name = histogram(name##_counts, ARRAY_SIZE(name##_counts))

TEST(test_same_histogram)
{
	const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
	HISTOGRAM(one, 5000, 3000, 0, 1000, 900, 100);

	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		struct significance result = significance_quantiles(&one, &one, quantiles[i]);

		assert_true(result.tested);
		assert_true(result.p == 1);
		assert_int_equal(result.sign, 0);
	}
}

TEST(test_next_bucket_is_the_same)
{
	HISTOGRAM(a, 100000);
	HISTOGRAM(b, 0, 100000);
	HISTOGRAM(c, 0, 0, 100000);

	assert_true(significance_quantiles(&a, &b, 0.5).p == 1);
	assert_true(significance_quantiles(&b, &a, 0.5).p == 1);
	assert_int_equal(significance_quantiles(&a, &c, 0.5).sign, 1);
	assert_int_equal(significance_quantiles(&c, &a, 0.5).sign, -1);
	assert_true(significance_quantiles(&a, &c, 0.999).p < 1e-9);
}

TEST(test_known_quantiles)
{
	HISTOGRAM(a, 100);
	HISTOGRAM(b, 40, 0, 0, 0, 60);
	HISTOGRAM(c, 30, 0, 0, 0, 70);
	struct significance result = significance_quantiles(&a, &b, 0.5);

	expect_near(result.p, 4 * 0.0284439668204904);
	assert_int_equal(result.sign, 1);
	expect_near(significance_quantiles(&a, &c, 0.5).p, 4 * significance_at_most(30, 100, 0.5));
	assert_true(significance_quantiles(&a, &c, 0.5).p < SIGNIFICANCE_LEVEL);
	/* Both p50 are in one bucket, but their p90 are not: 30 of 100 are far above. */
	HISTOGRAM(d, 70, 0, 0, 0, 30);
	assert_true(significance_quantiles(&a, &d, 0.5).p == 1);
	expect_near(significance_quantiles(&a, &d, 0.9).p, 4 * pow(0.9, 100));
}

TEST(test_packets_that_a_quantile_needs)
{
	HISTOGRAM(eight, 8);
	HISTOGRAM(nine, 9);
	HISTOGRAM(a, 5989);
	HISTOGRAM(b, 0, 0, 0, 5989);
	HISTOGRAM(fewer, 0, 0, 0, 5988);
	OWN_BUCKETS struct buckets none = {};

	assert_false(significance_quantiles(&eight, &eight, 0.5).tested);
	assert_true(significance_quantiles(&nine, &nine, 0.5).tested);
	assert_false(significance_quantiles(&nine, &nine, 0.9).tested);
	assert_false(significance_quantiles(&none, &none, 0.5).tested);
	assert_true(significance_quantiles(&a, &b, 0.999).p <= SIGNIFICANCE_LEVEL);
	assert_false(significance_quantiles(&fewer, &fewer, 0.999).tested);
}

/* The last bucket has no upper limit. */
TEST(test_open_bucket)
{
	HISTOGRAM(a, 100);
	OWN_BUCKETS struct buckets open = {};

	assert_int_equal(buckets_add(&open, (struct bucket){1ULL << 40, UINT64_MAX, 100}), 0);
	assert_int_equal(significance_quantiles(&a, &open, 0.5).sign, 1);
	assert_int_equal(significance_quantiles(&open, &a, 0.5).sign, -1);
	assert_true(significance_quantiles(&open, &open, 0.5).p == 1);
}

static double chance(uint64_t k, uint64_t n, double p)
{
	return significance_at_most(k, n, p) - (k ? significance_at_most(k - 1, n, p) : 0);
}

/* Two recordings of 25 packets from one distribution: `part` of it in a low bucket, the others in a high one. */
static double wrong_marks(double part, double quantile)
{
	const uint64_t n = 25;
	double wrong = 0;

	for (uint64_t i = 0; i <= n; i++) {
		for (uint64_t j = 0; j <= n; j++) {
			HISTOGRAM(a, i, 0, 0, 0, n - i);
			HISTOGRAM(b, j, 0, 0, 0, n - j);

			if (significance_quantiles(&a, &b, quantile).p <= SIGNIFICANCE_LEVEL)
				wrong += chance(i, n, part) * chance(j, n, part);
		}
	}
	return wrong;
}

TEST(test_level_of_quantiles)
{
	for (double part = 0.05; part < 1; part += 0.05)
		assert_true(wrong_marks(part, 0.5) <= SIGNIFICANCE_LEVEL);
	assert_true(wrong_marks(0.75, 0.75) <= SIGNIFICANCE_LEVEL);
}

/* ---- all tests together ---- */

TEST(test_correction)
{
	struct significance results[] = {
		{.tested = true, .p = 0.03, .sign = 1},
		{.tested = true, .p = 0.001, .sign = -1},
		{.tested = false, .p = 0.0001, .sign = 1},
		{.tested = true, .p = 0.004, .sign = 1},
	};
	struct significance *pointers[] = {&results[0], &results[1], &results[2], &results[3]};

	assert_int_equal(significance_correct(pointers, ARRAY_SIZE(pointers)), 0);
	expect_near(results[1].corrected, 0.003);
	expect_near(results[3].corrected, 0.008);
	expect_near(results[0].corrected, 0.03);
	assert_int_equal(significance_mark(&results[0]), 0);
	assert_int_equal(significance_mark(&results[1]), -1);
	assert_int_equal(significance_mark(&results[2]), 0);
	assert_int_equal(significance_mark(&results[3]), 1);
}

/* A larger p is never corrected to less than a smaller one, and never to more than 1. */
TEST(test_correction_is_monotonic)
{
	struct significance results[] = {
		{.tested = true, .p = 0.0041, .sign = 1},
		{.tested = true, .p = 0.004, .sign = 1},
		{.tested = true, .p = 0.9, .sign = 1},
	};
	struct significance *pointers[] = {&results[0], &results[1], &results[2]};

	assert_int_equal(significance_correct(pointers, ARRAY_SIZE(pointers)), 0);
	expect_near(results[1].corrected, 0.012);
	expect_near(results[0].corrected, 0.012);
	expect_near(results[2].corrected, 0.9);
	assert_int_equal(significance_correct(NULL, 0), 0);
}

/* 10 packets instead of none are significant alone, but not as one of six such rows. */
TEST(test_correction_counts_tests)
{
	struct significance results[6];
	struct significance *pointers[6];

	for (size_t i = 0; i < 6; i++) {
		results[i] = i ? significance_rates(10, 1, 12, 1) : significance_rates(0, 1, 10, 1);
		pointers[i] = &results[i];
	}
	assert_int_equal(significance_correct(pointers, 1), 0);
	assert_int_equal(significance_mark(&results[0]), 1);
	assert_int_equal(significance_correct(pointers, 6), 0);
	assert_int_equal(significance_mark(&results[0]), 0);
	for (size_t i = 1; i < 6; i++)
		assert_int_equal(significance_mark(&results[i]), 0);
}
