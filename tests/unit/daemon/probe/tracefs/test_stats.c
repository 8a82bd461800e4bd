/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/probe/tracefs/stats.h"
#include "tests/unit/test.h"

/* As Linux 6.18 prints it. */
static const char text[] = "entries: 17\n"
			   "overrun: 4000\n"
			   "commit overrun: 200\n"
			   "bytes: 1092\n"
			   "oldest event ts: 37882.954963\n"
			   "now ts: 37883.397554\n"
			   "dropped events: 10\n"
			   "read events: 1000\n";

TEST(test_counters)
{
	struct stats stats = {};

	assert_int_equal(stats_parse(text, &stats), 0);
	assert_int_equal(stats.events, 1017);
	assert_int_equal(stats.lost, 4210);
}

/* "overrun" is also the end of another line, and a number may be the last character. */
TEST(test_order_does_not_matter)
{
	struct stats stats = {};

	assert_int_equal(stats_parse("commit overrun: 1\nread events: 2\ndropped events: 4\n"
				     "overrun: 8\nentries: 18446744073709551613",
				     &stats),
			 0);
	assert_int_equal(stats.lost, 13);
	assert_true(stats.events == UINT64_MAX);
}

TEST(test_a_missing_counter_is_not_0)
{
	static const char *const names[] = {
		"entries:", "\noverrun:", "commit overrun:", "dropped events:", "read events:"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct stats stats = {.events = 1, .lost = 2};
		char copy[sizeof(text)];

		memcpy(copy, text, sizeof(text));
		strstr(copy, names[i])[1] = '?';
		assert_int_equal(stats_parse(copy, &stats), -EINVAL);
		assert_int_equal(stats.events, 1);
		assert_int_equal(stats.lost, 2);
	}
}

TEST(test_not_a_number)
{
	static const char *const wrong[] = {"", "entries", "entries: \n", "entries: 17 pages\n",
					    "entries: -\n"};
	struct stats stats;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char copy[512];

		strcpy(copy, wrong[i]);
		strcat(copy, strchr(text, '\n') + 1);
		assert_int_equal(stats_parse(copy, &stats), -EINVAL);
	}
}
