/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "common/array.h"
#include "common/value.h"
#include "tests/unit/test.h"

struct number_case {
	const char *text;
	uint64_t value;
};

typedef int (*reader)(const char *text, uint64_t most, uint64_t *value);

static void expect_read(reader read, const struct number_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 1;

		assert_int_equal(read(cases[i].text, UINT64_MAX, &value), 0);
		assert_int_equal(value, cases[i].value);
		assert_int_equal(read(cases[i].text, cases[i].value, &value), 0);
		if (cases[i].value)
			assert_int_equal(read(cases[i].text, cases[i].value - 1, &value), -EINVAL);
	}
}

static void expect_refused(reader read, const char *const *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 7;

		assert_int_equal(read(cases[i], UINT64_MAX, &value), -EINVAL);
		assert_int_equal(value, 7);
	}
}

TEST(test_counts)
{
	static const struct number_case cases[] = {
		{"0", 0}, {"17", 17}, {"010", 10}, {"18446744073709551615", UINT64_MAX}};
	static const char *const refused[] = {"",     " 1",  "1 ",  "-1", "+1",
					      "0x10", "1e3", "1.0", "1K", "18446744073709551616"};

	expect_read(value_count, cases, ARRAY_SIZE(cases));
	expect_refused(value_count, refused, ARRAY_SIZE(refused));
}

TEST(test_sizes)
{
	static const struct number_case cases[] = {
		{"0", 0},	   {"65536", 65536},	       {"1B", 1},
		{"64KiB", 65536},  {"64 MiB", 64 << 20},       {"2M", 2 << 20},
		{"1GiB", 1 << 30}, {"16T", UINT64_C(16) << 40}};
	static const char *const refused[] = {
		"",	 "MiB",	  "1MB",      "1 mib",	     "1.5MiB",
		"-1KiB", "1KiB ", "1KiB2MiB", "16777216TiB", "99999999999999999999"};

	expect_read(value_bytes, cases, ARRAY_SIZE(cases));
	expect_refused(value_bytes, refused, ARRAY_SIZE(refused));
}

TEST(test_durations)
{
	static const struct number_case cases[] = {
		{"0", 0},
		{"0s", 0},
		{"250us", 250000},
		{"250µs", 250000},
		{"5 ms", 5000000},
		{"1s", 1000000000},
		{"1.5s", 1500000000},
		{"0.1us", 100},
		{"0.0000000004s", 0},
		{"1.0000000009s", 1000000000},
		{"10min", UINT64_C(600000000000)},
		{"10m", UINT64_C(600000000000)},
		{"2h", UINT64_C(7200000000000)},
		{"1h30m", UINT64_C(5400000000000)},
		{"1 h 30 min", UINT64_C(5400000000000)},
		{"1d 2h3m4.5s", UINT64_C(93784500000000)},
		{"18446744073709551615ns", UINT64_MAX},
	};
	static const char *const refused[] = {"",	 "17",	       "s",
					      "-1s",	 "+1s",	       "1.s",
					      ".5s",	 "1 hour",     "1s ",
					      " 1s",	 "0x10s",      "1ss",
					      "1s1s",	 "1m1h",       "1.5h30m",
					      "1h30",	 "1h,30m",     "1e3s",
					      "300000d", "213503d24h", "99999999999999999999s"};

	expect_read(value_duration, cases, ARRAY_SIZE(cases));
	expect_refused(value_duration, refused, ARRAY_SIZE(refused));
}

TEST(test_reals)
{
	static const char *const refused[] = {"",    "-1",  "+1",    "0x1",   "1s",
					      "nan", "inf", "1e999", "1.2.3", " 1"};
	double number = 7;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(value_real(refused[i], &number), -EINVAL);
	assert_true(number == 7);
	assert_int_equal(value_real("0.25", &number), 0);
	assert_true(number == 0.25);
	assert_int_equal(value_real(".5", &number), 0);
	assert_true(number == 0.5);
	assert_int_equal(value_real("1e6", &number), 0);
	assert_true(number == 1e6);
}

TEST(test_switches)
{
	static const char *const words[2][4] = {{"no", "off", "false", "0"},
						{"yes", "on", "true", "1"}};
	bool on = false;

	for (int i = 0; i < 8; i++) {
		on = i < 4;
		assert_int_equal(value_switch(words[i / 4][i % 4], &on), 0);
		assert_int_equal(on, i >= 4);
	}
	assert_int_equal(value_switch("Yes", &on), -EINVAL);
	assert_int_equal(value_switch("", &on), -EINVAL);
	assert_true(on);
}

TEST(test_words)
{
	static const char *const words[] = {"auto", "fentry", "kprobe", NULL};
	const char *nearest = NULL;
	char text[32];

	assert_int_equal(value_word(words, "kprobe", &nearest), 2);
	assert_int_equal(value_word(words, "kprobes", &nearest), -EINVAL);
	assert_string_equal(nearest, "kprobe");
	assert_int_equal(value_word(words, "xyz", &nearest), -EINVAL);
	assert_null(nearest);
	value_words_text(words, text, sizeof(text));
	assert_string_equal(text, "auto, fentry or kprobe");
	value_words_text(words + 2, text, sizeof(text));
	assert_string_equal(text, "kprobe");
	value_words_text(words, text, 10);
	assert_string_equal(text, "auto, fen");
}

/* Written with the largest unit that divides it, and read back as the same. */
TEST(test_texts)
{
	static const struct number_case durations[] = {
		{"0", 0},
		{"1ns", 1},
		{"1001ns", 1001},
		{"250us", 250000},
		{"10ms", 10000000},
		{"1s", 1000000000},
		{"90s", UINT64_C(90000000000)},
		{"1min", UINT64_C(60000000000)},
		{"1h", UINT64_C(3600000000000)},
		{"36525d", UINT64_C(3155760000000000000)},
		{"18446744073709551615ns", UINT64_MAX},
	};
	static const struct number_case sizes[] = {{"0", 0},
						   {"1025", 1025},
						   {"48MiB", 48 << 20},
						   {"1536KiB", 1536 << 10},
						   {"1TiB", UINT64_C(1) << 40}};

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		assert_string_equal(value_duration_text(durations[i].value).s, durations[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_string_equal(value_bytes_text(sizes[i].value).s, sizes[i].text);
	expect_read(value_duration, durations, ARRAY_SIZE(durations));
	expect_read(value_bytes, sizes, ARRAY_SIZE(sizes));
}
