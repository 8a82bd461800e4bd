/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of network namespaces by inode number, as `ip netns` makes them: a name is a file in a directory, and the
 * namespace is mounted on that file.  A link to /proc/PID/ns/net, as people make for containers, counts too.
 */
#ifndef DAEMON_KERNEL_NETNS_NAMES_H
#define DAEMON_KERNEL_NETNS_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct netns_names;

#define NETNS_NAMES_MAX 4096 /* more names are not read */
#define NETNS_NAMES_DIRECTORIES_MAX 2
#define NETNS_NAMES_STEP 256	/* files read per call */
#define NETNS_NAMES_HOST "host" /* the name of the host's own namespace */

/*
 * `directories` has `count` paths of directories that may contain names, of which NULLs are skipped and at most
 * NETNS_NAMES_DIRECTORIES_MAX are used.  The strings must outlive the names.  `init` is a file of the host's own
 * namespace, or NULL; it is read only in this call.  The caller frees the names with netns_names_free().  Returns 0 or
 * -ENOMEM.
 */
int netns_names_new(struct netns_names **names, const char *const *directories, size_t count,
		    const char *init);
void netns_names_free(struct netns_names **names);

/*
 * Returns `name`; or NULL, with `name` as it was, if `inode` has no name.  `now` is time_monotonic().
 *
 * A name that is returned was checked in this call.  For a number without a name, the directories are read again if
 * they have changed or if the last reading began a second ago or earlier.
 */
const char *netns_names_find(struct netns_names *names, uint32_t inode, uint64_t now,
			     char name[static NAME_MAX + 1]);

#endif
