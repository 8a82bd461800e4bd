/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: owns every part, starts them in order and stops them in reverse. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/config.h"

struct daemon;

/*
 * Lock, open the backend, listen.  Says on standard error what failed and
 * returns a negative errno; the socket is runtime_dir/io.netflowd.
 */
int daemon_new(struct daemon **daemon, const struct config *config, const char *runtime_dir);

/* Serve until SIGTERM or SIGINT.  0, or a negative errno. */
int daemon_run(struct daemon *daemon);

/* NULL-safe; nothing of the daemon is left in the kernel or in the file system but its lock file. */
void daemon_free(struct daemon **daemon);

#endif
