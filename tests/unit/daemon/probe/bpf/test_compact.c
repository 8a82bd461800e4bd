/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "daemon/probe/bpf/compact.h"
#include "tests/unit/test.h"

static struct nf_device_stats stats, back;

static void reset(void)
{
	memset(&stats, 0, sizeof(stats));
	memset(&back, 0, sizeof(back));
}

/* Compact and back; returns the bytes that it took. */
static uint32_t round_trip(void)
{
	struct compact *compact = NULL;
	uint32_t bytes;

	assert_int_equal(compact_new(&compact, &stats), 0);
	bytes = compact->bytes;
	compact_add(compact, &back);
	free(compact);
	return bytes;
}

TEST(test_nothing_is_small)
{
	reset();
	assert_true(round_trip() <= 6);
	assert_memory_equal(&back, &stats, sizeof(stats));
	compact_add(NULL, &back);
	assert_memory_equal(&back, &stats, sizeof(stats));
}

TEST(test_a_usual_device)
{
	reset();
	for (int i = 0; i < 8; i++) {
		stats.hist[i].sum_ns = 250000;
		stats.hist[i].max_ns = 9000;
		for (int bucket = 40; bucket < 50; bucket++)
			stats.hist[i].bucket[bucket] = 5;
	}
	assert_true(round_trip() < 200);
	assert_memory_equal(&back, &stats, sizeof(stats));
}

/* Each number at its limit, so that the longest form fits. */
TEST(test_the_largest)
{
	reset();
	memset(&stats.hist, 0xff, sizeof(stats.hist));
	stats.polls = stats.poll_packets = stats.full_budgets = UINT64_MAX;
	stats.received = stats.received_variance = UINT64_MAX;
	round_trip();
	assert_memory_equal(back.hist, stats.hist, sizeof(stats.hist));
	assert_true(back.polls == UINT64_MAX && back.full_budgets == UINT64_MAX);
	assert_true(back.received == UINT64_MAX && back.received_variance == UINT64_MAX);
}

/* Durations of 0 have neither sum nor maximum. */
TEST(test_durations_of_zero)
{
	reset();
	assert_true(compact_hist_is_empty(&stats.hist[3]));
	stats.hist[3].bucket[0] = 7;
	assert_false(compact_hist_is_empty(&stats.hist[3]));
	round_trip();
	assert_int_equal(back.hist[3].bucket[0], 7);
}

TEST(test_sums)
{
	struct compact *compact = NULL;

	reset();
	stats.hist[1] = (struct nf_hist){.sum_ns = 30, .max_ns = 20};
	stats.hist[1].bucket[NF_HIST_BUCKETS - 1] = 2;
	stats.polls = 3;
	stats.received = 5;
	stats.received_variance = 40;
	back.hist[1] = (struct nf_hist){.sum_ns = 5, .max_ns = 25};
	back.hist[1].bucket[NF_HIST_BUCKETS - 1] = 1;
	compact_merge(&back, &stats);
	assert_int_equal(compact_new(&compact, &stats), 0);
	compact_add(compact, &back);
	free(compact);
	assert_int_equal(back.hist[1].sum_ns, 65);
	assert_int_equal(back.hist[1].max_ns, 25);
	assert_int_equal(back.hist[1].bucket[NF_HIST_BUCKETS - 1], 5);
	assert_int_equal(back.polls, 6);
	assert_int_equal(back.received, 10);
	assert_int_equal(back.received_variance, 80);
}

static uint64_t random_number(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	/* All lengths are equally likely. */
	return (*seed >> 7) >> (*seed >> 58);
}

TEST(test_random)
{
	uint64_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		reset();
		for (int i = 0; i < NF_HIST_COUNT; i++)
			for (uint64_t n = random_number(&seed) % 9; n; n--) {
				stats.hist[i].bucket[random_number(&seed) % NF_HIST_BUCKETS] =
					random_number(&seed);
				stats.hist[i].sum_ns = random_number(&seed) | 1;
				stats.hist[i].max_ns = random_number(&seed);
			}
		stats.poll_packets = random_number(&seed);
		round_trip();
		assert_memory_equal(&back, &stats, sizeof(stats));
	}
}
