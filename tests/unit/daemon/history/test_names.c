/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>

#include "daemon/history/names.h"
#include "tests/unit/test.h"

static struct series_names *names;

static int make_names(void **state)
{
	const struct series_sources none = {0};

	(void)state;
	return series_names_new(&names, &none);
}

static int free_names(void **state)
{
	(void)state;
	series_names_free(&names);
	return 0;
}

EACH_TEST(make_names, free_names);

/* An interval in which the CPUs from `first` on, `count` of them, had numbers. */
static void interval(uint32_t first, uint32_t count)
{
	for (uint32_t cpu = first; cpu < first + count; cpu++)
		assert_non_null(series_of_cpu(names, cpu));
	series_names_tidy(names);
}

/* Whether a series is still the one that was held; it would be another one if it had been forgotten. */
static bool is_kept(struct series *held, uint32_t cpu)
{
	return series_of_cpu(names, cpu) == held;
}

/* However many are used in one interval: when they are not, they go. */
TEST(test_names_that_come_and_go)
{
	enum { MANY = 10 * SERIES_UNUSED_MAX, FEW = 10 };

	interval(0, MANY);
	assert_int_equal(series_names_count(names), MANY);
	for (uint32_t i = 1; i < 100; i++) {
		interval(MANY * i, MANY);
		assert_int_equal(series_names_count(names), MANY);
	}
	interval(0, FEW);
	assert_int_equal(series_names_count(names), FEW);
}

/* Those that were not used for longest go first, and those of an interval together. */
TEST(test_oldest_unused_names_go)
{
	OWN_SERIES struct series *old = series_hold(series_of_cpu(names, 0));
	OWN_SERIES struct series *newer = NULL;

	interval(0, 1000);
	interval(1000, 1000);
	newer = series_hold(series_of_cpu(names, 2000));
	interval(2000, 2000);
	/* As many are unused as may be. */
	assert_int_equal(series_names_count(names), 4000);
	series_names_tidy(names);
	assert_int_equal(series_names_count(names), 2000);
	assert_true(is_kept(newer, 2000));
	assert_false(is_kept(old, 0));
}

TEST(test_names_that_are_used_now_and_then_stay)
{
	OWN_SERIES struct series *held = series_hold(series_of_cpu(names, 7));

	for (int i = 0; i < 300; i++)
		series_names_tidy(names);
	assert_true(is_kept(held, 7));
	for (int i = 0; i < 800; i++)
		series_names_tidy(names);
	assert_int_equal(series_names_count(names), 0);
}
