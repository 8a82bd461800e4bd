/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a program: what happens between fork() and execve(). */
#ifndef DAEMON_ALERT_EXEC_CHILD_H
#define DAEMON_ALERT_EXEC_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct exec_child {
	char *const *arguments; /* path first, NULL last */
	char *const *environment;
	int input;  /* becomes standard input */
	int output; /* becomes standard output and standard error */
	bool change_user;
	uid_t uid;
	gid_t gid;
};

/* The child writes this into its pipe if it cannot execute the program. */
struct exec_failure {
	int error;     /* errno */
	char step[28]; /* "setresuid" */
};

/*
 * Fork, and execute the program in the child.  *failure is the read end of a pipe: it has an exec_failure,
 * or reaches its end as soon as the program runs.  The caller closes it and reaps *pid.  Returns a negative
 * errno if there is no child.
 */
int exec_child_start(const struct exec_child *child, pid_t *pid, int *failure);

#endif
