/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "daemon/cost/pause_text.h"
#include "tests/unit/test.h"

#define UNTIL INT64_C(1795572000000000000) /* 2026-11-25T03:00:00+01:00 */

TEST(test_texts_of_an_administrator)
{
	static const struct {
		const char *text;
		enum pause_level level;
		int64_t until_ns;
	} cases[] = {
		{"", PAUSE_STAGES, 0},
		{"\n\n", PAUSE_STAGES, 0},
		{"# a comment\n", PAUSE_STAGES, 0},
		{"stages", PAUSE_STAGES, 0},
		{"  all  # everything\r\n", PAUSE_ALL, 0},
		{"until 2026-11-25T03:00:00+01:00", PAUSE_STAGES, UNTIL},
		{"all\nuntil\t2026-11-25T02:00:00Z\n", PAUSE_ALL, UNTIL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pause_order order;
		char error[PAUSE_ERROR_MAX];

		assert_int_equal(pause_text_parse(cases[i].text, strlen(cases[i].text), false,
						  &order, error),
				 0);
		assert_int_equal(order.level, cases[i].level);
		assert_int_equal(order.until_ns, cases[i].until_ns);
	}
}

TEST(test_mistakes_name_their_line)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"everything", "line 1:"},
		{"all\nall", "line 2:"},
		{"\n\nuntil tomorrow", "line 3:"},
		{"until", "line 1:"},
		{"until resume", "line 1:"},
		{"all now", "line 1:"},
		{"until 2026-11-25T02:00:00Z\nuntil 2026-11-25T02:00:00Z", "line 2:"},
		{"uid 0", "line 1:"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pause_order order = {.level = PAUSE_NONE};
		char error[PAUSE_ERROR_MAX];

		assert_int_equal(pause_text_parse(cases[i].text, strlen(cases[i].text), false,
						  &order, error),
				 -EINVAL);
		assert_non_null(strstr(error, cases[i].line));
		assert_int_equal(order.level, PAUSE_NONE);
	}
}

TEST(test_a_nul_byte_is_a_mistake)
{
	struct pause_order order;
	char error[PAUSE_ERROR_MAX];

	assert_int_equal(pause_text_parse("all\0", 4, false, &order, error), -EINVAL);
}

TEST(test_own_file_keeps_everything)
{
	static const struct pause_order orders[] = {
		{PAUSE_STAGES, UNTIL, UNTIL + 600000000000, 0},
		{PAUSE_ALL, UNTIL + 123456789, 0, 4294967295},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		char text[PAUSE_TEXT_MAX], error[PAUSE_ERROR_MAX];
		size_t length = pause_text_format(&orders[i], text);
		struct pause_order read = {0};

		assert_int_equal(pause_text_parse(text, length, true, &read, error), 0);
		assert_int_equal(read.level, orders[i].level);
		assert_int_equal(read.since_ns, orders[i].since_ns);
		assert_int_equal(read.until_ns, orders[i].until_ns);
		assert_int_equal(read.uid, orders[i].uid);
	}
}

/* A file that was cut anywhere must not become a pause without an end, or a shorter one. */
TEST(test_a_part_of_the_own_file_is_refused)
{
	const struct pause_order order = {PAUSE_ALL, UNTIL, UNTIL + 1, 0};
	char text[PAUSE_TEXT_MAX], error[PAUSE_ERROR_MAX];
	/* Without the last line's end it is still complete. */
	size_t length = pause_text_format(&order, text) - 1;
	struct pause_order read;

	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(pause_text_parse(text, cut, true, &read, error), -EINVAL);
}
