/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a rate means compared with its past: scripted days whose marks are known. */
#include <stdlib.h>
#include <string.h>

#include "daemon/history/baseline_rates.h"
#include "tests/unit/test.h"

static uint32_t count[BASELINE_BUCKETS], covered[BASELINE_BUCKETS];

static int reset(void **state)
{
	(void)state;
	memset(count, 0, sizeof(count));
	for (int age = 0; age < BASELINE_BUCKETS; age++)
		covered[age] = BASELINE_STEP_S;
	return 0;
}

EACH_TEST(reset, NULL);

/* `packets` in each of these ages. */
static void fill(int from, int to, uint32_t packets)
{
	for (int age = from; age < to; age++)
		count[age] = packets;
}

static void uncover(int from, int to)
{
	for (int age = from; age < to; age++)
		count[age] = covered[age] = 0;
}

static enum baseline_mark mark(void)
{
	struct baseline_rate rate;

	baseline_evaluate(count, covered, &rate);
	return rate.mark;
}

static struct baseline_cover cover(void)
{
	struct baseline_cover now;

	baseline_cover(covered, &now);
	return now;
}

/* ---- covered time ---------------------------------------------------------------- */

TEST(test_a_day_of_coverage)
{
	assert_true(cover().ready);
	assert_int_equal(cover().covered_s, BASELINE_BUCKETS * BASELINE_STEP_S);
	/* The daemon runs for 23 hours, and then for a day. */
	uncover(138, BASELINE_BUCKETS);
	assert_false(cover().ready);
	reset(NULL);
	uncover(144, BASELINE_BUCKETS);
	assert_true(cover().ready);
	/* A night of 8 hours without netflowd; 9 hours are too many. */
	reset(NULL);
	uncover(20, 68);
	assert_true(cover().ready);
	uncover(20, 74);
	assert_false(cover().ready);
	/* More than half of the reference is missing. */
	reset(NULL);
	uncover(90, 90 + 43);
	assert_false(cover().ready);
	uncover(0, BASELINE_BUCKETS);
	assert_int_equal(cover().oldest, 0);
	assert_false(cover().ready);
}

/* ---- marks ------------------------------------------------------------------------- */

TEST(test_steady)
{
	assert_int_equal(mark(), BASELINE_NONE);
	fill(0, BASELINE_BUCKETS, 60);
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	/* Tenfold, as soon as it is seen: in a bucket that has run for four minutes. */
	count[0] = 240;
	assert_int_equal(mark(), BASELINE_GROWN);
	/* And for hours: the time since it grew is not in the reference. */
	fill(0, 70, 600);
	assert_int_equal(mark(), BASELINE_GROWN);
	/* Half of what it was is no news, nor twice as much for ten minutes. */
	fill(0, 70, 30);
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	fill(0, 70, 60);
	count[2] = 120;
	assert_int_equal(mark(), BASELINE_BACKGROUND);
}

TEST(test_rates)
{
	struct baseline_rate rate;

	fill(BASELINE_REFERENCE, BASELINE_BUCKETS, 60);
	fill(0, BASELINE_NOW_END, 600);
	covered[0] = 300;
	count[0] = 300;
	baseline_evaluate(count, covered, &rate);
	assert_true(rate.usual == 0.1);
	assert_true(rate.per_second == 1);
	assert_int_equal(rate.mark, BASELINE_GROWN);
}

TEST(test_new)
{
	struct baseline_rate rate;

	count[0] = 1;
	assert_int_equal(mark(), BASELINE_NEW);
	/* It began 12 hours ago, and stays new until that is in the reference. */
	fill(0, 73, 5);
	baseline_evaluate(count, covered, &rate);
	assert_int_equal(rate.mark, BASELINE_NEW);
	assert_int_equal(rate.first, 72);
	fill(0, 74, 5);
	assert_int_not_equal(mark(), BASELINE_NEW);
	/* Once in the night, and not since. */
	reset(NULL);
	count[40] = 3;
	assert_int_equal(mark(), BASELINE_NEW);
}

/* A job of each night: 20 s of 1,000 packets, a little earlier or later, at any time that one asks. */
TEST(test_daily_job)
{
	for (int age = 0; age < BASELINE_NOW_END; age++)
		for (int before = age + 134; before < BASELINE_BUCKETS; before++) {
			reset(NULL);
			count[age] = 1000;
			count[before] = 900;
			assert_int_equal(mark(), BASELINE_RECURRING);
		}
	/* On top of a steady rate. */
	fill(0, BASELINE_BUCKETS, 6);
	count[3] = count[147] = 1000;
	assert_int_equal(mark(), BASELINE_RECURRING);
	count[3] = 1600;
	assert_int_equal(mark(), BASELINE_GROWN);
	/* When it is over, the rest is background. */
	count[3] = 6;
	count[10] = 1000;
	assert_int_equal(mark(), BASELINE_BACKGROUND);
}

/* Whatever comes again within 26 hours is not new, and not grown. */
TEST(test_periods)
{
	for (int period = 1; period <= 156; period++) {
		memset(count, 0, sizeof(count));
		for (int age = 0; age < BASELINE_BUCKETS; age += period)
			count[age] = 500;
		assert_true(mark() == BASELINE_RECURRING || mark() == BASELINE_BACKGROUND);
		/* Once per hour and more is steady. */
		if (period <= 6)
			assert_int_equal(mark(), BASELINE_BACKGROUND);
		if (period > 12)
			assert_int_equal(mark(), BASELINE_RECURRING);
	}
}

/* A rate that grows a little each ten minutes, tenfold in a day. */
TEST(test_creeping)
{
	double packets = 10000;

	for (int age = 0; age < BASELINE_BUCKETS; age++, packets /= 1.01612)
		count[age] = (uint32_t)packets;
	assert_true(count[144] > 950 && count[144] < 1050);
	assert_int_equal(mark(), BASELINE_GROWN);
	/* One that doubles in a day stays background. */
	packets = 10000;
	for (int age = 0; age < BASELINE_BUCKETS; age++, packets /= 1.00482)
		count[age] = (uint32_t)packets;
	assert_int_equal(mark(), BASELINE_BACKGROUND);
}

/* Each night little, each day ten times as much: at every hour of the day. */
TEST(test_day_and_night)
{
	for (int now = 0; now < 144; now++) {
		for (int age = 0; age < BASELINE_BUCKETS; age++) {
			int hour = (now - age + 288) % 144 / 6;

			count[age] = hour >= 8 && hour < 18 ? 1000 : 100;
		}
		assert_int_equal(mark(), BASELINE_BACKGROUND);
	}
}

/* Chance: one packet per hour on average, and at times four in ten minutes. */
TEST(test_few)
{
	uint32_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		enum baseline_mark now;

		for (int age = 0; age < BASELINE_BUCKETS; age++) {
			count[age] = 0;
			for (int i = 0; i < 6; i++) {
				seed = seed * 1664525 + 1013904223;
				count[age] += seed >> 8 < (1u << 24) / 36;
			}
		}
		now = mark();
		assert_true(now != BASELINE_GROWN && now != BASELINE_NEW && now != BASELINE_NONE);
	}
	fill(0, BASELINE_BUCKETS, 0);
	count[100] = 1;
	count[0] = 19;
	assert_int_equal(mark(), BASELINE_RECURRING);
	count[0] = 20;
	assert_int_equal(mark(), BASELINE_GROWN);
	/* Too slow to be seen in ten minutes, but in an hour. */
	fill(0, BASELINE_NOW_END, 4);
	assert_int_equal(mark(), BASELINE_GROWN);
}

/* Ten a second for twenty seconds each half hour is steady; one such burst of a hundredfold is not. */
TEST(test_bursts)
{
	for (int age = 0; age < BASELINE_BUCKETS; age += 3)
		count[age] = 200;
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	count[1] = 20000;
	assert_int_equal(mark(), BASELINE_GROWN);
}

/* An incident of yesterday makes the same one not "grown", but never background. */
TEST(test_yesterdays_incident)
{
	fill(0, BASELINE_BUCKETS, 60);
	fill(100, 103, 60000);
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	count[0] = 60000;
	assert_int_equal(mark(), BASELINE_RECURRING);
}

/* ---- gaps ------------------------------------------------------------------------------ */

TEST(test_gaps_are_no_silence)
{
	/* 7 of 26 hours are missing: of the others, all have drops. */
	fill(0, BASELINE_BUCKETS, 60);
	uncover(80, 80 + 42);
	assert_true(cover().ready);
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	/* Three covered hours without a drop are more than a tenth of 26. */
	reset(NULL);
	fill(0, BASELINE_BUCKETS, 60);
	fill(30, 48, 0);
	assert_int_equal(mark(), BASELINE_RECURRING);
	/* The daemon restarted, and the bucket of now covers 10 s. */
	fill(0, BASELINE_BUCKETS, 60);
	covered[0] = 10;
	count[0] = 1;
	covered[1] = 300;
	count[1] = 30;
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	/* A gap in every hour of the reference: rates are of covered time. */
	reset(NULL);
	fill(0, BASELINE_BUCKETS, 600);
	for (int age = BASELINE_REFERENCE; age < BASELINE_BUCKETS; age += 2) {
		covered[age] = 300;
		count[age] = 300;
	}
	assert_int_equal(mark(), BASELINE_BACKGROUND);
}

/* The clock was set back by 40 minutes: buckets have twice the time, and twice the packets. */
TEST(test_clock_set_back)
{
	fill(0, BASELINE_BUCKETS, 600);
	for (int age = 1; age < 5; age++) {
		count[age] *= 5;
		covered[age] *= 5;
	}
	assert_int_equal(mark(), BASELINE_BACKGROUND);
}

TEST(test_large_counts)
{
	fill(0, BASELINE_BUCKETS, UINT32_MAX);
	assert_int_equal(mark(), BASELINE_BACKGROUND);
	fill(BASELINE_REFERENCE, BASELINE_BUCKETS, UINT32_MAX / 20);
	assert_int_equal(mark(), BASELINE_GROWN);
}

TEST_WITH(test_names, NULL, NULL)
{
	assert_string_equal(baseline_mark_name(BASELINE_BACKGROUND), "background");
	assert_string_equal(baseline_mark_name(BASELINE_NEW), "new");
	assert_null(baseline_mark_name(BASELINE_NONE));
}
