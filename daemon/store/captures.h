/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that can vanish, kept with the records that they belong to: the names of network namespaces, and the paths,
 * units and containers of cgroups.
 *
 * A name is captured when its record is added.  Many records share few names, so each name exists once and counts the
 * records that hold it.  The last record that releases it frees it.
 *
 * The cost of a capture is a lookup in a table and a reading of the clock, 30 to 40 ns, if an earlier record has the
 * same name.  A namespace is looked up again after CAPTURES_FRESH_NS, because its number may be in use again: about 10
 * µs if it has a name, less if it has none.  The first capture of a cgroup opens it by its id, about 20 µs.  No capture
 * takes longer than a lookup of kernel/attribution.h, about a millisecond.
 */
#ifndef DAEMON_STORE_CAPTURES_H
#define DAEMON_STORE_CAPTURES_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct attribution;
struct captured;
struct captures;
struct owner;

/*
 * For this time the name of a namespace is used without another lookup, and a name that was not found is not looked up
 * again.
 */
#define CAPTURES_FRESH_NS 10000000ULL

/* `attribution` must outlive the captures; NULL: no name is known.  -ENOMEM. */
int captures_new(struct captures **captures, struct attribution *attribution);
/* All captures must have been released before. */
void captures_free(struct captures **captures);
#define OWN_CAPTURES CLEANUP(captures_free)

/*
 * Capture the name of a namespace by its inode number, or of a cgroup by its id.  The caller releases the result.  NULL
 * if the number is 0 or memory runs out.
 */
struct captured *captures_netns(struct captures *captures, uint32_t inode);
struct captured *captures_owner(struct captures *captures, uint64_t cgroup);
void captures_release(struct captures *captures, struct captured *captured);

/*
 * The captured name; NULL if `captured` is NULL or the name is not known.  A name that was not found is looked up again
 * for some time, see captures_settle().  Valid until the capture is released.
 */
const char *captures_netns_name(struct captures *captures, struct captured *captured);
const struct owner *captures_owner_names(struct captures *captures, struct captured *captured);

/*
 * Call this every second.  The file of a new namespace may appear up to a second late, and a walk through many cgroups
 * takes longer.  So names that were not found are looked up again, those of namespaces for at least one second and
 * those of cgroups for at least ten.  After that, a namespace without a name stays without one, because its number may
 * belong to another namespace by then.
 *
 * Records of thousands of new namespaces must not keep the daemon from the ring buffer.  So a call ends with the first
 * of the 512 buckets that it completes after CAPTURES_SETTLE_NS, and the next call continues there.
 */
#define CAPTURES_SETTLE_NS 2000000ULL
void captures_settle(struct captures *captures);

/* The number of different names that are held. */
size_t captures_count(const struct captures *captures);

#endif
