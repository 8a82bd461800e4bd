/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "daemon/probe/events/merge.h"
#include "tests/unit/test.h"

TEST(test_nothing)
{
	OWN_MERGE struct merge *merge = merge_new(3);
	uint32_t source;
	uint64_t time_ns;

	assert_non_null(merge);
	assert_false(merge_first(merge, &source, &time_ns));
	merge_add(merge, 2, 7);
	assert_true(merge_first(merge, &source, &time_ns));
	assert_int_equal(source, 2);
	assert_int_equal(time_ns, 7);
	merge_drop(merge);
	assert_false(merge_first(merge, &source, &time_ns));
}

TEST(test_equal_times)
{
	OWN_MERGE struct merge *merge = merge_new(4);
	uint32_t source;
	uint64_t time_ns;

	for (uint32_t i = 4; i; i--)
		merge_add(merge, i - 1, 100);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(merge_first(merge, &source, &time_ns));
		assert_int_equal(source, i);
		merge_drop(merge);
	}
}

/* 255 CPUs, each with 1,000 events, many of which have the same time as others. */
TEST(test_many)
{
	enum { SOURCES = 255, EVENTS = 1000 };
	OWN_MERGE struct merge *merge = merge_new(SOURCES);
	uint64_t next_ns[SOURCES], time_ns, last_ns = 0;
	uint32_t source, left[SOURCES], last = 0, given = 0;

	srandom(20261127);
	for (uint32_t i = 0; i < SOURCES; i++) {
		next_ns[i] = (uint64_t)random() % 50;
		left[i] = EVENTS;
		merge_add(merge, i, next_ns[i]);
	}
	while (merge_first(merge, &source, &time_ns)) {
		assert_true(source < SOURCES && time_ns == next_ns[source]);
		assert_true(time_ns > last_ns || (time_ns == last_ns && source >= last));
		last_ns = time_ns;
		last = source;
		given++;
		next_ns[source] += (uint64_t)random() % 50;
		if (--left[source])
			merge_advance(merge, next_ns[source]);
		else
			merge_drop(merge);
	}
	assert_int_equal(given, SOURCES * EVENTS);
}
