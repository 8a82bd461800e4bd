/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk through the tree of a cgroup2 mount, in steps of limited cost.  It serves processes that cannot open a cgroup
 * by its id.
 */
#ifndef DAEMON_KERNEL_CGROUP_WALK_H
#define DAEMON_KERNEL_CGROUP_WALK_H

#include <stdint.h>

struct cgroup_walk;

#define CGROUP_WALK_DEPTH_MAX 32 /* levels; deeper cgroups are not visited */

/* Called for each cgroup, with its path below the mount; the path of the root is "/". */
typedef void (*cgroup_walk_visit)(void *data, uint64_t id, const char *path);

/*
 * `root` is the directory that the hierarchy is mounted on; it must stay open until the walk is freed.  The caller
 * frees the walk with cgroup_walk_free().  Returns 0 or -ENOMEM.
 */
int cgroup_walk_new(struct cgroup_walk **walk, int root);
void cgroup_walk_free(struct cgroup_walk **walk);

/*
 * Begin at the root, or continue: about 1000 directory entries per call.  Other file systems that are mounted in the
 * tree are not entered.  Returns 1 at the end of the walk, 0 before.
 */
int cgroup_walk_step(struct cgroup_walk *walk, cgroup_walk_visit visit, void *data);

#endif
