/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the standard output is: a terminal or not, its size, what it can show. */
#ifndef CLI_TERMINAL_TERM_H
#define CLI_TERMINAL_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct term {
	bool tty;
	bool colour;
	bool utf8;
	size_t columns; /* 0: as wide as it has to be, for what is not a terminal */
	size_t rows;	/* 0: no limit */
};

/* After setlocale().  Colours also ask for a terminal, and no NO_COLOR in the environment. */
void term_init(struct term *term, bool colour);

/* Read the size of the window again. */
void term_resize(struct term *term);

#endif
