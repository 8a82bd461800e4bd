/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a program: what happens between fork() and execve(). */
#ifndef DAEMON_ALERT_EXEC_CHILD_H
#define DAEMON_ALERT_EXEC_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct exec_child {
	char *const *arguments; /* the first is the path; NULL at the end */
	char *const *environment;
	int input;  /* becomes its standard input */
	int output; /* its standard output and error */
	bool change_user;
	uid_t uid;
	gid_t gid;
};

/* What the child writes into its pipe when it comes to no program. */
struct exec_failure {
	int error;     /* errno */
	char step[28]; /* "setresuid" */
};

/*
 * Fork, and become the program in the child.  *failure is the end of a pipe
 * to read: an exec_failure, or its end as soon as the program runs.  The caller
 * closes it and reaps *pid.  A negative errno: there is no child.
 */
int exec_child_start(const struct exec_child *child, pid_t *pid, int *failure);

#endif
