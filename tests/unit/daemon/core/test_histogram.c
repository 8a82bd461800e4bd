/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram arithmetic of bpf/records.h and of daemon/core/histogram.h, which must agree. */
#include <errno.h>
#include <string.h>

#include "bpf/records.h"
#include "daemon/core/histogram.h"
#include "tests/unit/test.h"

#define LAST (NF_HIST_BUCKETS - 1)
#define OPEN_FROM (1ULL << NF_HIST_MAX_LOG2)

static struct nf_hist hist;

static int start(void **state)
{
	(void)state;
	memset(&hist, 0, sizeof(hist));
	return 0;
}

EACH_TEST(start, NULL);

static void record(uint64_t ns)
{
	hist.bucket[nf_hist_bucket(ns)]++;
	hist.sum_ns += ns;
	if (ns > hist.max_ns)
		hist.max_ns = ns;
}

/* Computes log2 bit by bit, to check the fast one. */
static unsigned int slow_log2(uint64_t v)
{
	unsigned int log2 = 0;

	while (v >>= 1)
		log2++;
	return log2;
}

/* The value is within the bounds of its bucket, and its quantile is at most 12.5 % off. */
static void check_value(uint64_t ns)
{
	unsigned int bucket = nf_hist_bucket(ns);
	struct histogram_bounds bounds;
	uint64_t middle, error;

	if (ns)
		assert_int_equal(nf_log2(ns), slow_log2(ns));
	assert_in_range(bucket, 0, LAST);
	bounds = histogram_bounds(bucket);
	assert_true(bounds.from <= ns);
	assert_true(ns < bounds.below || (bucket == LAST && ns == UINT64_MAX));
	if (ns >= OPEN_FROM) {
		assert_int_equal(bucket, LAST);
		return;
	}
	/* a large max_ns, as from another bucket, so that it does not limit the quantile */
	start(NULL);
	hist.bucket[bucket] = 1;
	hist.max_ns = UINT64_MAX >> 1;
	if (bucket == LAST)
		hist.max_ns = OPEN_FROM - 1;
	assert_int_equal(histogram_quantile(&hist, 0.5, &middle), 0);
	assert_true(middle >= bounds.from && middle < bounds.below);
	error = middle > ns ? middle - ns : ns - middle;
	assert_true(error * 8 <= ns);
}

TEST(test_every_small_value)
{
	for (uint64_t ns = 0; ns <= 65536; ns++)
		check_value(ns);
}

TEST(test_powers_of_two)
{
	for (unsigned int i = 0; i < 64; i++)
		for (int d = -1; d <= 1; d++)
			check_value((1ULL << i) + (uint64_t)(int64_t)d);
	check_value(UINT64_MAX);
	check_value(UINT64_MAX - 1);
}

TEST(test_every_boundary)
{
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		struct histogram_bounds bounds = histogram_bounds(i);

		assert_int_equal(nf_hist_bucket(bounds.from), i);
		assert_int_equal(nf_hist_bucket(bounds.below - 1), i);
		check_value(bounds.from);
		check_value(bounds.from + 1);
		if (i)
			check_value(bounds.from - 1);
		if (i < LAST)
			assert_int_equal(nf_hist_bucket(bounds.below), i + 1);
	}
}

TEST(test_bounds_join)
{
	assert_int_equal(histogram_bounds(0).from, 0);
	for (unsigned int i = 0; i < LAST; i++) {
		assert_true(histogram_bounds(i).from < histogram_bounds(i).below);
		assert_int_equal(histogram_bounds(i).below, histogram_bounds(i + 1).from);
	}
	assert_true(histogram_bounds(LAST).below == UINT64_MAX);
	assert_int_equal(histogram_bounds(8).from, 8);
	assert_int_equal(histogram_bounds(8).below, 10);
}

TEST(test_empty)
{
	uint64_t ns = 7;
	double mean = 7;

	assert_int_equal(histogram_count(&hist), 0);
	assert_int_equal(histogram_mean(&hist, &mean), -ENODATA);
	assert_int_equal(histogram_quantile(&hist, 0.5, &ns), -ENODATA);
	assert_int_equal(ns, 7);
	assert_true(mean == 7);
}

TEST(test_quantile_range)
{
	uint64_t ns = 7;

	record(1);
	assert_int_equal(histogram_quantile(&hist, -0.1, &ns), -EINVAL);
	assert_int_equal(histogram_quantile(&hist, 1.1, &ns), -EINVAL);
	assert_int_equal(histogram_quantile(&hist, __builtin_nan(""), &ns), -EINVAL);
	assert_int_equal(ns, 7);
	assert_int_equal(histogram_quantile(&hist, 0, &ns), 0);
	assert_int_equal(ns, 1);
	assert_int_equal(histogram_quantile(&hist, 1, &ns), 0);
	assert_int_equal(ns, 1);
}

static uint64_t quantile(double q)
{
	uint64_t ns;

	assert_int_equal(histogram_quantile(&hist, q, &ns), 0);
	return ns;
}

/* The values 0 to 7 have exact buckets, so they show the rank. */
TEST(test_nearest_rank)
{
	for (unsigned int i = 0; i < 100; i++)
		record(i < 7 ? 1 : i < 50 ? 2 : i < 90 ? 3 : i < 99 ? 4 : 5);
	assert_int_equal(quantile(0.07), 1); /* 0.07 * 100 > 7 in binary */
	assert_int_equal(quantile(0.0700001), 2);
	assert_int_equal(quantile(0.5), 2);
	assert_int_equal(quantile(0.51), 3);
	assert_int_equal(quantile(0.9), 3);
	assert_int_equal(quantile(0.99), 4);
	assert_int_equal(quantile(0.999), 5);
	assert_int_equal(quantile(1), 5);
	for (unsigned int rank = 1; rank <= 100; rank++) {
		unsigned int expected = rank <= 7    ? 1
					: rank <= 50 ? 2
					: rank <= 90 ? 3
					: rank <= 99 ? 4
						     : 5;

		assert_int_equal(quantile(rank / 100.0), expected);
	}
}

TEST(test_huge_counts)
{
	hist.bucket[1] = 1ULL << 62;
	hist.bucket[2] = 1ULL << 62;
	hist.max_ns = 2;
	assert_int_equal(quantile(0.25), 1);
	assert_int_equal(quantile(0.75), 2);
	assert_int_equal(quantile(1), 2);
}

TEST(test_never_above_max)
{
	record(1024); /* bucket 1024 to 1279, middle 1151 */
	assert_int_equal(quantile(0.5), 1024);
	record(1200);
	assert_int_equal(quantile(0.5), 1151);
	start(NULL);
	record(UINT64_MAX);
	assert_true(quantile(0.5) <= UINT64_MAX);
	assert_true(quantile(0.5) >= OPEN_FROM - (OPEN_FROM >> 3));
	start(NULL);
	record(7ULL << 33); /* the first value of the last bucket */
	assert_true(quantile(0.5) == 7ULL << 33);
}

TEST(test_merge)
{
	struct nf_hist other = {.sum_ns = 100, .max_ns = 90};
	double mean;

	other.bucket[3] = 5;
	record(3);
	record(4);
	histogram_merge(&hist, &other);
	assert_int_equal(hist.bucket[3], 6);
	assert_int_equal(hist.bucket[4], 1);
	assert_int_equal(hist.sum_ns, 107);
	assert_int_equal(hist.max_ns, 90);
	assert_int_equal(histogram_count(&hist), 7);
	other.max_ns = 1;
	histogram_merge(&hist, &other);
	assert_int_equal(hist.max_ns, 90);
	assert_int_equal(histogram_mean(&hist, &mean), 0);
	assert_true(mean == 207.0 / 12);
}

/* ---- estimates ------------------------------------------------------------------- */

#define ROUNDS 1000
#define PACKETS 20000
#define MOST_SHIFT 6

static uint64_t seed;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void follow(uint64_t ns, unsigned int shift)
{
	uint64_t weight = UINT64_C(1) << shift;

	if (draw() >> 16 & (weight - 1))
		return;
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		if (ns >= histogram_bounds(i).below)
			continue;
		hist.bucket[i] += weight;
		break;
	}
	hist.journeys++;
	hist.sum_ns += weight * ns;
	hist.variance += weight * (weight - 1);
	if (ns > hist.max_ns)
		hist.max_ns = ns;
}

/* The p-th of a hundred parts of a known population; weights change on the way, as under load. */
static void sample(void)
{
	start(NULL);
	for (unsigned int i = 0; i < PACKETS; i++)
		follow(1000 + (uint64_t)(i % 1000) * 10, i * (MOST_SHIFT + 1) / PACKETS);
}

static bool contains(double q)
{
	uint64_t low, high, truth = 1000 + (uint64_t)(q * 1000) * 10;

	assert_int_equal(histogram_quantile_interval(&hist, q, &low, &high), 0);
	assert_true(low <= high);
	return low <= truth && truth <= high;
}

TEST(test_intervals_contain_the_truth)
{
	unsigned int counts = 0, medians = 0, tails = 0;
	double sum = 0;

	seed = 88172645463325252ULL;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t count, margin;

		sample();
		count = histogram_count(&hist);
		margin = histogram_count_margin(&hist);
		sum += (double)count;
		counts += count <= PACKETS + margin && count + margin >= PACKETS;
		medians += contains(0.5);
		tails += contains(0.9);
	}
	assert_true(counts >= ROUNDS * 93 / 100 && counts <= ROUNDS * 97 / 100);
	assert_true(medians >= ROUNDS * 95 / 100);
	assert_true(tails >= ROUNDS * 95 / 100);
	/* Without bias: the mean of the estimates is within 1 % of the truth. */
	assert_true(sum / ROUNDS > PACKETS * 0.99 && sum / ROUNDS < PACKETS * 1.01);
}

TEST(test_exact)
{
	uint64_t low, high;

	record(1024);
	record(2000);
	assert_false(histogram_is_estimate(&hist));
	assert_int_equal(histogram_count_margin(&hist), 0);
	assert_int_equal(histogram_followed(&hist), 2);
	assert_true(histogram_effective(&hist) == 2);
	assert_int_equal(histogram_quantile_interval(&hist, 0.5, &low, &high), 0);
	assert_int_equal(low, 1024);
	assert_int_equal(high, 1279);
}

TEST(test_effective)
{
	uint64_t low, high;

	/* 100 journeys of weight 4: as good as 100. */
	hist = (struct nf_hist){.journeys = 100, .variance = 100 * 4 * 3, .max_ns = 3};
	hist.bucket[2] = 400;
	assert_true(histogram_is_estimate(&hist));
	assert_int_equal(histogram_count_margin(&hist), 68); /* 1.96 * sqrt(1200), rounded up */
	assert_true(histogram_effective(&hist) == 100);
	assert_int_equal(histogram_followed(&hist), 100);
	/* A cluster's factor of 2 in the variance: fewer. */
	hist.variance *= 2;
	assert_true(histogram_effective(&hist) > 57 && histogram_effective(&hist) < 58);
	/* p50 has ends, p99 would need more journeys. */
	assert_int_equal(histogram_quantile_interval(&hist, 0.5, &low, &high), 0);
	assert_int_equal(low, 2);
	assert_int_equal(high, 2);
	assert_int_equal(histogram_quantile_interval(&hist, 0.99, &low, &high), -ENODATA);
	assert_int_equal(histogram_quantile_interval(&hist, 2, &low, &high), -EINVAL);
}
