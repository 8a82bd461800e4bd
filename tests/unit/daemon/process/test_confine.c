/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of system calls, each time in a process of its own, because it lasts. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/process/confine.h"
#include "daemon/process/privilege.h"
#include "tests/unit/test.h"

/* Each check returns 0, or the number of the step that went wrong. */
typedef int (*steps)(void);

static int in_process(steps check)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || confine() < 0 ? 100 : check());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool is_denied(long result)
{
	return result < 0 && errno == EPERM;
}

static int try_denied(void)
{
	char *const none[] = {NULL};

	if (!is_denied(syscall(SYS_unshare, 0)))
		return 1;
	if (!is_denied(mount("none", "/tmp", "tmpfs", 0, NULL)))
		return 2;
	if (!is_denied(execve("/bin/true", none, none)))
		return 3;
	if (!is_denied(socket(AF_PACKET, SOCK_RAW, 0)))
		return 4;
	if (!is_denied(syscall(SYS_init_module, NULL, 0L, "")))
		return 5;
	if (!is_denied(chmod("/tmp", 0777)))
		return 6;
	if (!is_denied(syscall(SYS_setresuid, -1, -1, -1)))
		return 7;
	return 0;
}

TEST(test_denied)
{
	assert_int_equal(in_process(try_denied), 0);
}

/* The sanitizer's own process at the end needs these. */
#if !defined(__SANITIZE_ADDRESS__)
static int try_processes(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (!is_denied(pid))
		return 1;
	if (!is_denied(ptrace(PTRACE_TRACEME, 0, NULL, NULL)))
		return 2;
	if (!is_denied(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)))
		return 3;
	return 0;
}

TEST(test_processes)
{
	assert_int_equal(in_process(try_processes), 0);
}
#endif

static void *count(void *userdata)
{
	++*(int *)userdata;
	return NULL;
}

static int try_allowed(void)
{
	pthread_t thread;
	int counted = 0, fd;

	if (pthread_create(&thread, NULL, count, &counted) || pthread_join(thread, NULL) ||
	    counted != 1)
		return 1;
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || close(fd) < 0)
		return 2;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || close(fd) < 0)
		return 3;
	free(malloc(1 << 24));
	if (prctl(PR_SET_NAME, "confined", 0, 0, 0) < 0)
		return 4;
	/* Its own answer, not the filter's. */
	if (syscall(SYS_setns, -1, 0) == 0 || errno != EBADF)
		return 5;
	if (syscall(SYS_clone3, NULL, 0L) == 0 || errno == EPERM)
		return 6;
	return 0;
}

TEST(test_allowed)
{
	assert_int_equal(in_process(try_allowed), 0);
}

/* ---- capabilities ----------------------------------------------------------- */

static int try_limit(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t kept = 1U << CAP_KILL | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_SYS_PTRACE |
			1U << CAP_SYS_ADMIN;

	if (privilege_limit() < 0 || syscall(SYS_capget, &header, data) < 0)
		return 1;
	if (data[0].permitted & ~kept || data[0].effective != data[0].permitted)
		return 2;
	if (data[0].inheritable || data[1].inheritable)
		return 3;
	if (prctl(PR_CAPBSET_READ, CAP_NET_ADMIN, 0, 0, 0) != 0)
		return 4;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 5;
	return 0;
}

TEST(test_limit)
{
	pid_t pid;
	int status = -1;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(try_limit());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
