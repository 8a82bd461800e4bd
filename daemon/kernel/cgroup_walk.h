/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk through the tree of a cgroup2 mount, as far as it goes at a time.
 * For where a cgroup cannot be opened by its id.
 */
#ifndef DAEMON_KERNEL_CGROUP_WALK_H
#define DAEMON_KERNEL_CGROUP_WALK_H

#include <stdint.h>

struct cgroup_walk;

#define CGROUP_WALK_DEPTH_MAX 32 /* what lies deeper is not seen */

/* Called for each cgroup with its path below the mount, "/" for the root. */
typedef void (*cgroup_walk_visit)(void *data, uint64_t id, const char *path);

/*
 * `root` is the folder that the hierarchy is mounted on, and must stay open as
 * long as the walk.  The caller frees it.  -ENOMEM.
 */
int cgroup_walk_new(struct cgroup_walk **walk, int root);
void cgroup_walk_free(struct cgroup_walk **walk);

/*
 * Begin at the root, or go on: about 1000 files at a time.  Other file systems
 * that are mounted in the tree are not entered.  Returns 1 at the end, 0 when
 * there is more.
 */
int cgroup_walk_step(struct cgroup_walk *walk, cgroup_walk_visit visit, void *data);

#endif
