/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: owns every part, starts the parts in order and stops them in reverse. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/configuration.h"

/* The directory of the socket and the lock file, unless --runtime-dir names another. */
#define DAEMON_RUNTIME_DIR "/run/netflowd"

struct daemon;

/*
 * Take the lock, open the backend (`replay`: on this recording; NULL: on this host), listen on runtime_dir/io.netflowd.
 * The daemon begins with the values of `configuration`, and reads the sources of `arguments`, which must outlive it,
 * again on SIGHUP.  Logs what failed and returns a negative errno, -EBADMSG for mistakes in the alert rules.  Free with
 * daemon_free.
 */
int daemon_new(struct daemon **daemon, const struct configuration *configuration,
	       const struct configuration_arguments *arguments, const char *runtime_dir,
	       const char *replay);

/* Serve until SIGTERM or SIGINT.  0, or a negative errno. */
int daemon_run(struct daemon *daemon);

/* NULL-safe.  Leaves nothing in the kernel, and in the file system only the lock file. */
void daemon_free(struct daemon **daemon);

#endif
