/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What identifies a namespace or a device in the history.  Inode numbers and interface indexes are soon given to
 * others, and cookies begin again with each boot, so a key is a hash of the boot and of the identity in it.
 */
#ifndef DAEMON_HISTORY_PLACE_KEY_H
#define DAEMON_HISTORY_PLACE_KEY_H

#include <stdint.h>

struct device;

/* A number of this boot of the host; 0: not known. */
int64_t place_boot(void);

/*
 * Of a device its identity, see struct backend_device; of a namespace its nf_netns_id().  A positive number of 53
 * bits.  Any thread may call this.
 */
uint64_t place_key(uint64_t identity);

/* Replace the identity of a device, see struct backend_device, by its key and that of its namespace. */
void place_keys(struct device *device);

#endif
