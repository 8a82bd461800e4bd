/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of network namespaces by their inode numbers, as `ip netns` gives them:
 * each name is a file in a folder, on which the namespace is mounted.  A link
 * into /proc, as people make for the namespaces of containers, counts as well.
 * And the way back, from a name to the number that it has now.
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
/* Why netns_names_number() returns -EACCES, for messages. */
#define NETNS_NAMES_HIDDEN \
	"the daemon cannot read /proc/1/ns/net, so it does not know which network namespace is the host's; name it by its inode number, or give the daemon CAP_SYS_PTRACE"

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

/*
 * The inode number of the namespace that `text` names now: a number is itself, also when no
 * namespace has it; NETNS_NAMES_HOST is always the namespace that `init` is in; other text is a
 * file's name, looked up in the folders in their order.  Nothing is remembered, because
 * namespaces come and go, and numbers are used again.
 * -EINVAL as netns_parse(); -ENOENT: no namespace has that name; -EACCES: it is
 * NETNS_NAMES_HOST, and the kernel does not show that namespace to this process.
 */
int netns_names_number(const struct netns_names *names, const char *text, uint32_t *inode);

/* Returns `nearest`, the name nearest to `text` that a namespace has now, or NULL if none is near. */
const char *netns_names_nearest(const struct netns_names *names, const char *text,
				char nearest[static NAME_MAX + 1]);

#endif
