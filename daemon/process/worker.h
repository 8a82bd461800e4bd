/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job in a thread of its own, for work that would keep the loop from its other handlers and cannot be sliced.  The
 * thread lasts as long as the job.
 */
#ifndef DAEMON_PROCESS_WORKER_H
#define DAEMON_PROCESS_WORKER_H

struct loop;
struct worker;

/*
 * Run `work` in a thread, and then `done` from the loop with its result.  `work` must use nothing that the loop's
 * handlers use at the same time.  Returns 0 or a negative errno.  Free with worker_free(), in `done` or later.
 */
int worker_new(struct worker **worker, struct loop *loop, int (*work)(void *userdata),
	       void (*done)(int result, void *userdata), void *userdata);

/* Waits for the end of `work` if it still runs; `done` is not called then.  NULL-safe; sets *worker to NULL. */
void worker_free(struct worker **worker);

#endif
