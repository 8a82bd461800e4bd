/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The full screen, with ncurses: keys arrive without Enter and without echo, and the cursor is hidden.  screen_leave()
 * restores the terminal; exit() and a crash do the same.  The caller reads the signals that end a program
 * (cli/terminal/signals.h) and leaves the screen first.  There is one terminal, so the state is static.
 */
#ifndef CLI_TERMINAL_SCREEN_H
#define CLI_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/terminal/page.h"

/* Keys that are not printable characters.  Every other key is the byte that was typed. */
enum screen_key {
	SCREEN_KEY_NONE = 0,
	SCREEN_KEY_ESCAPE = 27,
	SCREEN_KEY_ENTER = '\n',
	SCREEN_KEY_BACKSPACE = 127,
	SCREEN_KEY_BACK_TAB = 0x10000, /* above every byte */
	SCREEN_KEY_UP,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_OTHER,
};

/* Whether the standard output is a terminal, and TERM names a type other than "dumb". */
bool screen_possible(void);

/*
 * Switch the terminal to the full screen, for the first time or again.  `colour` counts only the first time.  0;
 * -ENOTSUP if ncurses cannot use the terminal, which then stays as it is; -EIO if pending output cannot be written.
 */
int screen_enter(bool colour);

/* Restore the terminal; does nothing outside the full screen. */
void screen_leave(void);

/* Adapt to a new size of the terminal. */
void screen_resize(size_t columns, size_t rows);

/* Show `body` from the first line on and `foot` on the last line.  0 or -ENOMEM. */
int screen_draw(struct page *body, struct page *foot);

/*
 * Wait until a key is pressed, `fd` (-1 for none) is readable, or `timeout_ms` have passed (-1 waits without limit).
 * Returns a typed byte or an enum screen_key; 0 if no key was pressed.
 */
int screen_wait(int fd, int timeout_ms);

#endif
