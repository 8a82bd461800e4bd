/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nearest valid word to a mistyped one, for error messages. */
#ifndef COMMON_NEAREST_H
#define COMMON_NEAREST_H

#include <stddef.h>

/*
 * A search that considers the candidates one by one.  `best` is NULL until a candidate is near enough to suggest: at
 * most half as many edits as the word has bytes, upper and lower case being equal.  `best` points to that candidate,
 * which must outlive the search.
 */
struct nearest {
	const char *word;
	const char *best;
	size_t distance;
};

/* Start a search for `word`, which must outlive the search. */
void nearest_init(struct nearest *search, const char *word);

/* Consider one valid word. */
void nearest_consider(struct nearest *search, const char *candidate);

/* A text by value, so that it can be an argument of printf(). */
struct nearest_hint {
	char s[256];
};

/*
 * " (did you mean NEAREST?)", the end of an error message; "" if `nearest` is
 * NULL.  `mark` is put before the word: "--" for an option, otherwise "".
 */
struct nearest_hint nearest_hint(const char *mark, const char *nearest);

#endif
