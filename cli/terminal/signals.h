/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals that are read from a descriptor, so that none interrupts the program at the wrong moment. */
#ifndef CLI_TERMINAL_SIGNALS_H
#define CLI_TERMINAL_SIGNALS_H

/*
 * Block the listed signals (0 ends the list) and return a non-blocking descriptor to read them from, or a negative
 * errno.  The caller closes the descriptor; the signals stay blocked.
 */
int signals_open(int first, ...);

/* The number of the next pending signal, or 0. */
int signals_next(int fd);

#endif
