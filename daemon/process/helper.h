/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second process, which starts programs for the daemon: it was forked before the daemon gave up its privileges
 * (privilege.h, confine.h), because a program would inherit the filter of system calls.  It does nothing but wait for
 * requests, and ends with the daemon.
 *
 * The programs are the daemon's children, not the helper's: the daemon reaps them, and they can die with it.
 */
#ifndef DAEMON_PROCESS_HELPER_H
#define DAEMON_PROCESS_HELPER_H

#include <stddef.h>
#include <sys/types.h>

#include "common/cleanup.h"

#define HELPER_NAME "netflowd-exec"
#define HELPER_FDS 3
#define HELPER_REQUEST_MAX 65536U

struct helper;

/*
 * Runs in a new process that helper_call() asked for: execute the program that `request` describes.  `fds` are those of
 * the request, and the process has no others but standard input, output and error, which are /dev/null.
 */
typedef void (*helper_become)(const char *request, size_t size, const int fds[HELPER_FDS],
			      const void *userdata);

/* Fork the helper.  The process must have one thread.  `userdata` is the helper's copy of this moment. */
int helper_new(struct helper **helper, helper_become become, const void *userdata);
void helper_free(struct helper **helper);
#define OWN_HELPER CLEANUP(helper_free)

/*
 * Start a process.  Returns its number, a child of the caller, who reaps it; -EMSGSIZE if the request is longer than
 * HELPER_REQUEST_MAX; -EPIPE if there is no helper (NULL), it is gone, or had not answered in time; or the negative
 * errno of the fork.
 */
pid_t helper_call(struct helper *helper, const char *request, size_t size,
		  const int fds[HELPER_FDS]);

#endif
