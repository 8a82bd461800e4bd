/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk through the network namespaces of the host: the own one first, then those of processes, then those that only
 * have a name.  A namespace that has neither (only a file descriptor or a device holds it) is not found.
 */
#ifndef DAEMON_KERNEL_NETNS_WALK_H
#define DAEMON_KERNEL_NETNS_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Namespaces that one walk visits; more are counted as skipped. */
#define NETNS_WALK_MAX 4096

/* A namespace. */
struct netns_visit {
	uint64_t cookie; /* 0: the kernel or missing rights do not show it */
	uint32_t inode;
	bool entered; /* the calling thread is in it, so that its new sockets are */
	int proc_net; /* a directory /proc/PID/net of it, which is closed after the visit; -1: none.
		       * Of an entered one it is the calling thread's, so it does not vanish. */
};

struct netns_walk {
	size_t namespaces; /* that exist, as far as the walk found */
	size_t refused;	   /* of them, those that could not be entered */
	int refused_error; /* why, a negative errno */
	size_t skipped;	   /* beyond NETNS_WALK_MAX */
	bool blind;	   /* this process may not see those of most processes */
};

/*
 * Call `visit` in each namespace, until it returns a negative errno, which is returned, or *stop is true (-ECANCELED).
 * Call this in a thread of its own: it stays in the last namespace.  Takes about 6 µs for each process of the host and
 * 20 µs for each namespace.  -ENOMEM, or the errno of opening `proc`, which is a directory like /proc.
 */
int netns_walk(struct netns_walk *walk, const char *proc, const atomic_bool *stop,
	       int (*visit)(const struct netns_visit *at, void *userdata), void *userdata);

#endif
