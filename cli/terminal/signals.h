/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals as something to read, so that none comes at the wrong moment. */
#ifndef CLI_TERMINAL_SIGNALS_H
#define CLI_TERMINAL_SIGNALS_H

/*
 * Block the signals listed, 0 at the end, and return a non-blocking descriptor
 * that tells of them, which the caller closes; or a negative errno.  They stay
 * blocked.
 */
int signals_open(int first, ...);

/* The number of a signal that came, or 0. */
int signals_next(int fd);

#endif
