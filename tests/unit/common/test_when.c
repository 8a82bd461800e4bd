/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/array.h"
#include "common/when.h"
#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)

/* 2026-11-22 14:30:00 UTC, a Sunday. */
#define NOW (INT64_C(1795357800) * SECOND)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

struct example {
	const char *text;
	int64_t ns; /* -1: not valid */
};

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

static void check(const struct example *example, size_t count, int64_t now)
{
	for (size_t i = 0; i < count; i++) {
		int64_t ns = 7;
		int r = when_parse(example[i].text, now, &ns);

		if (example[i].ns < 0 ? r != -EINVAL || ns != 7 : r != 0 || ns != example[i].ns)
			fail_msg("'%s': %d, %lld instead of %lld", example[i].text, r,
				 (long long)ns, (long long)example[i].ns);
	}
}

TEST(test_ago)
{
	static const struct example examples[] = {
		{"15m", NOW - 15 * 60 * SECOND},
		{"-15m", NOW - 15 * 60 * SECOND},
		{"1h", NOW - HOUR},
		{"-7d", NOW - 7 * DAY},
		{"90s", NOW - 90 * SECOND},
		{"250ms", NOW - SECOND / 4},
		{"0", NOW},
		{"now", NOW},
		{"--15m", -1},
		{"+15m", -1},
		{"15", -1},
		{"-", -1},
		{"", -1},
		{"15 parsecs", -1},
		{"100000d", -1},
	};

	use_zone("UTC");
	check(examples, ARRAY_SIZE(examples), NOW);
}

TEST(test_local)
{
	/* Now is 15:30 there. */
	static const struct example examples[] = {
		{"15:30", NOW},
		{"15:29", NOW - 60 * SECOND},
		{"15:31", NOW + 60 * SECOND - DAY},
		{"03:00", NOW - 12 * HOUR - HOUR / 2},
		{"03:00:30", NOW - 12 * HOUR - HOUR / 2 + 30 * SECOND},
		{"today", NOW - 15 * HOUR - HOUR / 2},
		{"yesterday", NOW - 39 * HOUR - HOUR / 2},
		{"today 03:00", NOW - 12 * HOUR - HOUR / 2},
		{"today 23:00", NOW + 7 * HOUR + HOUR / 2},
		{"yesterday 03:00", NOW - 36 * HOUR - HOUR / 2},
		{"2026-11-22", NOW - 15 * HOUR - HOUR / 2},
		{"2026-11-21 15:30", NOW - DAY},
		{"2026-11-21T15:30", NOW - DAY},
		{"2026-11-21 15:30:01", NOW - DAY + SECOND},
		{"2026-11-22T14:30:00Z", NOW},
		{"2026-11-22T15:30:00+01:00", NOW},
		{"2026-11-22 10:00:00-04:30", NOW},
		{"2026-11-22T14:30:00.250000001Z", NOW + SECOND / 4 + 1},
		{"1970-01-01T00:00:00Z", 0},
		{"3:00", -1},
		{"24:00", -1},
		{"03:60", -1},
		{"03:00x", -1},
		{"yesterday03:00", -1},
		{"tomorrow", -1},
		{"2026-02-30", -1},
		{"2026-13-01", -1},
		{"2026-11-22T14:30:00+1", -1},
		{"1969-12-31T23:59:59Z", -1},
		{"9999-12-31", -1},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check(examples, ARRAY_SIZE(examples), NOW);
}

/* The night in which summer time ends has 25 hours: 03:00 was 7 hours before 10:00, midnight 11. */
TEST(test_summer_time)
{
	const int64_t now = INT64_C(1792918800) * SECOND; /* 2026-10-25 10:00 CET */
	const struct example examples[] = {
		{"03:00", now - 7 * HOUR},
		{"today", now - 11 * HOUR},
		{"yesterday 10:00", now - 25 * HOUR},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check(examples, ARRAY_SIZE(examples), now);
}

/*
 * 2026-03-29 00:00 and 2026-10-25 00:00 by the rule of Europe/Berlin: the clock goes from 02:00 to 03:00, and from
 * 03:00 to 02:00.
 */
#define SPRING (INT64_C(1774738800) * SECOND)
#define AUTUMN (INT64_C(1792879200) * SECOND)

TEST(test_summer_time_begins)
{
	/* Now is 10:00, 9 hours after midnight. */
	const struct example today[] = {
		{"today", SPRING},
		{"01:59", SPRING + HOUR * 119 / 60},
		{"03:00", SPRING + 2 * HOUR},
		{"today 03:00", SPRING + 2 * HOUR},
		{"yesterday 03:00", SPRING - 21 * HOUR},
		{"2026-03-29 03:00", SPRING + 2 * HOUR},
		/* This time does not exist: as long after midnight as on other days. */
		{"02:30", SPRING + HOUR * 5 / 2},
		{"24h", SPRING - 15 * HOUR},
		{"yesterday 10:00", SPRING - 14 * HOUR},
	};
	/* The day after, at 10:00. */
	const struct example after[] = {
		{"yesterday", SPRING},
		{"yesterday 03:00", SPRING + 2 * HOUR},
		{"yesterday 01:00", SPRING + HOUR},
		{"yesterday 02:30", SPRING + HOUR * 5 / 2},
		{"03:00", SPRING + 26 * HOUR},
	};
	/* At 02:00, 23 hours after midnight of the day before: 02:30 was yesterday, where there was none. */
	const struct example night[] = {
		{"02:30", SPRING + HOUR * 5 / 2},
		{"01:30", SPRING + 24 * HOUR + HOUR / 2},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check(today, ARRAY_SIZE(today), SPRING + 9 * HOUR);
	check(after, ARRAY_SIZE(after), SPRING + 33 * HOUR);
	check(night, ARRAY_SIZE(night), SPRING + 25 * HOUR);
}

TEST(test_summer_time_ends)
{
	/* Now is 10:00, 11 hours after midnight. */
	const struct example today[] = {
		{"today", AUTUMN},
		{"03:00", AUTUMN + 4 * HOUR},
		{"yesterday 03:00", AUTUMN - 21 * HOUR},
		{"yesterday 10:00", AUTUMN - 14 * HOUR},
		{"01:59", AUTUMN + HOUR * 119 / 60},
		/* This time comes twice: the first one, so that `--since` leaves out neither. */
		{"02:30", AUTUMN + HOUR * 5 / 2},
		{"2026-10-25T02:30:00+02:00", AUTUMN + HOUR * 5 / 2},
		{"2026-10-25T02:30:00+01:00", AUTUMN + HOUR * 7 / 2},
	};
	const struct example after[] = {
		{"yesterday", AUTUMN},
		{"yesterday 03:00", AUTUMN + 4 * HOUR},
		{"yesterday 01:00", AUTUMN + HOUR},
		{"03:00", AUTUMN + 28 * HOUR},
	};
	/* Between both times of 02:15: 02:30 has been, once. */
	const struct example between[] = {
		{"02:30", AUTUMN + HOUR * 5 / 2},
		{"03:00", AUTUMN - 21 * HOUR},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check(today, ARRAY_SIZE(today), AUTUMN + 11 * HOUR);
	check(after, ARRAY_SIZE(after), AUTUMN + 35 * HOUR);
	check(between, ARRAY_SIZE(between), AUTUMN + HOUR * 13 / 4);
}

struct end {
	const char *text;
	int64_t since, ns;
};

static void check_ends(const struct end *end, size_t count, int64_t now)
{
	for (size_t i = 0; i < count; i++) {
		int64_t ns = -1;
		int r = when_parse_end(end[i].text, now, end[i].since, &ns);

		if (r || ns != end[i].ns)
			fail_msg("'%s' after %lld: %d, %lld instead of %lld", end[i].text,
				 (long long)end[i].since, r, (long long)ns, (long long)end[i].ns);
	}
}

/* A time of day ends the period after its begin: the next one, of that day or the day after. */
TEST(test_end)
{
	/* Now is 14:30. */
	static const struct end ends[] = {
		{"03:10", NOW - 11 * HOUR - HOUR / 2, NOW - 11 * HOUR - HOUR / 3},
		/* From 23:00 to 01:00. */
		{"01:00", NOW - 15 * HOUR - HOUR / 2, NOW - 13 * HOUR - HOUR / 2},
		{"23:00", NOW - 3 * DAY, NOW - 3 * DAY + 8 * HOUR + HOUR / 2},
		{"14:30", NOW - DAY, NOW},
		{"14:30:00", NOW - DAY - SECOND, NOW - DAY},
		/* It is still to come. */
		{"14:31", NOW - HOUR, NOW + 60 * SECOND},
		{"00:00", NOW - 14 * HOUR - HOUR / 2, NOW + 9 * HOUR + HOUR / 2},
		/* These say by themselves when they are. */
		{"now", NOW - DAY, NOW},
		{"10m", NOW - DAY, NOW - HOUR / 6},
		{"yesterday 03:10", NOW - 9 * DAY, NOW - 35 * HOUR - HOUR / 3},
		{"2026-11-21 03:10", NOW - 9 * DAY, NOW - 35 * HOUR - HOUR / 3},
		{"2026-11-22T14:30:00Z", NOW - 9 * DAY, NOW},
	};

	use_zone("UTC");
	check_ends(ends, ARRAY_SIZE(ends), NOW);
}

TEST(test_end_in_summer_time)
{
	const struct end ends[] = {
		/* Over the hour that is missing, and the one that comes twice. */
		{"03:10", SPRING + HOUR * 119 / 60, SPRING + HOUR * 13 / 6},
		{"02:30", SPRING + HOUR, SPRING + HOUR * 5 / 2},
		{"02:30", SPRING + 3 * HOUR, SPRING + HOUR * 51 / 2},
		{"01:30", SPRING - HOUR, SPRING + HOUR * 3 / 2},
		{"03:10", AUTUMN + HOUR, AUTUMN + HOUR * 25 / 6},
		{"02:30", AUTUMN + HOUR, AUTUMN + HOUR * 5 / 2},
		/* From 02:50 to 02:10: the second one. */
		{"02:10", AUTUMN + HOUR * 17 / 6, AUTUMN + HOUR * 19 / 6},
		{"02:30", AUTUMN + HOUR * 5 / 2, AUTUMN + HOUR * 7 / 2},
		{"02:30", AUTUMN + HOUR * 7 / 2, AUTUMN + HOUR * 55 / 2},
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check_ends(ends, ARRAY_SIZE(ends), AUTUMN + 9 * DAY);
	/* At the end of a month and a year. */
	check_ends((const struct end[]){{"00:30", INT64_C(1798757100) * SECOND,
					 INT64_C(1798759800) * SECOND}},
		   1, AUTUMN);
}

TEST(test_rfc3339_only)
{
	int64_t ns;

	assert_int_equal(when_parse_rfc3339("2026-11-22T14:30:00Z", &ns), 0);
	assert_int_equal(ns, NOW);
	assert_int_equal(when_parse_rfc3339("2026-11-22T14:30:00", &ns), -EINVAL);
	assert_int_equal(when_parse_rfc3339("15m", &ns), -EINVAL);
	assert_int_equal(when_parse_rfc3339("", &ns), -EINVAL);
}
