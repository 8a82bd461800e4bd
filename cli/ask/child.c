/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"

/* In the child.  Returns only if the program does not start. */
static void become(char *const argv[], int output, int orphaned, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (orphaned && prctl(PR_SET_PDEATHSIG, orphaned) < 0)
		return;
	/* The parent may have ended before that. */
	if (orphaned && getppid() != parent)
		raise(orphaned);
	if (output >= 0 && dup2(output, STDOUT_FILENO) < 0)
		return;
	execvp(argv[0], argv);
}

int child_start(pid_t *pid, char *const argv[], int output, int orphaned)
{
	OWN_FD int from = -1;
	OWN_FD int to = -1;
	pid_t parent = getpid(), child;
	int ends[2], error = 0;

	/* execvp() closes the pipe; a child that fails writes its errno first. */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		become(argv, output, orphaned, parent);
		error = errno;
		_exit(write(to, &error, sizeof(error)) == sizeof(error) ? 127 : 126);
	}
	close(TAKE_FD(to));
	if (read(from, &error, sizeof(error)) == sizeof(error)) {
		waitpid(child, NULL, 0);
		return -error;
	}
	*pid = child;
	return 0;
}
