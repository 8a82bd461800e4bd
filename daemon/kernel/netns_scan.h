/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One walk over all processes of the host: in which cgroup are those of certain network namespaces?
 *
 * The kernel reuses the inode number of a namespace, also during a walk.  So the cookie of a namespace is read from the
 * file of its first process, and compared with that of one of its processes at the end.  If both agree, that namespace
 * had the number from the first process to the last.
 */
#ifndef DAEMON_KERNEL_NETNS_SCAN_H
#define DAEMON_KERNEL_NETNS_SCAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A namespace to look for.  Initially all members but the first are 0. */
struct netns_scan_target {
	uint32_t inode;
	bool unsure;	 /* another namespace may have had this number during the walk */
	bool proven;	 /* the cookie is known */
	int first, last; /* ids of processes in it; 0: none */
	uint64_t cookie;
	char *path; /* of the innermost cgroup that contains all of them; NULL: not known */
};

struct netns_scan {
	const char *proc; /* a directory like /proc */
	/* Like netns_cookie_enter(). */
	int (*cookie)(int fd, uint64_t *cookie);
	struct netns_scan_target *targets; /* sorted by inode number, each number once */
	size_t count;
	atomic_bool stop; /* set by another thread: end soon */
};

/*
 * Takes about 6 µs for a process, so it runs in a thread of its own.  The caller frees the paths.
 * 0; -EACCES: this process may not see most of the processes, so nothing is known of the targets; -ECANCELED: stopped;
 * -ENOMEM, or the errno of opening the directory.
 */
int netns_scan_run(struct netns_scan *scan);

#endif
