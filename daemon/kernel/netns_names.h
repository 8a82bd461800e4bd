/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of network namespaces by inode number, as `ip netns` makes them: a name is a file in a directory, and the
 * namespace is mounted on that file.  A link to /proc/PID/ns/net, as people make for containers, counts too.
 * And the way back, from a name to the number that it has now.
 */
#ifndef DAEMON_KERNEL_NETNS_NAMES_H
#define DAEMON_KERNEL_NETNS_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netns_names;

#define NETNS_NAMES_MAX 4096 /* more names are not read */
#define NETNS_NAMES_DIRECTORIES_MAX 2
#define NETNS_NAMES_STEP 256	/* files read per call */
#define NETNS_NAMES_HOST "host" /* the name of the host's own namespace */
/* Why netns_names_number() returns -EACCES, for messages. */
#define NETNS_NAMES_HIDDEN \
	"the daemon cannot read /proc/1/ns/net, so it does not know which network namespace is the host's; name it by its inode number, or give the daemon CAP_SYS_PTRACE"

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

/* Whether it is the number of the host's own namespace, as far as that is known. */
bool netns_names_is_host(const struct netns_names *names, uint32_t inode);

/*
 * The name of the namespace whose cookie has the lower half `id`, and which has, or had, the number `inode`.
 *
 * NETNS_NAMES_PROVEN: the namespace with that cookie has this name.  NETNS_NAMES_CLAIMED: a namespace with that number
 * has this name now, but its cookie is not known (netns_cookie() says when), so it can be another one.
 * -ENOENT: no name; -ESTALE: the number belongs to another namespace now, so the one with this cookie is gone; -EAGAIN:
 * the cookie could not be read this time.  `name` then stays as it was.
 */
enum netns_names_found { NETNS_NAMES_CLAIMED, NETNS_NAMES_PROVEN };
int netns_names_identify(struct netns_names *names, uint32_t id, uint32_t inode, uint64_t now,
			 char name[static NAME_MAX + 1]);

/*
 * The inode number of the namespace that `text` names now: a number is itself, also when no
 * namespace has it; NETNS_NAMES_HOST is always the namespace that `init` is in; other text is a
 * file's name, looked up in the directories in their order.  Nothing is remembered, because
 * namespaces come and go, and numbers are used again.
 * -EINVAL as netns_parse(); -ENOENT: no namespace has that name; -EACCES: it is
 * NETNS_NAMES_HOST, and the kernel does not show that namespace to this process.
 */
int netns_names_number(const struct netns_names *names, const char *text, uint32_t *inode);

/*
 * The lower half of the cookie of the namespace that has this file's name now.  0: not known, also for a number and for
 * NETNS_NAMES_HOST, whose number is never reused.
 */
uint32_t netns_names_id(const struct netns_names *names, const char *text);

/* Returns `nearest`, the name nearest to `text` that a namespace has now, or NULL if none is near. */
const char *netns_names_nearest(const struct netns_names *names, const char *text,
				char nearest[static NAME_MAX + 1]);

#endif
