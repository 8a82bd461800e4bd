/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop, a thin cover of libsystemd's sd-event; nothing else in the
 * daemon includes sd-event.h or sd-daemon.h.
 *
 * A source belongs to whoever added it and ends with loop_source_free(), which
 * a handler may call on any source, its own included.  Every source must be
 * freed before its loop.  A handler that returns a negative errno ends the loop
 * with that error.  All functions belong to the thread that made the loop.
 */
#ifndef DAEMON_PROCESS_LOOP_H
#define DAEMON_PROCESS_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_source;

/* What an fd source waits for and what its handler is told. */
enum loop_events {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
	/* The other end is gone, or an error: always told, whatever was asked for. */
	LOOP_HANGUP = 4,
};

typedef int (*loop_fd_handler)(int fd, unsigned int events, void *userdata);
typedef int (*loop_signal_handler)(int signal, void *userdata);
typedef int (*loop_handler)(void *userdata);

/* A loop runs once.  Returns 0, or a negative errno. */
int loop_new(struct loop **loop);
void loop_free(struct loop **loop);

/* Run until loop_exit().  Returns its code, or the negative errno of the handler that failed. */
int loop_run(struct loop *loop);

/* Let loop_run() return `code` (0 or more) after the current handler; the first call counts. */
void loop_exit(struct loop *loop, int code);

/*
 * Wait on `fd` for `events` (of LOOP_READ and LOOP_WRITE, or 0), as long as they
 * last: level-triggered.  The fd stays the caller's, who closes it after the source.
 */
int loop_add_fd(struct loop *loop, struct loop_source **source, int fd, unsigned int events,
		loop_fd_handler handler, void *userdata);

/* Wait for other events.  A hang-up is told also with 0, for as long as it lasts. */
int loop_fd_set_events(struct loop_source *source, unsigned int events);

/*
 * Call `handler` once `delay_ns` from now and, unless `period_ns` is 0, every
 * `period_ns` after that; turns that were missed are left out, not made up for.
 * CLOCK_MONOTONIC, microseconds, up to 1 % of the wait late.
 */
int loop_add_timer(struct loop *loop, struct loop_source **source, uint64_t delay_ns,
		   uint64_t period_ns, loop_handler handler, void *userdata);

/* Start a timer again, `delay_ns` from now, whether it has fired or not. */
int loop_timer_restart(struct loop_source *source, uint64_t delay_ns);

/* Block `signal` for the thread and hand it to `handler` instead, until the source is freed. */
int loop_add_signal(struct loop *loop, struct loop_source **source, int signal,
		    loop_signal_handler handler, void *userdata);

/* Call `handler` once, from the loop, as soon as the current handler has returned. */
int loop_add_defer(struct loop *loop, struct loop_source **source, loop_handler handler,
		   void *userdata);

/*
 * Silence a source, or let it speak again.  Enabling arms a deferred call that
 * was made already for one more; a timer is restarted with loop_timer_restart().
 */
int loop_source_set_enabled(struct loop_source *source, bool enabled);

void loop_source_free(struct loop_source **source);

/*
 * Tell the service manager, if there is one, as sd_notify(3) has it:
 * loop_notify("READY=1\nSTATUS=%s", …).  Returns 0, also without a manager, or a
 * negative errno.
 */
int loop_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
