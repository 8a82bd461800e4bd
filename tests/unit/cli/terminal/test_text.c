/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/text.h"
#include "tests/unit/test.h"

static void expect_printable(const char *text, bool utf8, const char *expected)
{
	char *printable = text_printable(text, utf8);

	assert_non_null(printable);
	assert_string_equal(printable, expected);
	free(printable);
}

TEST(test_plain)
{
	expect_printable("", true, "");
	expect_printable("eth0", true, "eth0");
	expect_printable("rx irq→softirq 1.02 µs …", true, "rx irq→softirq 1.02 µs …");
	expect_printable("█▏▁", true, "█▏▁");
	expect_printable("日本", true, "日本");
}

TEST(test_controls)
{
	expect_printable("a\nb\tc\rd", true, "a\\x0ab\\x09c\\x0dd");
	expect_printable("\033[2J\033]0;title\a", true, "\\x1b[2J\\x1b]0;title\\x07");
	expect_printable("\x7f", true, "\\x7f");
	/* C1 control: some terminals treat U+009B as ESC [ */
	expect_printable("\xc2\x9b"
			 "31m",
			 true, "\\xc2\\x9b31m");
	/* right-to-left override, isolates, line separator */
	expect_printable("a\u202eb", true, "a\\xe2\\x80\\xaeb");
	expect_printable("\u2066\u2069", true, "\\xe2\\x81\\xa6\\xe2\\x81\\xa9");
	expect_printable("\u2028", true, "\\xe2\\x80\\xa8");
}

TEST(test_broken_utf8)
{
	expect_printable("\xff", true, "\\xff");
	expect_printable("a\xc3", true, "a\\xc3");
	expect_printable("\xc3(", true, "\\xc3(");
	expect_printable("\xe2\x82", true, "\\xe2\\x82");
	/* overlong '/', a surrogate, a value above U+10FFFF */
	expect_printable("\xc0\xaf", true, "\\xc0\\xaf");
	expect_printable("\xed\xa0\x80", true, "\\xed\\xa0\\x80");
	expect_printable("\xf4\x90\x80\x80", true, "\\xf4\\x90\\x80\\x80");
}

TEST(test_ascii)
{
	expect_printable("irq→softirq 1.02 µs ≤ … ·", false, "irq->softirq 1.02 us <= ... |");
	expect_printable("é", false, "\\xc3\\xa9");
	expect_printable("\033", false, "\\x1b");
}

TEST(test_width)
{
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("µs→…"), 4);
	assert_int_equal(text_width("日本"), 4);
	/* e with a combining accent */
	assert_int_equal(text_width("e\u0301"), 1);
}

TEST(test_fit)
{
	assert_int_equal(text_fit("abc", 0), 0);
	assert_int_equal(text_fit("abc", 2), 2);
	assert_int_equal(text_fit("abc", 9), 3);
	assert_int_equal(text_fit("µs", 1), 2);
	/* a wide character is never cut in half */
	assert_int_equal(text_fit("日本", 3), 3);
	assert_int_equal(text_fit("日本", 4), 6);
}

static void expect_cut(const char *text, size_t columns, bool utf8, const char *expected)
{
	char *cut = text_cut(text, columns, utf8);

	assert_non_null(cut);
	assert_string_equal(cut, expected);
	free(cut);
}

TEST(test_cut)
{
	expect_cut("abcdef", 6, true, "abcdef");
	expect_cut("abcdef", 5, true, "abcd…");
	expect_cut("abcdef", 5, false, "abcd~");
	expect_cut("abcdef", 1, true, "…");
	expect_cut("abcdef", 0, true, "");
	expect_cut("日本語", 4, true, "日…");
	expect_cut("日本語", 5, true, "日本…");
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
