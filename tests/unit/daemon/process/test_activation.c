/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets as a service manager passes them: numbers from 3 on, and variables that describe them. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/process/activation.h"
#include "tests/unit/test.h"

#define PASSED 3

/* What the child found, which the parent reads from a pipe. */
struct found {
	int r, fd;
	bool open, nonblocking, cloexec, cleared;
	char path[128], error[256];
};

/* A listening socket, or one of another kind, in the child as number `fd`. */
static void pass(int fd, int type, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int made = socket(AF_UNIX, type, 0);

	/* Abstract: nothing is left behind. */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "netflowd-test-%d-%d",
		 (int)getpid(), fd);
	if (bind(made, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			     strlen(address.sun_path + 1))) < 0 ||
	    (listening && listen(made, 1) < 0) || dup2(made, fd) < 0)
		abort();
	if (made != fd)
		close(made);
}

static struct found look(void)
{
	struct found found = {.fd = -1};

	found.r = activation_socket(&found.fd, found.path, sizeof(found.path), found.error,
				    sizeof(found.error));
	found.open = fcntl(PASSED, F_GETFD) >= 0;
	found.nonblocking = fcntl(PASSED, F_GETFL) & O_NONBLOCK;
	found.cloexec = fcntl(PASSED, F_GETFD) & FD_CLOEXEC;
	found.cleared = !getenv("LISTEN_FDS");
	return found;
}

/* In a child, because the numbers of its files are fixed. */
static struct found in_child(void (*prepare)(void), const char *count, bool other)
{
	struct found found = {0};
	int ends[2], status;
	char pid[32];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int out = fcntl(ends[1], F_DUPFD, 100);

		for (int fd = PASSED; fd < 100; fd++)
			close(fd);
		snprintf(pid, sizeof(pid), "%d", (int)getpid() + other);
		setenv("LISTEN_PID", pid, 1);
		setenv("LISTEN_FDS", count, 1);
		prepare();
		found = look();
		_exit(write(out, &found, sizeof(found)) != sizeof(found));
	}
	assert_int_equal(read(ends[0], &found, sizeof(found)), sizeof(found));
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	return found;
}

static void good(void)
{
	pass(PASSED, SOCK_STREAM, true);
}

static void two(void)
{
	pass(PASSED, SOCK_STREAM, true);
	pass(PASSED + 1, SOCK_STREAM, true);
}

static void datagrams(void)
{
	pass(PASSED, SOCK_DGRAM, false);
}

static void deaf(void)
{
	pass(PASSED, SOCK_STREAM, false);
}

TEST(test_a_socket)
{
	struct found found = in_child(good, "1", false);

	assert_int_equal(found.r, 0);
	assert_int_equal(found.fd, PASSED);
	assert_true(found.open && found.nonblocking && found.cloexec && found.cleared);
	assert_int_equal(found.path[0], '@');
	assert_non_null(strstr(found.path, "netflowd-test-"));
}

TEST(test_none)
{
	int fd = -1;
	char path[128] = "as it was", error[256];

	unsetenv("LISTEN_FDS");
	assert_int_equal(activation_socket(&fd, path, sizeof(path), error, sizeof(error)), 0);
	assert_int_equal(fd, -1);
	assert_string_equal(path, "as it was");
}

TEST(test_for_another_process)
{
	struct found found = in_child(good, "1", true);

	assert_int_equal(found.r, 0);
	assert_int_equal(found.fd, -1);
	assert_true(found.open);
}

TEST(test_what_is_refused)
{
	const struct {
		void (*prepare)(void);
		const char *count, *error;
	} cases[] = {
		{two, "2", "passed 2 sockets"},
		{datagrams, "1", "not a listening Unix stream socket"},
		{deaf, "1", "not a listening Unix stream socket"},
		{good, "-7", "cannot use the socket"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct found found = in_child(cases[i].prepare, cases[i].count, false);

		assert_true(found.r < 0);
		assert_int_equal(found.fd, -1);
		assert_non_null(strstr(found.error, cases[i].error));
		if (cases[i].count[0] != '-')
			assert_false(found.open);
	}
}
