/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork(), because posix_spawn(3) changes neither users nor capabilities.  It is safe: the daemon has one
 * thread, and the child makes only system calls.
 */
#include "daemon/alert/exec_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

__attribute__((noreturn)) static void fail(int pipe, const char *step)
{
	struct exec_failure failure = {.error = errno};
	ssize_t written;

	strncpy(failure.step, step, sizeof(failure.step) - 1);
	written = write(pipe, &failure, sizeof(failure));
	_exit(written == sizeof(failure) ? 126 : 127);
}

/* The event loop blocks the signals that it reads, and execve() keeps blocked and ignored signals. */
static int reset_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		sigaction(number, &action, NULL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Keep standard input, output and error, and the pipe for failures as number 3; close all others. */
static int set_files(const struct exec_child *child, int *pipe)
{
	if (dup2(child->input, 0) < 0 || dup2(child->output, 1) < 0 || dup2(child->output, 2) < 0)
		return -1;
	if (*pipe != 3 && dup3(*pipe, 3, O_CLOEXEC) < 0)
		return -1;
	*pipe = 3;
	return (int)syscall(SYS_close_range, 4U, ~0U, 0U);
}

/* For kernels before 5.9, which have no close_range(2). */
static int close_others(void)
{
	struct rlimit limit;

	if (errno != ENOSYS || getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;
	for (rlim_t fd = 4; fd < limit.rlim_cur; fd++)
		close((int)fd);
	return 0;
}

static int change_user(const struct exec_child *child)
{
	if (!child->change_user)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(child->gid, child->gid, child->gid) < 0)
		return -1;
	return setresuid(child->uid, child->uid, child->uid);
}

/* The bounding set can stay, if the daemon may not drop it: no_new_privs blocks the way to it. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &header, none);
}

static void drop_bounding_set(void)
{
	for (int capability = 0; capability < 64; capability++)
		prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

__attribute__((noreturn)) static void become(const struct exec_child *child, int pipe)
{
	static const struct rlimit no_core = {0, 0};

	if (setsid() < 0)
		fail(pipe, "setsid");
	if (reset_signals() < 0)
		fail(pipe, "sigprocmask");
	if (set_files(child, &pipe) < 0 && close_others() < 0)
		fail(pipe, "dup2");
	if (chdir("/") < 0)
		fail(pipe, "chdir");
	umask(022);
	setrlimit(RLIMIT_CORE, &no_core);
	drop_bounding_set();
	if (change_user(child) < 0)
		fail(pipe, "setresuid");
	if (drop_capabilities() < 0)
		fail(pipe, "capset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail(pipe, "no_new_privs");
	/* After the change of user, which resets the signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	execve(child->arguments[0], child->arguments, child->environment);
	fail(pipe, "execve");
}

int exec_child_start(const struct exec_child *child, pid_t *pid, int *failure)
{
	OWN_FD int from = -1, to = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid == 0)
		become(child, to);
	*failure = TAKE_FD(from);
	return 0;
}
