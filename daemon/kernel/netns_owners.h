/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups whose processes a network namespace has.
 *
 * Only a walk over all processes finds them.  It runs in a thread, for the namespaces that were asked for, and only if
 * one of them is not known or its answer is old.
 */
#ifndef DAEMON_KERNEL_NETNS_OWNERS_H
#define DAEMON_KERNEL_NETNS_OWNERS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct netns_owners;

/* Namespaces that are remembered.  A new one replaces the one that was asked for longest ago. */
#define NETNS_OWNERS_MAX 8192
/*
 * From the beginning of one walk to the next at least this time, and at least this multiple of what the last one took:
 * all walks together take at most a twentieth of one CPU.
 */
#define NETNS_OWNERS_PAUSE_NS 1000000000ULL
#define NETNS_OWNERS_PAUSES 20
/* A namespace that is asked for is looked for again after this time; one without an owner more often at first. */
#define NETNS_OWNERS_AGE_NS 60000000000ULL
#define NETNS_OWNERS_NEW_NS 10000000000ULL

/*
 * `proc` is a directory like /proc, which must outlive the owners; NULL: nothing is known.  `cookie` is like
 * netns_cookie_enter().  `is_owner` says whether the path of a cgroup names an owner.  The caller frees the owners with
 * netns_owners_free(), which ends a walk.  Returns 0 or -ENOMEM.
 */
int netns_owners_new(struct netns_owners **owners, const char *proc,
		     int (*cookie)(int fd, uint64_t *cookie), bool (*is_owner)(const char *path));
void netns_owners_free(struct netns_owners **owners);
#define OWN_NETNS_OWNERS CLEANUP(netns_owners_free)

/*
 * Write to `path` the innermost cgroup that contains all processes of a namespace, if `is_owner` takes it.  `id` is the
 * lower half of its cookie, `inode` its number, `now` is time_monotonic().
 *
 * 0: so it was at the last walk that found a process in it.  -ENOENT: it has no process or no owner, or is gone.
 * -EAGAIN: not known yet, ask again; the answer comes with a later walk.  -EOPNOTSUPP: the kernel has no cookies
 * (before 5.12), so that nothing distinguishes this namespace from a later one with its number.
 *
 * If the kernel does not show cookies (before 5.14, or without CAP_SYS_ADMIN), a namespace is only known while no other
 * one with its number was asked for.  Never waits; takes about 200 ns, and about 1 ms if it starts or ends a walk.
 */
int netns_owners_find(struct netns_owners *owners, uint32_t id, uint32_t inode, uint64_t now,
		      char path[static PATH_MAX]);

#endif
