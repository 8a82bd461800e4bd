/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/nearest.h"

static const char *nearest(const char *word)
{
	static const char *const words[] = {"status",  "probes", "drops",
					    "latency", "top",	 "NO_SOCKET"};
	struct nearest search;

	nearest_init(&search, word);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		nearest_consider(&search, words[i]);
	return search.best;
}

static void test_edits(void **state)
{
	(void)state;
	assert_string_equal(nearest("drop"), "drops");	    /* one character missing */
	assert_string_equal(nearest("dropps"), "drops");    /* one character too many */
	assert_string_equal(nearest("dreps"), "drops");	    /* one wrong character */
	assert_string_equal(nearest("sttaus"), "status");   /* two characters swapped */
	assert_string_equal(nearest("latency"), "latency"); /* no edit */
}

static void test_case(void **state)
{
	(void)state;
	assert_string_equal(nearest("no_socket"), "NO_SOCKET");
	assert_string_equal(nearest("No_Sokcet"), "NO_SOCKET");
}

static void test_too_far(void **state)
{
	(void)state;
	assert_null(nearest("xyzzy"));
	assert_null(nearest(""));
	assert_null(nearest("a"));
}

/* At most half of the word may be wrong. */
static void test_half(void **state)
{
	(void)state;
	assert_string_equal(nearest("toxx"), "top");
	assert_null(nearest("txx"));
}

static void test_first_of_equals(void **state)
{
	struct nearest search;

	(void)state;
	nearest_init(&search, "cat");
	nearest_consider(&search, "bat");
	nearest_consider(&search, "hat");
	assert_string_equal(search.best, "bat");
}

static void test_long_words(void **state)
{
	char word[1000];

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_null(nearest(word));
	word[64] = '\0';
	assert_null(nearest(word));
}

static void test_hint(void **state)
{
	char word[1000];
	struct nearest_hint hint;

	(void)state;
	assert_string_equal(nearest_hint("", "drops").s, " (did you mean drops?)");
	assert_string_equal(nearest_hint("--", "json").s, " (did you mean --json?)");
	assert_string_equal(nearest_hint("", NULL).s, "");
	assert_string_equal(nearest_hint("--", NULL).s, "");

	/* A word of any length leaves the sentence whole. */
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	hint = nearest_hint("--", word);
	assert_int_equal(strncmp(hint.s, " (did you mean --aaa", 20), 0);
	assert_string_equal(hint.s + strlen(hint.s) - 3, "a?)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edits),
		cmocka_unit_test(test_case),
		cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_first_of_equals),
		cmocka_unit_test(test_long_words),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
