/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/process/loop.h"

struct worker {
	pthread_t thread;
	int ended; /* an eventfd, readable when the work has ended */
	struct loop_source *source;
	int (*work)(void *userdata);
	void (*done)(int result, void *userdata);
	void *userdata;
	int result;
};

static void *run(void *userdata)
{
	struct worker *worker = userdata;
	const uint64_t one = 1;

	worker->result = worker->work(worker->userdata);
	/* An eventfd that is 0 accepts this write. */
	if (write(worker->ended, &one, sizeof(one)) < 0)
		abort();
	return NULL;
}

static int on_ended(int fd, unsigned int events, void *userdata)
{
	struct worker *worker = userdata;

	(void)fd;
	(void)events;
	loop_source_free(&worker->source);
	worker->done(worker->result, worker->userdata);
	return 0;
}

/* The thread takes no signals: they are the loop's. */
static int start(struct worker *worker)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&worker->thread, NULL, run, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int worker_new(struct worker **worker, struct loop *loop, int (*work)(void *userdata),
	       void (*done)(int result, void *userdata), void *userdata)
{
	struct worker *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->work = work;
	fresh->done = done;
	fresh->userdata = userdata;
	fresh->ended = eventfd(0, EFD_CLOEXEC);
	r = fresh->ended < 0 ? -errno : 0;
	if (r == 0)
		r = loop_add_fd(loop, &fresh->source, fresh->ended, LOOP_READ, on_ended, fresh);
	if (r == 0)
		r = start(fresh);
	if (r < 0) {
		loop_source_free(&fresh->source);
		cleanup_close(&fresh->ended);
		free(fresh);
		return r;
	}
	*worker = fresh;
	return 0;
}

void worker_free(struct worker **worker)
{
	struct worker *old = *worker;

	if (!old)
		return;
	pthread_join(old->thread, NULL);
	loop_source_free(&old->source);
	cleanup_close(&old->ended);
	free(old);
	*worker = NULL;
}
