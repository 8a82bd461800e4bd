/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/netns_cookie.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/thread.h"
#include "common/time.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* include/uapi/asm-generic/socket.h; Debian 12's libc has it */
#endif

#define STACK_BYTES (256 * 1024)

/* The thread may take longer than its caller waits, so the last of the two frees it. */
struct question {
	atomic_uint holders;
	int fd;
	int r;
	uint64_t cookie;
};

static void release(struct question *question)
{
	if (atomic_fetch_sub(&question->holders, 1) > 1)
		return;
	close(question->fd);
	free(question);
}

int netns_cookie_own(uint64_t *cookie)
{
	OWN_FD int inside = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*cookie);

	if (inside < 0 || getsockopt(inside, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &size) < 0)
		return -errno;
	return 0;
}

int netns_cookie_enter(int fd, uint64_t *cookie)
{
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : netns_cookie_own(cookie);
}

/* A thread leaves the namespace as it ends. */
static void *ask(void *userdata)
{
	struct question *question = userdata;

	question->r = netns_cookie_enter(question->fd, &question->cookie);
	release(question);
	return NULL;
}

static int wait_for(pthread_t thread)
{
	uint64_t until = time_monotonic() + NETNS_COOKIE_WAIT_NS;
	const struct timespec deadline = {.tv_sec = (time_t)(until / TIME_NS_PER_SECOND),
					  .tv_nsec = (long)(until % TIME_NS_PER_SECOND)};
	int r = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &deadline);

	if (r)
		pthread_detach(thread);
	return -r;
}

static int question_new(struct question **question, int fd)
{
	struct question *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fresh->fd < 0) {
		r = -errno;
		free(fresh);
		return r;
	}
	atomic_init(&fresh->holders, 2);
	*question = fresh;
	return 0;
}

int netns_cookie(int fd, uint64_t *cookie)
{
	struct question *question = NULL;
	pthread_t thread;
	int r;

	r = question_new(&question, fd);
	if (r < 0)
		return r;
	r = thread_start(&thread, STACK_BYTES, ask, question);
	if (r < 0)
		release(question); /* for the thread that did not start */
	else
		r = wait_for(thread);
	if (r == 0)
		r = question->r;
	if (r == 0)
		*cookie = question->cookie;
	release(question);
	return r;
}
