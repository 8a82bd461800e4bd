/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A shell in the place of netflowd: its lines, its end, and the programs that cannot be started. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask/child.h"
#include "cli/ask/netflowd.h"
#include "tests/unit/test.h"

static struct netflowd *start(const char *script)
{
	const char *const arguments[] = {"-c", script, NULL};
	struct netflowd *netflowd = NULL;

	setenv("NETFLOWD", "/bin/sh", 1);
	assert_int_equal(netflowd_start(&netflowd, arguments), REPORT_FINE);
	return netflowd;
}

/* Wait for the next line, or for the end of all (NULL). */
static const char *next(struct netflowd *netflowd)
{
	for (;;) {
		struct pollfd fd = {.fd = netflowd_output(netflowd), .events = POLLIN};
		bool ended;
		const char *line = netflowd_line(netflowd, &ended);

		if (line || ended)
			return line;
		assert_int_equal(poll(&fd, 1, 20000), 1);
	}
}

TEST(test_lines)
{
	OWN_NETFLOWD struct netflowd *netflowd =
		start("echo one; echo; printf 'in '; sleep 0.1; echo parts; printf end; exit 7");

	assert_string_equal(next(netflowd), "one");
	assert_string_equal(next(netflowd), "");
	assert_string_equal(next(netflowd), "in parts");
	assert_string_equal(next(netflowd), "end");
	assert_null(next(netflowd));
	assert_null(next(netflowd));
	assert_int_equal(netflowd_wait(netflowd), 7);
	assert_int_equal(netflowd_wait(netflowd), 7);
}

/* A line that is longer than the room for it comes in parts, none of it is lost. */
TEST(test_a_long_line)
{
	OWN_NETFLOWD struct netflowd *netflowd =
		start("head -c 100000 /dev/zero | tr '\\0' x; echo; echo short");
	const char *line;
	size_t sum = 0;

	while ((line = next(netflowd)) && strcmp(line, "short") != 0) {
		assert_int_equal(strspn(line, "x"), strlen(line));
		sum += strlen(line);
	}
	assert_non_null(line);
	assert_int_equal(sum, 100000);
}

TEST(test_end)
{
	OWN_NETFLOWD struct netflowd *netflowd = start("echo here; exec sleep 1000");

	assert_string_equal(next(netflowd), "here");
	netflowd_end(netflowd);
	assert_null(next(netflowd));
	assert_int_equal(netflowd_wait(netflowd), 128 + SIGTERM);
}

/* Signals that this process blocks are not blocked in its children. */
TEST(test_signals_reach_it)
{
	OWN_NETFLOWD struct netflowd *netflowd = NULL;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	netflowd = start("trap 'echo ended; exit 3' TERM; echo here; while :; do sleep 0.01; done");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_string_equal(next(netflowd), "here");
	netflowd_end(netflowd);
	assert_string_equal(next(netflowd), "ended");
	assert_int_equal(netflowd_wait(netflowd), 3);
}

TEST(test_no_such_program)
{
	const char *const arguments[] = {NULL};
	struct netflowd *netflowd = NULL;

	setenv("NETFLOWD", "/nonexistent/netflowd", 1);
	assert_int_equal(netflowd_start(&netflowd, arguments), REPORT_FAILED);
	assert_null(netflowd);
	/* No netflowd is beside this test. */
	unsetenv("NETFLOWD");
	setenv("PATH", "/nonexistent::", 1);
	if (access("/usr/sbin/netflowd", F_OK) && access("/usr/local/sbin/netflowd", F_OK))
		assert_int_equal(netflowd_start(&netflowd, arguments), REPORT_FAILED);
}

TEST(test_children)
{
	char *const good[] = {"/bin/sh", "-c", "exit 5", NULL};
	char *const none[] = {"/nonexistent/program", NULL};
	char *const data[] = {"/dev/null", NULL};
	pid_t pid = 0;
	int status;

	assert_int_equal(child_start(&pid, none, -1, 0), -ENOENT);
	assert_int_equal(child_start(&pid, data, -1, 0), -EACCES);
	assert_int_equal(pid, 0);
	assert_int_equal(child_start(&pid, good, -1, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 5);
	/* Neither of the failures left a process. */
	assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}
