/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities that the daemon requires. */
#ifndef DAEMON_PROCESS_PRIVILEGE_H
#define DAEMON_PROCESS_PRIVILEGE_H

#include <stddef.h>

/*
 * Check that this process may load and attach tracing programs.  Returns 0; -EPERM, and `error` names each missing
 * capability and how to grant it; or the negative errno of reading the capabilities, which `error` then reports.
 */
int privilege_check(char *error, size_t size);

#endif
