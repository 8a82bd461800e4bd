/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop, a thin layer over libsystemd's sd-event, and what the service manager gets and wants (sd-daemon).  No
 * other part of the daemon includes sd-event.h.
 *
 * A source belongs to the caller that added it and ends with loop_source_free(), which a handler may call for any
 * source, its own included.  Every source must be freed before its loop.  A handler that returns a negative errno ends
 * the loop with that error.  All functions must be called in the thread that made the loop.
 */
#ifndef DAEMON_PROCESS_LOOP_H
#define DAEMON_PROCESS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_source;

/* The events that an fd source waits for and that its handler gets. */
enum loop_events {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
	/* The peer has hung up, or an error.  The handler always gets it, also without asking. */
	LOOP_HANGUP = 4,
};

typedef int (*loop_fd_handler)(int fd, unsigned int events, void *userdata);
typedef int (*loop_signal_handler)(int signal, void *userdata);
typedef int (*loop_handler)(void *userdata);

/*
 * The longest turns: a turn is one call of a handler.  CPU time is that of the thread; the wall time also has the time
 * in which the turn waited, or other processes ran.  The last minute is one of 60 to 70 s.
 */
struct loop_turns {
	uint64_t cpu_ns, wall_ns; /* since the loop began */
	uint64_t cpu_minute_ns, wall_minute_ns;
};

struct loop_turns loop_turns(const struct loop *loop);

/* A loop runs once.  Returns 0, or a negative errno. */
int loop_new(struct loop **loop);
void loop_free(struct loop **loop);

/* Run until loop_exit().  Returns its code, or the negative errno of the handler that failed. */
int loop_run(struct loop *loop);

/* Make loop_run() return `code` (0 or more) after the current handler; only the first call counts. */
void loop_exit(struct loop *loop, int code);

/*
 * Wait on `fd` for `events`: LOOP_READ, LOOP_WRITE, both or 0.  Level-triggered: the handler runs while an event lasts.
 * The caller owns `fd` and closes it after it freed the source.
 */
int loop_add_fd(struct loop *loop, struct loop_source **source, int fd, unsigned int events,
		loop_fd_handler handler, void *userdata);

/* Wait for other events.  With 0 the handler still gets a hang-up, while it lasts. */
int loop_fd_set_events(struct loop_source *source, unsigned int events);

/*
 * Call `handler` once `delay_ns` from now and, unless `period_ns` is 0, every `period_ns` after that, at multiples of
 * the period, so that timers share their wakeups: the second call comes half a period to one and a half after the
 * first.  Missed turns are skipped.  CLOCK_MONOTONIC; times are rounded up to microseconds, and a call can be up to 1 %
 * of the wait late.
 */
int loop_add_timer(struct loop *loop, struct loop_source **source, uint64_t delay_ns,
		   uint64_t period_ns, loop_handler handler, void *userdata);

/* Restart a timer, `delay_ns` from now, whether it has fired or not. */
int loop_timer_restart(struct loop_source *source, uint64_t delay_ns);

/* The time until timers of this period are due, half a period to one and a half from now. */
uint64_t loop_shared_ns(uint64_t period_ns);

/* Block `signal` for the thread and pass it to `handler` instead, until the source is freed. */
int loop_add_signal(struct loop *loop, struct loop_source **source, int signal,
		    loop_signal_handler handler, void *userdata);

/* Call `handler` once, from the loop, as soon as the current handler has returned. */
int loop_add_defer(struct loop *loop, struct loop_source **source, loop_handler handler,
		   void *userdata);

/*
 * Disable a source, or enable it again.  Enabling a deferred call makes it once more, also if it was already made.  A
 * timer is restarted with loop_timer_restart().
 */
int loop_source_set_enabled(struct loop_source *source, bool enabled);

void loop_source_free(struct loop_source **source);

/*
 * Notify the service manager with sd_notify(3): loop_notify("READY=1\nSTATUS=%s", …).  Returns 0, also if there is no
 * manager, or a negative errno.
 */
int loop_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The time within which the service manager wants the next WATCHDOG=1 (WatchdogSec=); 0: it wants none, also if its
 * value is for another process.
 */
uint64_t loop_watchdog_ns(void);

#endif
