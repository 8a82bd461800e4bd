/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon must be allowed to do. */
#ifndef DAEMON_PROCESS_PRIVILEGE_H
#define DAEMON_PROCESS_PRIVILEGE_H

#include <stddef.h>

/*
 * Whether this process may load and attach tracing programs.  -EPERM with
 * `error` naming each missing capability and how to give it.
 */
int privilege_check(char *error, size_t size);

#endif
