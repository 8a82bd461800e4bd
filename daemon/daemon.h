/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: owns every part, starts the parts in order and stops them in reverse. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/config.h"

struct daemon;

/*
 * Take the lock, open the backend, listen on runtime_dir/io.netflowd.  Logs what failed and returns a
 * negative errno.  Free with daemon_free.
 */
int daemon_new(struct daemon **daemon, const struct config *config, const char *runtime_dir);

/* Serve until SIGTERM or SIGINT.  0, or a negative errno. */
int daemon_run(struct daemon *daemon);

/* NULL-safe.  Leaves nothing in the kernel, and in the file system only the lock file. */
void daemon_free(struct daemon **daemon);

#endif
