/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock that a test moves.  A unit test that is linked with moved_time.c has a CLOCK_MONOTONIC that is ahead of the
 * kernel's by all that the test has let pass, and runs as the kernel's does otherwise.  Timers of all threads are due
 * accordingly.  So a client is idle for a minute at once.
 *
 * simulated_time.c, for tests of one thread, moves the clock by itself.
 */
#ifndef TESTS_UNIT_MOVED_TIME_H
#define TESTS_UNIT_MOVED_TIME_H

#include <stdint.h>

/* Timers that are due by then fire at once. */
void let_pass(uint64_t ns);

#endif
