/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What identifies a namespace or a device in the history.  Inode numbers and interface indexes are soon given to
 * others, and cookies begin again with each boot, so a key is a hash of the boot and of the identity in it.
 */
#ifndef DAEMON_HISTORY_PLACE_KEY_H
#define DAEMON_HISTORY_PLACE_KEY_H

#include <stdint.h>

#include <jansson.h>

struct device;

/* Members of stored records; replies do not have them. */
#define PLACE_DEVICE "device_key"
#define PLACE_NETNS "netns_key"

/* A number of this boot of the host; 0: not known. */
int64_t place_boot(void);

/*
 * Of a device its identity, see struct backend_device; of a namespace its nf_netns_id().  A positive number of 53 bits,
 * which JSON can hold.  Any thread may call this.
 */
uint64_t place_key(uint64_t identity);

/* Give a device with this identity, see struct backend_device, its keys and those of its namespace. */
void place_keys(struct device *device, uint64_t identity);

/* The same for a stored record of a device, or for one of its devices; read and remove them again. */
void place_keys_add(json_t *object, const struct device *of);
void place_read(struct device *device, const json_t *object);
void place_keys_remove(json_t *object);

#endif
