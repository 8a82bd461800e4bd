/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that can vanish, kept with the records that they belong to: the names of network namespaces, and the paths,
 * units and containers of cgroups.
 *
 * A name is captured when its record is added.  Many records share few names, so each name exists once and counts the
 * records that hold it.  The last record that releases it frees it.
 *
 * A namespace is identified by its cookie (nf_netns_id()), because the kernel reuses its inode number at once.  A name
 * is taken if the namespace behind the name's file has that cookie, and stays the name of that namespace for good.  So
 * a namespace without a name never gets the name of another one, however late it is looked up.
 *
 * If the cookies cannot be compared (before 5.14, or without CAP_SYS_ADMIN), a name is taken only as a record is added,
 * and only if no other namespace with that number has a record.  Before 5.12 there is no cookie, and the name of a
 * number is looked up again after CAPTURES_FRESH_NS.  The gap that remains there: a namespace that is deleted before
 * its record is read, and whose number a namespace with a name gets in that time, shows that name.
 *
 * The cost of a capture is a lookup in a table, about 20 ns, if an earlier record has the same name.  The first capture
 * of a namespace with a name takes about 100 µs, and 3 ms at most.  The first capture of a cgroup opens it by its id,
 * about 20 µs.  No other capture takes longer than a lookup of kernel/attribution.h, about a millisecond.  When these
 * took CAPTURES_SETTLE_NS in CAPTURES_PAUSE_NS, other names are looked up by captures_settle() only.
 */
#ifndef DAEMON_STORE_CAPTURES_H
#define DAEMON_STORE_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct attribution;
struct captured;
struct captures;
struct owner;

/* A name that was not found is not looked up again for this time. */
#define CAPTURES_FRESH_NS 10000000ULL

/* `attribution` must outlive the captures; NULL: no name is known.  -ENOMEM. */
int captures_new(struct captures **captures, struct attribution *attribution);
/* All captures must have been released before. */
void captures_free(struct captures **captures);
#define OWN_CAPTURES CLEANUP(captures_free)

/*
 * Capture the name of a namespace by its nf_netns_id() and its inode number, or of a cgroup by its id.  The caller
 * releases the result.  NULL if a number is 0 or memory runs out.
 */
struct captured *captures_netns(struct captures *captures, uint32_t id, uint32_t inode);
struct captured *captures_owner(struct captures *captures, uint64_t cgroup);
/*
 * Capture the owner of a namespace, for a packet without a socket: the cgroup of the processes in it.  NULL also for
 * the host's own namespace, and before 5.12.  It becomes known later, from captures_settle() or a later record.
 */
struct captured *captures_netns_owner(struct captures *captures, uint32_t id, uint32_t inode);
void captures_release(struct captures *captures, struct captured *captured);

/*
 * The captured name; NULL if `captured` is NULL or the name is not known.  Nothing is looked up.  Valid until the
 * capture is released.
 */
const char *captures_netns_name(const struct captured *captured);
const struct owner *captures_owner_names(const struct captured *captured);

/*
 * Call this every second, with CAPTURES_SETTLE_NS.  The file of a new namespace may appear up to a second late, and a
 * walk through many cgroups takes longer.  So names that were not found are looked up again, those of namespaces for at
 * least one second and those of cgroups for at least ten.  After that, a namespace without a name is looked up only as
 * new records of it come, once per second.
 *
 * Records of thousands of new namespaces must not keep the daemon from the ring buffer.  So a call ends after the first
 * lookup that `budget_ns` does not cover, and the next call continues there.
 *
 * A namespace may also be deleted soon.  So while captures_has_new() is true, call this with CAPTURES_SOON_NS once in
 * CAPTURES_PAUSE_NS, which is longer than kernel/netns_names.c waits before it reads a directory again.
 */
#define CAPTURES_SETTLE_NS 2000000ULL
#define CAPTURES_SOON_NS 250000ULL
#define CAPTURES_PAUSE_NS 25000000ULL
void captures_settle(struct captures *captures, uint64_t budget_ns);
/* Whether a name that was not found, or could not be looked up, has not been looked up again yet. */
bool captures_has_new(const struct captures *captures);

/* The number of different names that are held. */
size_t captures_count(const struct captures *captures);

#endif
