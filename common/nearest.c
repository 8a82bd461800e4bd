/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64
/* Characters of a word that a hint shows, so that its end always fits. */
#define HINT_MAX 200

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * The number of insertions, deletions, replacements and swaps of neighbours between two words (optimal string
 * alignment).  Only three rows of the table are needed at a time.  SIZE_MAX if a word is longer than WORD_MAX, so that
 * it is never suggested.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = least(least(above[j], row[j - 1]) + 1,
				       above[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], second[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

void nearest_init(struct nearest *search, const char *word)
{
	*search = (struct nearest){.word = word, .distance = strlen(word) / 2 + 1};
}

void nearest_consider(struct nearest *search, const char *candidate)
{
	size_t distance = edit_distance(search->word, candidate);

	if (distance < search->distance) {
		search->distance = distance;
		search->best = candidate;
	}
}

struct nearest_hint nearest_hint(const char *mark, const char *nearest)
{
	struct nearest_hint hint = {};

	if (nearest)
		snprintf(hint.s, sizeof(hint.s), " (did you mean %s%.*s?)", mark, HINT_MAX,
			 nearest);
	return hint;
}
