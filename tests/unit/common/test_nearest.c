/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "tests/unit/test.h"

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

TEST(test_edits)
{
	assert_string_equal(nearest("drop"), "drops");	    /* one character missing */
	assert_string_equal(nearest("dropps"), "drops");    /* one character too many */
	assert_string_equal(nearest("dreps"), "drops");	    /* one wrong character */
	assert_string_equal(nearest("sttaus"), "status");   /* two characters swapped */
	assert_string_equal(nearest("latency"), "latency"); /* no edit */
}

TEST(test_case)
{
	assert_string_equal(nearest("no_socket"), "NO_SOCKET");
	assert_string_equal(nearest("No_Sokcet"), "NO_SOCKET");
}

TEST(test_too_far)
{
	assert_null(nearest("xyzzy"));
	assert_null(nearest(""));
	assert_null(nearest("a"));
}

/* At most half of the word may be wrong. */
TEST(test_half)
{
	assert_string_equal(nearest("toxx"), "top");
	assert_null(nearest("txx"));
}

TEST(test_first_of_equals)
{
	struct nearest search;

	nearest_init(&search, "cat");
	nearest_consider(&search, "bat");
	nearest_consider(&search, "hat");
	assert_string_equal(search.best, "bat");
}

TEST(test_long_words)
{
	char word[1000];

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_null(nearest(word));
	word[64] = '\0';
	assert_null(nearest(word));
}

TEST(test_hint)
{
	char word[1000];
	struct nearest_hint hint;

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
