/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of cgroups by their ids.  The kernel opens a cgroup by its id for a process with CAP_DAC_READ_SEARCH.  Without
 * it these functions walk through the tree, a part of it at each call.
 */
#ifndef DAEMON_KERNEL_CGROUP_PATHS_H
#define DAEMON_KERNEL_CGROUP_PATHS_H

#include <limits.h>
#include <stdint.h>

struct cgroup_paths;

/* Ids in the cache, with their path or without one. */
#define CGROUP_PATHS_MAX 512

/*
 * `mountinfo` is a file like /proc/self/mountinfo, or NULL: no path is found.  The string must outlive the paths.  The
 * caller frees them with cgroup_paths_free().  Returns 0 or -ENOMEM.
 */
int cgroup_paths_new(struct cgroup_paths **paths, const char *mountinfo);
void cgroup_paths_free(struct cgroup_paths **paths);

/*
 * Returns `path`; or NULL, with `path` as it was, if the path of the id is not known or not known yet.  `now` is
 * time_monotonic().  An id without a path is looked for again after a second, and a hierarchy that is not mounted after
 * ten seconds.
 */
const char *cgroup_paths_find(struct cgroup_paths *paths, uint64_t id, uint64_t now,
			      char path[static PATH_MAX]);

#endif
