/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a listening Unix socket: made without a moment in which others can connect, and removed by its owner. */
#ifndef DAEMON_PROCESS_UNIX_SOCKET_H
#define DAEMON_PROCESS_UNIX_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

struct unix_socket {
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	bool bound;
	dev_t device; /* of the file, once it is bound */
	ino_t inode;
};

/*
 * Bind `fd` to `path`, with mode 0600.  A socket that is there already is replaced.  Returns 0; -ENAMETOOLONG; -EEXIST:
 * the path is another file; or another negative errno.
 */
int unix_socket_bind(struct unix_socket *file, int fd, const char *path);

/*
 * Let the members of this group connect, too, if there is such a group; NULL: no group.  Returns 0 or a negative errno;
 * only the own user can connect then.
 */
int unix_socket_share(const struct unix_socket *file, const char *group);

/* Remove the file, unless it is another one by now. */
void unix_socket_remove(struct unix_socket *file);

#endif
