/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The helper forks, because posix_spawn(3) changes neither users nor capabilities, and because the daemon's filter of
 * system calls would stay with the program.  The helper has one thread, and the child makes only system calls.
 */
#include "daemon/alert/exec_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "daemon/process/helper.h"

/* More than a program's ARGUMENTS_MAX and its environment. */
#define WORDS_MAX 128

/* The head of a request; the words follow, each with its NUL byte. */
struct head {
	uint32_t arguments, environment;
};

/* What the helper knows from its start, so that no request can choose another user. */
struct identity {
	bool change_user;
	uid_t uid;
	gid_t gid;
};

enum { FD_INPUT, FD_OUTPUT, FD_FAILURE };

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
static int set_files(const int fds[HELPER_FDS], int *pipe)
{
	if (dup2(fds[FD_INPUT], 0) < 0 || dup2(fds[FD_OUTPUT], 1) < 0 ||
	    dup2(fds[FD_OUTPUT], 2) < 0)
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

static int change_user(const struct identity *identity)
{
	gid_t gid = identity->gid;
	uid_t uid = identity->uid;

	if (!identity->change_user)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0)
		return -1;
	return setresuid(uid, uid, uid);
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

/* Both lists end with NULL. */
struct words {
	char *arguments[WORDS_MAX + 1];
	char *environment[WORDS_MAX + 1];
};

__attribute__((noreturn)) static void execute(const struct words *words, const int fds[HELPER_FDS],
					      const struct identity *identity)
{
	static const struct rlimit no_core = {0, 0};
	int pipe = fds[FD_FAILURE];

	if (setsid() < 0)
		fail(pipe, "setsid");
	if (reset_signals() < 0)
		fail(pipe, "sigprocmask");
	if (set_files(fds, &pipe) < 0 && close_others() < 0)
		fail(pipe, "dup2");
	if (chdir("/") < 0)
		fail(pipe, "chdir");
	umask(022);
	setrlimit(RLIMIT_CORE, &no_core);
	drop_bounding_set();
	if (change_user(identity) < 0)
		fail(pipe, "setresuid");
	if (drop_capabilities() < 0)
		fail(pipe, "capset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fail(pipe, "no_new_privs");
	/* After the change of user, which resets the signal. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	execve(words->arguments[0], words->arguments, words->environment);
	fail(pipe, "execve");
}

/* Take `count` words from the request, which is the helper's own memory.  -1: it has fewer. */
static int take_words(char **words, uint32_t count, const char **at, const char *end)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strnlen(*at, (size_t)(end - *at));

		if (i == WORDS_MAX || *at + length == end)
			return -1;
		words[i] = (char *)(uintptr_t)*at;
		*at += length + 1;
	}
	words[count] = NULL;
	return 0;
}

static void become(const char *request, size_t size, const int fds[HELPER_FDS],
		   const void *userdata)
{
	const char *at = request + sizeof(struct head), *end = request + size;
	struct words words;
	struct head head;

	if (size < sizeof(head))
		return;
	memcpy(&head, request, sizeof(head));
	if (!head.arguments || head.arguments > WORDS_MAX || head.environment > WORDS_MAX ||
	    take_words(words.arguments, head.arguments, &at, end) < 0 ||
	    take_words(words.environment, head.environment, &at, end) < 0)
		return;
	execute(&words, fds, userdata);
}

/* ---- in the daemon -------------------------------------------------------- */

int exec_child_helper(struct helper **helper, const char *user)
{
	/* The helper keeps its copy of this memory. */
	static struct identity identity;
	const struct passwd *found = NULL;

	if (geteuid() == 0) {
		errno = 0;
		found = getpwnam(user);
		if (!found)
			return errno ? -errno : -ENOENT;
	}
	identity = (struct identity){
		.change_user = found,
		.uid = found ? found->pw_uid : 0,
		.gid = found ? found->pw_gid : 0,
	};
	return helper_new(helper, become, &identity);
}

/* Append the words, and return how many they are; UINT32_MAX: there is no room. */
static uint32_t put_words(char *const *words, char *request, size_t *size)
{
	uint32_t count = 0;

	for (; words[count]; count++) {
		size_t length = strlen(words[count]) + 1;

		if (count == WORDS_MAX || length > HELPER_REQUEST_MAX - *size)
			return UINT32_MAX;
		memcpy(request + *size, words[count], length);
		*size += length;
	}
	return count;
}

int exec_child_start(struct helper *helper, const struct exec_child *child, pid_t *pid,
		     int *failure)
{
	OWN_FREE char *request = malloc(HELPER_REQUEST_MAX);
	size_t size = sizeof(struct head);
	OWN_FD int from = -1, to = -1;
	struct head head;
	int ends[2];

	if (!request)
		return -ENOMEM;
	head.arguments = put_words(child->arguments, request, &size);
	head.environment = put_words(child->environment, request, &size);
	if (head.arguments == UINT32_MAX || head.environment == UINT32_MAX)
		return -E2BIG;
	memcpy(request, &head, sizeof(head));
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	*pid = helper_call(helper, request, size, (const int[]){child->input, child->output, to});
	if (*pid < 0)
		return *pid;
	*failure = TAKE_FD(from);
	return 0;
}
