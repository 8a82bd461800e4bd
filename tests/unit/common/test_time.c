/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/array.h"
#include "common/time.h"
#include "tests/unit/test.h"

static int64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Parses RFC 3339 to nanoseconds since 1970; fails if a character differs from the format. */
static int64_t parse(const char *text, int *offset_minutes)
{
	struct tm tm = {0};
	int ns, hours, minutes, used = 0;
	char sign;

	assert_int_equal(strlen(text), TIME_TEXT_MAX - 1);
	assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%9d%c%2d:%2d%n", &tm.tm_year,
				&tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ns,
				&sign, &hours, &minutes, &used),
			 10);
	assert_int_equal(used, TIME_TEXT_MAX - 1);
	assert_true(sign == '+' || sign == '-');
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*offset_minutes = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
	return (timegm(&tm) - *offset_minutes * 60LL) * 1000000000LL + ns;
}

static void zone(const char *name)
{
	setenv("TZ", name, 1);
	tzset();
}

TEST(test_monotonic)
{
	uint64_t a = time_monotonic(), b = time_monotonic();
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(a > 0 && b >= a);
	assert_true(b <= (uint64_t)now.tv_sec * TIME_NS_PER_SECOND + (uint64_t)now.tv_nsec);
}

TEST(test_now)
{
	char text[TIME_TEXT_MAX];
	int64_t before = realtime(), after, shown;
	int offset;

	time_format(time_monotonic(), text);
	after = realtime();
	shown = parse(text, &offset);
	/* 1 ms covers the error of the stored clock difference (0.1 ms) and a preemption */
	assert_true(shown >= before - 1000000 && shown <= after + 1000000);
}

TEST(test_milliseconds)
{
	int64_t before = (int64_t)time_monotonic(), ms = time_monotonic_ms();
	int64_t after = (int64_t)time_monotonic();

	assert_true(before / 1000000 <= ms && ms <= after / 1000000);
}

TEST(test_zones)
{
	static const struct {
		const char *zone;
		int minutes;
	} cases[] = {{"UTC0", 0},	 {"XXX-1", 60},	    {"XXX+5", -300}, {"XXX-5:45", 345},
		     {"XXX+3:30", -210}, {"XXX+0:30", -30}, {"XXX-14", 840}};
	uint64_t now = time_monotonic();
	char text[TIME_TEXT_MAX];
	int64_t first = 0;
	int offset;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t shown;

		zone(cases[i].zone);
		time_format(now, text);
		shown = parse(text, &offset);
		assert_int_equal(offset, cases[i].minutes);
		if (i)
			assert_true(shown == first);
		first = shown;
	}
	zone("UTC0");
}

/* The same time always has the same text. */
TEST(test_steady)
{
	char first[TIME_TEXT_MAX], text[TIME_TEXT_MAX];

	time_format(1234567890123456789ULL, first);
	for (unsigned int i = 0; i < 1000; i++) {
		time_format(1234567890123456789ULL, text);
		assert_string_equal(text, first);
	}
}

/* Consecutive nanoseconds stay consecutive, also across the end of a second. */
TEST(test_carry)
{
	char text[TIME_TEXT_MAX];
	int64_t last = 0;
	int offset;

	for (uint64_t ns = 0; ns < 3 * TIME_NS_PER_SECOND; ns += 7777777) {
		int64_t shown;

		time_format(ns, text);
		shown = parse(text, &offset);
		if (ns)
			assert_true(shown - last == 7777777);
		last = shown;
	}
}

TEST(test_far_away)
{
	char text[TIME_TEXT_MAX];

	time_format(INT64_MAX, text);
	assert_int_equal(strlen(text), TIME_TEXT_MAX - 1);
	assert_memory_equal(text, "23", 2);
	/* Long before the boot. */
	time_format((uint64_t)INT64_MIN, text);
	assert_int_equal(strlen(text), TIME_TEXT_MAX - 1);
	assert_memory_equal(text, "17", 2);
}
