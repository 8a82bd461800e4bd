/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities that the daemon requires to start, and those that it keeps; one table has both. */
#ifndef DAEMON_PROCESS_PRIVILEGE_H
#define DAEMON_PROCESS_PRIVILEGE_H

#include <stddef.h>
#include <stdio.h>

/*
 * Check that this process may load and attach tracing programs.  Returns 0; -EPERM, and `error` names each missing
 * capability and how to grant it; or the negative errno of reading the capabilities, which `error` then reports.
 */
int privilege_check(char *error, size_t size);

/*
 * Give up for ever every capability that the running daemon does not use: from the permitted, effective, inheritable
 * and ambient sets, and from the bounding set if CAP_SETPCAP allows it; and set no_new_privs.  Returns 0 or a negative
 * errno.
 */
int privilege_limit(void);

/* The same for the helper (helper.h), which changes the user of the programs that it starts, and ends them. */
int privilege_limit_helper(void);

/* The same for a daemon that serves a recording: it only reads files, perhaps those of other users. */
int privilege_limit_replay(void);

/* Print the capabilities that the daemon keeps, each with its reason and with what is lost without it. */
void privilege_help(FILE *to);

#endif
