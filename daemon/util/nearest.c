/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/util/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define WORD_MAX 64

/* Levenshtein's distance, one row at a time; SIZE_MAX for words too long to be mistyped. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];
			size_t best = diagonal + (tolower((unsigned char)a[i - 1]) !=
						  tolower((unsigned char)b[j - 1]));

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = above;
		}
	}
	return row[b_len];
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
