/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A listening socket from the service manager (sd_listen_fds(3)).  It stays open while the daemon restarts, so clients
 * wait instead of failing.
 */
#ifndef DAEMON_PROCESS_ACTIVATION_H
#define DAEMON_PROCESS_ACTIVATION_H

#include <stddef.h>

/*
 * Returns 0, and *fd is the listening Unix stream socket that the manager passed, which the caller closes, or -1: it
 * passed none.  `path` (`size` bytes) is then the socket's address.  -EINVAL: it passed another kind of socket, or more
 * than one; all of them are closed, and `error` says what to correct.  Or another negative errno, with `error`.
 *
 * Clears the variables that describe the sockets, so only the first call finds them.
 */
int activation_socket(int *fd, char *path, size_t size, char *error, size_t error_size);

#endif
