/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of network namespaces by their inode numbers, as `ip netns` gives them:
 * each name is a file in a folder, on which the namespace is mounted.  A link
 * into /proc, as people make for the namespaces of containers, counts as well.
 */
#ifndef DAEMON_KERNEL_NETNS_NAMES_H
#define DAEMON_KERNEL_NETNS_NAMES_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct netns_names;

#define NETNS_NAMES_MAX 4096 /* further ones are not seen */
#define NETNS_NAMES_FOLDERS_MAX 2
#define NETNS_NAMES_STEP 256	/* files looked at in one call */
#define NETNS_NAMES_HOST "host" /* the namespace that `init` is in */

/*
 * `folders` are the first `count` that may hold names, NULLs left out; the
 * strings must live as long as the names.  `init` is a file of the host's own
 * namespace, or NULL; it is looked at now.  The caller frees the names.  -ENOMEM.
 */
int netns_names_new(struct netns_names **names, const char *const *folders, size_t count,
		    const char *init);
void netns_names_free(struct netns_names **names);

/*
 * Returns `name`, or NULL, and leaves it alone, when `inode` has none.  `now` is
 * time_monotonic().
 *
 * A name that is returned was looked at in this call.  A number without a name
 * makes the folders be read again if they changed, or if they were read more
 * than a second ago.
 */
const char *netns_names_find(struct netns_names *names, uint32_t inode, uint64_t now,
			     char name[static NAME_MAX + 1]);

#endif
