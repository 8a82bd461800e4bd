/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for numbers: of network namespaces and of cgroups.  core/owner.h finds the unit, container and pod in the path
 * of a cgroup.
 *
 * The look-ups serve the code that shows records.  They use only the kernel's own file systems (nsfs, cgroup2, procfs)
 * and the directory of `ip netns`, and never wait for a network.  A call takes about a millisecond at most, and a
 * longer search continues at the next call.  The caches have a limit.
 */
#ifndef DAEMON_KERNEL_ATTRIBUTION_H
#define DAEMON_KERNEL_ATTRIBUTION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"

struct attribution;

#define ATTRIBUTION_NETNS_DIRECTORIES 2

/* The files to read.  NULL: nothing is read for it. */
struct attribution_places {
	const char *netns[ATTRIBUTION_NETNS_DIRECTORIES]; /* directories of `ip netns` */
	const char *init_netns;				  /* the host's own namespace */
	const char *mountinfo;				  /* lists the mount of cgroup2 */
	const char *proc;				  /* has all processes */
};

/* Sizes of the buffers, with the NUL byte. */
#define ATTRIBUTION_NETNS_MAX (NAME_MAX + 1)
#define ATTRIBUTION_CGROUP_MAX PATH_MAX

/*
 * `places` NULL: those of a Linux host.  The strings must outlive the attribution.  The caller frees it with
 * attribution_free().  Returns 0 or -ENOMEM.
 */
int attribution_new(struct attribution **attribution, const struct attribution_places *places);
void attribution_free(struct attribution **attribution);
#define OWN_ATTRIBUTION CLEANUP(attribution_free)

/* Each of these functions returns its buffer; or NULL, with the buffer as it was, if it finds no name. */

/*
 * A network namespace by its inode number: "host" for that of init, otherwise the name in `ip netns`; of several names
 * the first in alphabetical order.  The name was valid at the time of the call.  A new name may be found a second
 * later, and among thousands of names some calls later.
 */
const char *attribution_netns(struct attribution *attribution, uint32_t inode,
			      char name[static ATTRIBUTION_NETNS_MAX]);

/*
 * The name of one network namespace, by the lower half of its cookie, `id`, and its inode number.  The number alone
 * does not identify it, because the kernel soon reuses numbers.
 *
 * 1: that namespace has this name.  0: a namespace with this number has this name now, but the kernel or missing rights
 * keep netflowd from comparing the cookies.  -ENOENT: no name is found.  -ESTALE: the number belongs to another
 * namespace now, so this one is gone.  -EAGAIN: not known this time.  See netns_names_identify().  Takes about 100 µs
 * for a name, and 3 ms at most.
 */
int attribution_netns_identify(struct attribution *attribution, uint32_t id, uint32_t inode,
			       char name[static ATTRIBUTION_NETNS_MAX]);

/*
 * The way back: the inode number of the namespace that `text` names now, and the nearest name if no namespace has that
 * name.  See netns_names_number() and netns_names_nearest().
 */
int attribution_netns_number(const struct attribution *attribution, const char *text,
			     uint32_t *inode);
/* The lower half of the cookie of the namespace that has this name now; 0: not known.  See netns_names_id(). */
uint32_t attribution_netns_id(const struct attribution *attribution, const char *text);
const char *attribution_netns_nearest(const struct attribution *attribution, const char *text,
				      char nearest[static ATTRIBUTION_NETNS_MAX]);

/*
 * The path of a cgroup below the mount of the cgroup2 hierarchy ("/" is its root), by the id that bpf_skb_cgroup_id()
 * and bpf_get_current_cgroup_id() return.  The kernel does not use an id again.  A path that was found once is
 * therefore returned also after the cgroup was removed, while it is in the cache.
 */
const char *attribution_cgroup(struct attribution *attribution, uint64_t id,
			       char path[static ATTRIBUTION_CGROUP_MAX]);

/* Whether it is the number of the host's own namespace, as far as that is known. */
bool attribution_netns_is_host(const struct attribution *attribution, uint32_t inode);

/*
 * The owner of a network namespace other than the host's: the path of the innermost cgroup that contains all its
 * processes, if that path names a unit, a container or a pod.  `id` and `inode` are those of
 * attribution_netns_identify(). 0; -EAGAIN: not known yet, ask again; other errors: it has no such owner.  See
 * netns_owners_find().
 */
int attribution_netns_owner(struct attribution *attribution, uint32_t id, uint32_t inode,
			    char path[static ATTRIBUTION_CGROUP_MAX]);

#endif
