/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "common/printable.h"
#include "tests/unit/test.h"

TEST(test_every_byte)
{
	char text[256];

	for (int i = 1; i < 256; i++)
		text[i - 1] = (char)i;
	text[255] = '\0';
	printable_ascii(text);
	for (int i = 1; i < 256; i++)
		assert_int_equal(text[i - 1], i >= 0x20 && i <= 0x7e ? i : '?');
	assert_int_equal(text[255], '\0');
}

TEST(test_empty)
{
	char text[] = "";

	printable_ascii(text);
	assert_string_equal(text, "");
}
