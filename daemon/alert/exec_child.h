/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of a program: what happens between fork() and execve(). */
#ifndef DAEMON_ALERT_EXEC_CHILD_H
#define DAEMON_ALERT_EXEC_CHILD_H

#include <sys/types.h>

struct helper;

struct exec_child {
	char *const *arguments;	  /* path first, NULL last */
	char *const *environment; /* NULL last */
	int input;		  /* becomes standard input */
	int output;		  /* becomes standard output and standard error */
};

/* The child writes this into its pipe if it cannot execute the program. */
struct exec_failure {
	int error;     /* errno */
	char step[28]; /* "setresuid" */
};

/*
 * Make the process that starts the programs, before the daemon gives up its privileges.  They run as `user` if the
 * daemon is root, and otherwise as the daemon's own user.  -ENOENT: there is no such user; or another negative errno.
 */
int exec_child_helper(struct helper **helper, const char *user);

/*
 * Let the helper fork, and execute the program in the child, which is the daemon's.  *failure is the read end of a
 * pipe: it has an exec_failure, or reaches its end as soon as the program runs.  The caller closes it and reaps *pid.
 * Returns a negative errno if there is no child.
 */
int exec_child_start(struct helper *helper, const struct exec_child *child, pid_t *pid,
		     int *failure);

#endif
