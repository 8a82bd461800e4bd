/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The whole terminal for a while: alternate screen, no cursor, keys without
 * Enter and without echo.  It is given back by screen_leave(), at exit, and
 * when the program crashes; signals that end a program are the caller's
 * (cli/signals.h), who leaves first.  There is one terminal, so there is one
 * of this.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

/* Take the terminal that the standard output is.  0 or a negative errno; nothing is changed then.
 */
int screen_enter(void);

/* Give it back; does nothing when it was not taken. */
void screen_leave(void);

/* Wait for a key or for `fd` (-1: none) at most `timeout_ms`.  A key, or 0. */
int screen_wait(int fd, int timeout_ms);

#endif
