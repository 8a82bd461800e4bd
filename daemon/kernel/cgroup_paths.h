/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of cgroups by their ids.  The kernel opens a cgroup by its id for who
 * has CAP_DAC_READ_SEARCH; for others the tree is walked through, a part of it
 * at each call.
 */
#ifndef DAEMON_KERNEL_CGROUP_PATHS_H
#define DAEMON_KERNEL_CGROUP_PATHS_H

#include <limits.h>
#include <stdint.h>

struct cgroup_paths;

/* Ids that are remembered, with their paths or as ones that have none. */
#define CGROUP_PATHS_MAX 512

/*
 * `mountinfo` is a file like /proc/self/mountinfo, or NULL; the string must live
 * as long as the paths.  The caller frees them.  -ENOMEM.
 */
int cgroup_paths_new(struct cgroup_paths **paths, const char *mountinfo);
void cgroup_paths_free(struct cgroup_paths **paths);

/*
 * Returns `path`, or NULL, and leaves it alone, when the id's path is not known
 * (yet).  `now` is time_monotonic().  An id without a path is looked for again
 * after a second, and a hierarchy that is not mounted after ten.
 */
const char *cgroup_paths_find(struct cgroup_paths *paths, uint64_t id, uint64_t now,
			      char path[static PATH_MAX]);

#endif
