/* SPDX-License-Identifier: GPL-2.0-or-later */
/* common/texts.h: equal texts have one address. */
#include <stdio.h>
#include <string.h>

#include "common/texts.h"
#include "tests/unit/test.h"

TEST(test_equal_texts_are_one)
{
	OWN_TEXTS struct texts texts = {0};
	char buffer[] = "eth0.100";
	const char *whole = texts_keep(&texts, buffer, SIZE_MAX);
	const char *part = texts_keep(&texts, buffer, 4);

	assert_string_equal(whole, "eth0.100");
	assert_string_equal(part, "eth0");
	assert_ptr_equal(texts_keep(&texts, "eth0", SIZE_MAX), part);
	/* The caller's memory is its own again. */
	memset(buffer, 'x', 4);
	assert_ptr_equal(texts_keep(&texts, "eth0.100", 100), whole);
	assert_ptr_not_equal(texts_keep(&texts, "", 1), NULL);
	assert_null(texts_keep(&texts, NULL, 4));
	assert_int_equal(texts.count, 3);
}

TEST(test_many)
{
	OWN_TEXTS struct texts texts = {0};
	const char *kept[5000];
	char text[16];

	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		kept[i] = texts_keep(&texts, text, sizeof(text));
	}
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_ptr_equal(texts_keep(&texts, text, sizeof(text)), kept[i]);
		assert_string_equal(kept[i], text);
	}
	assert_false(texts.failed);
}
