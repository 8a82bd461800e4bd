/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The owners of the namespaces of drops, looked up once for all rows of a reply, which can last longer than a name. */
#ifndef DAEMON_CONTROL_DROP_OWNERS_H
#define DAEMON_CONTROL_DROP_OWNERS_H

#include <stdint.h>

#include "common/cleanup.h"

struct attribution;
struct drop_owners;

/* `attribution` must outlive the owners.  The caller frees them with drop_owners_free().  Returns 0 or -ENOMEM. */
int drop_owners_new(struct drop_owners **owners, struct attribution *attribution);
void drop_owners_free(struct drop_owners **owners);
#define OWN_DROP_OWNERS CLEANUP(drop_owners_free)

/*
 * The path of attribution_netns_owner(), valid as long as the owners; NULL: not known, or memory ran out.  `netns_id`
 * is nf_netns_id(), `netns` the inode number.
 */
const char *drop_owners_find(struct drop_owners *owners, uint32_t netns_id, uint32_t netns);

#endif
