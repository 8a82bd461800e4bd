/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is behind a number: the names of network namespaces and cgroups, and the
 * systemd unit or container that a cgroup's path tells of.
 *
 * The look-ups are made for the path that shows records: they use the kernel's
 * own file systems only (nsfs, cgroup2, procfs, and the folder of `ip netns`),
 * never wait for a network, take about a millisecond at most, and go on at the
 * next call where that was not enough.  What is remembered is bounded.
 */
#ifndef DAEMON_KERNEL_ATTRIBUTION_H
#define DAEMON_KERNEL_ATTRIBUTION_H

#include <limits.h>
#include <stdint.h>

#include "common/cleanup.h"

struct attribution;

#define ATTRIBUTION_NETNS_FOLDERS 2

/* Where to look.  A NULL is a place not to look at. */
struct attribution_places {
	const char *netns[ATTRIBUTION_NETNS_FOLDERS]; /* of `ip netns` */
	const char *init_netns;			      /* the host's own namespace */
	const char *mountinfo;			      /* where a cgroup2 is mounted */
};

/* Sizes of the buffers, the 0 at the end included. */
#define ATTRIBUTION_NETNS_MAX (NAME_MAX + 1)
#define ATTRIBUTION_CGROUP_MAX PATH_MAX
#define ATTRIBUTION_UNIT_MAX (NAME_MAX + 1)
#define ATTRIBUTION_CONTAINER_MAX (NAME_MAX + 1)

/*
 * `places` may be NULL: those of a Linux host.  The strings must live as long
 * as the attribution, which the caller frees.  -ENOMEM.
 */
int attribution_new(struct attribution **attribution, const struct attribution_places *places);
void attribution_free(struct attribution **attribution);
#define OWN_ATTRIBUTION CLEANUP(attribution_free)

/* Each of these returns `name`, or NULL, and leaves it alone, when there is none. */

/*
 * A network namespace by its inode number: "host" for that of init, else the
 * file of `ip netns` that stands for it, the first one by the alphabet.  What
 * is returned was so at the time of the call; a new name may be seen a second
 * late, and among thousands of them some calls later.
 */
const char *attribution_netns(struct attribution *attribution, uint32_t inode,
			      char name[static ATTRIBUTION_NETNS_MAX]);

/*
 * The way back: the inode number of the namespace that `text` names now, and the name nearest to
 * one that no namespace has.  See netns_names_number() and netns_names_nearest().
 */
int attribution_netns_number(const struct attribution *attribution, const char *text,
			     uint32_t *inode);
const char *attribution_netns_nearest(const struct attribution *attribution, const char *text,
				      char nearest[static ATTRIBUTION_NETNS_MAX]);

/*
 * The path of a cgroup below the mount of the cgroup2 hierarchy ("/" is its
 * root), by the id that bpf_skb_cgroup_id() and bpf_get_current_cgroup_id()
 * return.  Ids are not used again, so a path that was found once is told also
 * after the cgroup was removed, as long as it is remembered.
 */
const char *attribution_cgroup(struct attribution *attribution, uint64_t id,
			       char path[static ATTRIBUTION_CGROUP_MAX]);

/*
 * The innermost systemd unit in a cgroup's path: "/system.slice/nginx.service"
 * is "nginx.service", "…/user@1000.service/app.slice/foo.scope" is "foo.scope".
 * Escapes ("\x2d") stay as systemd writes them.
 */
const char *attribution_unit(const char *path, char unit[static ATTRIBUTION_UNIT_MAX]);

/*
 * The innermost container in a cgroup's path: the first 12 digits of its id, as
 * docker, podman and crictl show it; an LXC container's name.
 */
const char *attribution_container(const char *path,
				  char container[static ATTRIBUTION_CONTAINER_MAX]);

#endif
