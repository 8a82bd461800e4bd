/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nearest valid word to a mistyped one, for error messages. */
#ifndef COMMON_NEAREST_H
#define COMMON_NEAREST_H

#include <stddef.h>

/*
 * A search that is fed the candidates one by one.  `best` is NULL until a
 * candidate is near enough to be worth suggesting (at most half the word has
 * to be edited, case does not count); it points to the candidate itself, which
 * must live as long as the search.
 */
struct nearest {
	const char *word;
	const char *best;
	size_t distance;
};

/* Start a search for `word`, which must live as long as the search. */
void nearest_init(struct nearest *search, const char *word);

/* Consider one valid word. */
void nearest_consider(struct nearest *search, const char *candidate);

#endif
