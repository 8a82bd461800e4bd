/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For how much of a time journeys were followed. */

#include "daemon/cost/seen.h"
#include "tests/unit/test.h"

TEST(nothing_is_seen_before_it_begins)
{
	struct seen seen;
	struct seen_part part;

	seen_begin(&seen, 100);
	part = seen_part(&seen, 0, 200);
	assert_float_equal(part.share, 0, 1e-9);
	assert_int_equal(part.longest_ns, 100);
}

TEST(gaps_count_since_the_start_and_since_a_time)
{
	struct seen seen;
	struct seen_part part;

	seen_begin(&seen, 1000);
	seen_set(&seen, true, 1000);
	seen_set(&seen, false, 1500);
	seen_set(&seen, true, 1700);
	seen_set(&seen, true, 1750);
	seen_set(&seen, false, 1900);
	part = seen_part(&seen, 0, 2000);
	assert_float_equal(part.share, 0.7, 1e-9);
	assert_int_equal(part.longest_ns, 200);
	part = seen_part(&seen, 1600, 2000);
	assert_float_equal(part.share, 0.5, 1e-9);
	assert_int_equal(part.longest_ns, 100);
	/* The last gap is over, and was not the longest. */
	seen_set(&seen, true, 2000);
	assert_int_equal(seen_part(&seen, 0, 2000).longest_ns, 200);
	assert_int_equal(seen_part(&seen, 1600, 2000).longest_ns, 100);
}

TEST(old_gaps_are_not_kept_one_by_one)
{
	struct seen seen;
	struct seen_part part;
	uint64_t now = 1000;

	seen_begin(&seen, now);
	seen_set(&seen, true, now);
	for (int i = 0; i < 2 * SEEN_GAPS_MAX; i++) {
		seen_set(&seen, false, now += 90);
		seen_set(&seen, true, now += 10);
	}
	part = seen_part(&seen, 0, now);
	assert_float_equal(part.share, 0.9, 1e-9);
	part = seen_part(&seen, 2000, now);
	assert_true(part.from_ns > 2000);
	assert_float_equal(part.share, 0.9, 0.01);
}
