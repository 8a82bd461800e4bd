/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A shell in the place of netflowd: its lines, its end, and the programs that cannot be started. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/ask/child.h"
#include "cli/ask/netflowd.h"

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

static void test_lines(void **state)
{
	OWN_NETFLOWD struct netflowd *netflowd =
		start("echo one; echo; printf 'in '; sleep 0.1; echo parts; printf end; exit 7");

	(void)state;
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
static void test_a_long_line(void **state)
{
	OWN_NETFLOWD struct netflowd *netflowd =
		start("head -c 100000 /dev/zero | tr '\\0' x; echo; echo short");
	const char *line;
	size_t sum = 0;

	(void)state;
	while ((line = next(netflowd)) && strcmp(line, "short") != 0) {
		assert_int_equal(strspn(line, "x"), strlen(line));
		sum += strlen(line);
	}
	assert_non_null(line);
	assert_int_equal(sum, 100000);
}

static void test_end(void **state)
{
	OWN_NETFLOWD struct netflowd *netflowd = start("echo here; exec sleep 1000");

	(void)state;
	assert_string_equal(next(netflowd), "here");
	netflowd_end(netflowd);
	assert_null(next(netflowd));
	assert_int_equal(netflowd_wait(netflowd), 128 + SIGTERM);
}

/* Signals that this process blocks are not blocked in its children. */
static void test_signals_reach_it(void **state)
{
	OWN_NETFLOWD struct netflowd *netflowd = NULL;
	sigset_t set;

	(void)state;
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

static void test_no_such_program(void **state)
{
	const char *const arguments[] = {NULL};
	struct netflowd *netflowd = NULL;

	(void)state;
	setenv("NETFLOWD", "/nonexistent/netflowd", 1);
	assert_int_equal(netflowd_start(&netflowd, arguments), REPORT_FAILED);
	assert_null(netflowd);
	/* No netflowd is beside this test. */
	unsetenv("NETFLOWD");
	setenv("PATH", "/nonexistent::", 1);
	if (access("/usr/sbin/netflowd", F_OK) && access("/usr/local/sbin/netflowd", F_OK))
		assert_int_equal(netflowd_start(&netflowd, arguments), REPORT_FAILED);
}

static void test_children(void **state)
{
	char *const good[] = {"/bin/sh", "-c", "exit 5", NULL};
	char *const none[] = {"/nonexistent/program", NULL};
	char *const data[] = {"/dev/null", NULL};
	pid_t pid = 0;
	int status;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	 cmocka_unit_test(test_a_long_line),
		cmocka_unit_test(test_end),	 cmocka_unit_test(test_signals_reach_it),
		cmocka_unit_test(test_children), cmocka_unit_test(test_no_such_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
