/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cookie of a network namespace: its identity among all existing and deleted ones, unlike its inode number, which
 * the kernel reuses.
 */
#ifndef DAEMON_KERNEL_NETNS_COOKIE_H
#define DAEMON_KERNEL_NETNS_COOKIE_H

#include <stdint.h>

/* How long netns_cookie() waits at most.  It usually takes 50 µs. */
#define NETNS_COOKIE_WAIT_NS 2000000ULL

/*
 * The cookie of the namespace that `fd`, an open file of nsfs, is.  `fd` stays open.
 *
 * The kernel shows the cookie only of a socket's namespace (SO_NETNS_COOKIE).  So a thread of its own enters the
 * namespace, makes a socket there and ends.  The caller's thread stays in its namespace.
 *
 * -ENOPROTOOPT: the kernel is older than 5.14; -EPERM: entering requires CAP_SYS_ADMIN; -ETIMEDOUT: the thread takes
 * longer than NETNS_COOKIE_WAIT_NS; or the errno of a system call.
 */
int netns_cookie(int fd, uint64_t *cookie);

/* The same for a thread of its own: the calling thread enters the namespace and stays there.  About 10 µs. */
int netns_cookie_enter(int fd, uint64_t *cookie);

/* The cookie of the calling thread's namespace. */
int netns_cookie_own(uint64_t *cookie);

#endif
