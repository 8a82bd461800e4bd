/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps of the host's clock, CLOCK_REALTIME: a program or NTP set it, or the host was suspended.  The kernel reports
 * each step to timers that ask for it (TFD_TIMER_CANCEL_ON_SET in timerfd_create(2)).  A slewed clock has no steps.
 */
#ifndef DAEMON_PROCESS_STEPS_H
#define DAEMON_PROCESS_STEPS_H

#include <stdbool.h>

struct loop;
struct steps;

/* `stepped` is called in the loop after a step.  Returns 0 or a negative errno.  Free with steps_free(). */
int steps_new(struct steps **steps, struct loop *loop, int (*stepped)(void *userdata),
	      void *userdata);
/* NULL-safe; sets *steps to NULL. */
void steps_free(struct steps **steps);

/* Whether the clock was stepped since the last call; `stepped` may not have been called yet. */
bool steps_take(struct steps *steps);

#endif
