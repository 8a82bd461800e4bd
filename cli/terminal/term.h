/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The standard output: whether it is a terminal, its size, and whether it shows colours and UTF-8. */
#ifndef CLI_TERMINAL_TERM_H
#define CLI_TERMINAL_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct term {
	bool tty;
	bool colour;
	bool utf8;
	size_t columns; /* 0: no limit, because the output is not a terminal */
	size_t rows;	/* 0: no limit */
};

/*
 * Inspect the standard output; call setlocale() first.  `colour` is the user's wish.  Colours also require a terminal
 * that is not "dumb", and NO_COLOR unset or empty in the environment (no-color.org).
 */
void term_init(struct term *term, bool colour);

/* Read the size of the terminal again; does nothing without a terminal. */
void term_resize(struct term *term);

#endif
