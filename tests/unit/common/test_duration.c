/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "common/array.h"
#include "common/duration.h"
#include "tests/unit/test.h"

TEST(test_units)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{"0", 0},
		{"250us", 250000},
		{"250µs", 250000},
		{"5 ms", 5000000},
		{"1s", 1000000000},
		{"10min", UINT64_C(600000000000)},
		{"10m", UINT64_C(600000000000)},
		{"2h", UINT64_C(7200000000000)},
		{"1d", UINT64_C(86400000000000)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 1;

		assert_int_equal(duration_parse(cases[i].text, UINT64_MAX, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

TEST(test_refused)
{
	static const char *const cases[] = {"",	   "17",    "s",      "-1s",
					    "+1s", "1.5s",  "1 hour", "1s ",
					    " 1s", "0x10s", "1ss",    "99999999999999999999s"};
	uint64_t ns = 7;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(duration_parse(cases[i], UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(duration_parse("2s", 1999999999, &ns), -EINVAL);
	assert_int_equal(duration_parse("300000d", UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(ns, 7);
}

/* Written with the largest unit that divides it, and read back as the same. */
TEST(test_format)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1ns"},
		{1001, "1001ns"},
		{250000, "250us"},
		{10000000, "10ms"},
		{1000000000, "1s"},
		{UINT64_C(90000000000), "90s"},
		{UINT64_C(60000000000), "1min"},
		{UINT64_C(3600000000000), "1h"},
		{UINT64_C(3155760000000000000), "36525d"},
		{UINT64_MAX, "18446744073709551615ns"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns;

		assert_string_equal(duration_format(cases[i].ns).s, cases[i].text);
		assert_int_equal(duration_parse(cases[i].text, UINT64_MAX, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}
