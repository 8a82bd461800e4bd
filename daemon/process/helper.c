/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/process/privilege.h"

/* A fork takes less than a millisecond.  The daemon waits for it, so a helper that hangs is given up. */
#define ANSWER_SECONDS 5

struct helper {
	int socket; /* -1: the helper is gone */
	pid_t pid;
};

/* The request's fds travel in a control message. */
union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(HELPER_FDS * sizeof(int))];
};

/* ---- in the helper -------------------------------------------------------- */

/* Close everything but the socket, which becomes number 3, behind /dev/null. */
static int keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct rlimit limit;

	if (null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (fd != socket && dup2(null, fd) < 0)
			return -errno;
	if (socket != 3 && dup3(socket, 3, O_CLOEXEC) < 0)
		return -errno;
	if (syscall(SYS_close_range, 4U, ~0U, 0U) == 0)
		return 0;
	/* Before 5.9 there is no close_range(2). */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	for (rlim_t fd = 4; fd < limit.rlim_cur && fd < 65536; fd++)
		close((int)fd);
	return 0;
}

/*
 * CLONE_PARENT makes the process a child of the daemon.  It also gets the helper's exit signal, which is SIGCHLD.
 */
static pid_t fork_for_daemon(void)
{
	long pid = syscall(SYS_clone, (long)CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L);

	return pid < 0 ? -errno : (pid_t)pid;
}

/* Returns the number of bytes, 0 at the end, or -1.  fds that are not there are -1. */
static ssize_t receive(int socket, char *request, size_t size, int fds[HELPER_FDS])
{
	union control control;
	struct iovec bytes = {request, size};
	struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t got;

	for (int i = 0; i < HELPER_FDS; i++)
		fds[i] = -1;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(HELPER_FDS * sizeof(int)))
		memcpy(fds, CMSG_DATA(header), HELPER_FDS * sizeof(int));
	return got;
}

static void serve(int socket, helper_become become, const void *userdata)
{
	static char request[HELPER_REQUEST_MAX];

	for (;;) {
		int fds[HELPER_FDS];
		ssize_t size = receive(socket, request, sizeof(request), fds);
		int32_t pid;

		if (size <= 0)
			return;
		pid = fds[HELPER_FDS - 1] < 0 ? -EBADF : fork_for_daemon();
		if (pid == 0) {
			become(request, (size_t)size, fds, userdata);
			_exit(127);
		}
		for (int i = 0; i < HELPER_FDS; i++)
			close(fds[i]);
		if (send(socket, &pid, sizeof(pid), MSG_NOSIGNAL) != sizeof(pid)) {
			/* The daemon does not know of it. */
			if (pid > 0)
				kill(pid, SIGKILL);
			return;
		}
	}
}

__attribute__((noreturn)) static void run(int socket, pid_t daemon, helper_become become,
					  const void *userdata)
{
	sigset_t all;

	/* Signals for the daemon's process group or control group: the daemon decides when it ends. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, HELPER_NAME, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() == daemon && keep_only(socket) == 0 && chdir("/") == 0 &&
	    privilege_limit_helper() == 0)
		serve(3, become, userdata);
	_exit(0);
}

/* ---- in the daemon -------------------------------------------------------- */

int helper_new(struct helper **helper, helper_become become, const void *userdata)
{
	const struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	OWN_HELPER struct helper *new = calloc(1, sizeof(*new));
	OWN_FD int theirs = -1;
	pid_t daemon = getpid();
	int ends[2];

	if (!new)
		return -ENOMEM;
	new->socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	new->socket = ends[0];
	theirs = ends[1];
	if (setsockopt(new->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(new->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	new->pid = fork();
	if (new->pid < 0) {
		new->pid = 0;
		return -errno;
	}
	if (new->pid == 0)
		run(theirs, daemon, become, userdata);
	*helper = TAKE_PTR(new);
	return 0;
}

void helper_free(struct helper **helper)
{
	struct helper *old = *helper;

	if (!old)
		return;
	if (old->socket >= 0)
		close(TAKE_FD(old->socket));
	if (old->pid > 0) {
		kill(old->pid, SIGKILL);
		waitpid(old->pid, NULL, 0);
	}
	free(old);
	*helper = NULL;
}

static bool ask(const struct helper *helper, const char *request, size_t size,
		const int fds[HELPER_FDS])
{
	union control control = {0};
	struct iovec bytes = {(void *)(uintptr_t)request, size};
	const struct msghdr message = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.align = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(HELPER_FDS * sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	};
	memcpy(CMSG_DATA(&control.align), fds, HELPER_FDS * sizeof(int));
	return sendmsg(helper->socket, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

pid_t helper_call(struct helper *helper, const char *request, size_t size,
		  const int fds[HELPER_FDS])
{
	int32_t answer;
	ssize_t got;

	if (size > HELPER_REQUEST_MAX)
		return -EMSGSIZE;
	if (!helper || helper->socket < 0)
		return -EPIPE;
	if (ask(helper, request, size, fds)) {
		do
			got = recv(helper->socket, &answer, sizeof(answer), 0);
		while (got < 0 && errno == EINTR);
		if (got == sizeof(answer))
			return answer;
	}
	/* An answer that came later would belong to an earlier request. */
	close(TAKE_FD(helper->socket));
	return -EPIPE;
}
