/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/printable.h"

static void test_every_byte(void **state)
{
	char text[256];

	(void)state;
	for (int i = 1; i < 256; i++)
		text[i - 1] = (char)i;
	text[255] = '\0';
	printable_ascii(text);
	for (int i = 1; i < 256; i++)
		assert_int_equal(text[i - 1], i >= 0x20 && i <= 0x7e ? i : '?');
	assert_int_equal(text[255], '\0');
}

static void test_empty(void **state)
{
	char text[] = "";

	(void)state;
	printable_ascii(text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
