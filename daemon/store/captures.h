/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that can vanish, kept with the records that they belong to: the names of
 * network namespaces, and the paths, units and containers of cgroups.
 *
 * A name is captured when its record is taken.  Many records share few names, so
 * each name exists once and is counted by the records that hold it; the last
 * record that gives it back frees it.
 *
 * What a capture costs: a look-up in a table and a reading of the clock, some
 * 100 ns, when an earlier record has the same name.  A namespace is asked for
 * again after CAPTURES_FRESH_NS, because its number may be in use again: some 10 µs
 * for one with a name, less for one without.  The first capture of a cgroup opens it
 * by its id, some 20 µs.  None takes longer than a look-up of kernel/attribution.h,
 * about a millisecond.
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

/* A name that was found is used again for this long without a look-up. */
#define CAPTURES_FRESH_NS 10000000ULL

/* `attribution` must outlive the captures; NULL: no name is known.  -ENOMEM. */
int captures_new(struct captures **captures, struct attribution *attribution);
/* After all that was captured was released. */
void captures_free(struct captures **captures);
#define OWN_CAPTURES CLEANUP(captures_free)

/*
 * A namespace by its inode number, a cgroup by its id.  The caller releases what
 * it gets.  NULL for number 0, and when there is no memory.
 */
struct captured *captures_netns(struct captures *captures, uint32_t inode);
struct captured *captures_owner(struct captures *captures, uint64_t cgroup);
void captures_release(struct captures *captures, struct captured *captured);

/*
 * What was captured; NULL where `captured` is NULL or the name is not known.  A
 * name that was not found is looked up again for a while (captures_settle).
 * Valid until it is released.
 */
const char *captures_netns_name(struct captures *captures, struct captured *captured);
const struct owner *captures_owner_names(struct captures *captures, struct captured *captured);

/*
 * To be called every second.  The file of a new namespace may be seen a second
 * late, and a walk through many cgroups takes longer: names that were not found
 * are looked up again, namespaces for at least one second and cgroups for at
 * least ten.  Then a namespace without a name stays without: its number may
 * belong to another one by now.
 */
void captures_settle(struct captures *captures);

/* How many different names are held. */
size_t captures_count(const struct captures *captures);

#endif
