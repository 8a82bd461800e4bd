/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "tests/unit/test.h"

#define US 1000ULL
#define MS 1000000ULL
#define S 1000000000ULL
#define KIB 1024ULL
#define MIB (KIB << 10)
#define GIB (MIB << 10)

TEST(test_count)
{
	static const struct {
		uint64_t value;
		const char *text;
	} cases[] = {
		{0, "0"},
		{7, "7"},
		{999, "999"},
		{1000, "1,000"},
		{4217, "4,217"},
		{99999, "99,999"},
		{999999, "999,999"},
		{1000000, "1,000,000"},
		{UINT64_MAX, "18,446,744,073,709,551,615"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_count(cases[i].value).s, cases[i].text);
}

TEST(test_duration)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{1, "1 ns"},
		{43, "43 ns"},
		{999, "999 ns"},
		{1000, "1.00 µs"},
		{1004, "1.00 µs"},
		{1005, "1.01 µs"},
		{1230, "1.23 µs"},
		{9994, "9.99 µs"},
		{9995, "10.0 µs"},
		{99949, "99.9 µs"},
		{99950, "100 µs"},
		{999499, "999 µs"},
		{999500, "1.00 ms"},
		{999900, "1.00 ms"},
		{1 * MS, "1.00 ms"},
		{1230 * US, "1.23 ms"},
		{9995 * US, "10.0 ms"},
		{99950 * US, "100 ms"},
		{999499999, "999 ms"},
		{999500 * US, "1.00 s"},
		{1 * S, "1.00 s"},
		{9995 * MS, "10.0 s"},
		{59949999999, "59.9 s"},
		{59950 * MS, "1 min 00 s"},
		{60 * S, "1 min 00 s"},
		{65 * S, "1 min 05 s"},
		{65499999999, "1 min 05 s"},
		{65500 * MS, "1 min 06 s"},
		{119500 * MS, "2 min 00 s"},
		{3599 * S, "59 min 59 s"},
		{3599499999999, "59 min 59 s"},
		{3599500 * MS, "1 h 00 min"},
		{3600 * S, "1 h 00 min"},
		{3629 * S, "1 h 00 min"},
		{3630 * S, "1 h 01 min"},
		{86369 * S, "23 h 59 min"},
		{86370 * S, "1 d 00 h"},
		{86400 * S, "1 d 00 h"},
		{(3 * 86400 + 4 * 3600) * S, "3 d 04 h"},
		{UINT64_MAX, "213504 d 00 h"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_string_equal(units_duration(cases[i].ns).s, cases[i].text);
		/* from 1 µs on both functions agree, because fractions of a nanosecond do not show */
		if (cases[i].ns >= US && cases[i].ns < 1 * S)
			assert_string_equal(units_duration_real((double)cases[i].ns).s,
					    cases[i].text);
	}
}

TEST(test_duration_real)
{
	static const struct {
		double ns;
		const char *text;
	} cases[] = {
		{0, "0 ns"},
		{0.25, "0.25 ns"},
		{1, "1.00 ns"},
		{9.994, "9.99 ns"},
		{9.995, "10.0 ns"},
		{43.21, "43.2 ns"},
		{99.94, "99.9 ns"},
		{99.95, "100 ns"},
		{843.7, "844 ns"},
		{999.4, "999 ns"},
		{999.5, "1.00 µs"},
		{1234.5, "1.23 µs"},
		{1234.99, "1.23 µs"},
		{1235, "1.24 µs"},
		{1e19, "106752 d 00 h"},
		{-1, "-"},
		{NAN, "-"},
		{INFINITY, "-"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_duration_real(cases[i].ns).s, cases[i].text);
}

TEST(test_rate)
{
	static const struct {
		double per_second;
		const char *text;
	} cases[] = {
		{0, "0/s"},	     {0.0001, "<0.01/s"}, {0.0099, "<0.01/s"},
		{0.01, "0.01/s"},    {0.25, "0.25/s"},	  {1, "1.00/s"},
		{9.994, "9.99/s"},   {9.995, "10.0/s"},	  {99.95, "100/s"},
		{999.4, "999/s"},    {999.5, "1.00 k/s"}, {1230, "1.23 k/s"},
		{123456, "123 k/s"}, {999499, "999 k/s"}, {999500, "1.00 M/s"},
		{1.5e9, "1.50 G/s"}, {2e12, "2.00 T/s"},  {1e15, ">100 T/s"},
		{-1, "-"},	     {NAN, "-"},	  {INFINITY, "-"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_rate(cases[i].per_second).s, cases[i].text);
}

TEST(test_bytes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{KIB, "1.00 KiB"},
		{1536, "1.50 KiB"},
		{10 * KIB - 6, "9.99 KiB"},
		{10 * KIB - 5, "10.0 KiB"},
		{100 * KIB, "100 KiB"},
		{1023 * KIB, "1023 KiB"},
		{1023 * KIB + 511, "1023 KiB"},
		{1023 * KIB + 512, "1.00 MiB"},
		{MIB - 1, "1.00 MiB"},
		{MIB, "1.00 MiB"},
		{32 * MIB, "32.0 MiB"},
		{GIB, "1.00 GiB"},
		{GIB << 10, "1.00 TiB"},
		{GIB << 20, "1.00 PiB"},
		{GIB << 30, "1.00 EiB"},
		{UINT64_MAX, "16.0 EiB"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_bytes(cases[i].bytes).s, cases[i].text);
}

TEST(test_percent)
{
	static const struct {
		double percent;
		const char *text;
	} cases[] = {
		{0, "0 %"},	   {1e-9, "<0.01 %"},  {0.0099, "<0.01 %"},  {0.01, "0.01 %"},
		{0.25, "0.25 %"},  {1, "1.00 %"},      {9.995, "10.0 %"},    {12.34, "12.3 %"},
		{99.94, "99.9 %"}, {99.95, ">99.9 %"}, {99.9999, ">99.9 %"}, {100, "100 %"},
		{150, "150 %"},	   {999.4, "999 %"},   {999.5, "1000 %"},    {-1, "-"},
		{NAN, "-"},	   {INFINITY, "-"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(units_percent(cases[i].percent).s, cases[i].text);
}

TEST(test_share)
{
	assert_string_equal(units_share(0, 0).s, "-");
	assert_string_equal(units_share(0, 5).s, "0 %");
	assert_string_equal(units_share(1, 3).s, "33.3 %");
	assert_string_equal(units_share(3, 3).s, "100 %");
	assert_string_equal(units_share(1, 1000000000).s, "<0.01 %");
	assert_string_equal(units_share(999999999, 1000000000).s, ">99.9 %");
	assert_string_equal(units_share(UINT64_MAX - 1, UINT64_MAX).s, "100 %");
}

/* Every text has a known unit and a value within 0.5 % of the duration. */
TEST(test_duration_sweep)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};

	for (uint64_t ns = 1; ns < 59 * S; ns += ns / 97 + 1) {
		struct units_text text = units_duration(ns);
		double value;
		char unit[8];
		size_t i;

		assert_int_equal(sscanf(text.s, "%lf %7s", &value, unit), 2);
		for (i = 0; i < 4 && strcmp(unit, units[i].unit); i++)
			;
		assert_true(i < 4);
		assert_true(fabs(value * units[i].ns - (double)ns) <= (double)ns * 0.005001);
	}
}
