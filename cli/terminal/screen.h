/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole terminal for a while, by ncurses: keys without Enter and without
 * echo, no cursor.  It is given back by screen_leave(), at exit, and when the
 * program crashes; signals that end a program are the caller's (cli/terminal/signals.h),
 * who leaves first.  There is one terminal, so there is one of this.
 */
#ifndef CLI_TERMINAL_SCREEN_H
#define CLI_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/terminal/page.h"

/* Keys that are no characters. */
enum screen_key {
	SCREEN_KEY_NONE = 0,
	SCREEN_KEY_ESCAPE = 27,
	SCREEN_KEY_ENTER = '\n',
	SCREEN_KEY_BACKSPACE = 127,
	SCREEN_KEY_BACK_TAB = 0x10000, /* beyond all bytes */
	SCREEN_KEY_UP,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_OTHER,
};

/* Whether there is a terminal that a screen can be had on. */
bool screen_possible(void);

/*
 * Take the terminal that the standard output is, or take it again.  0, or
 * -ENOTSUP where ncurses cannot use it; nothing is changed then.
 */
int screen_enter(bool colour);

/* Give it back; does nothing when it was not taken. */
void screen_leave(void);

/* The window has another size now. */
void screen_resize(size_t columns, size_t rows);

/* Show `body` from the first line on and `foot` on the last one.  0 or -ENOMEM. */
int screen_draw(struct page *body, struct page *foot);

/*
 * Wait for a key or for `fd` (-1: none) at most `timeout_ms`, -1 for ever.  A
 * byte of what was typed, an enum screen_key, or 0.
 */
int screen_wait(int fd, int timeout_ms);

#endif
