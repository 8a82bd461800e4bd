/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A network device in its namespace, by number and by name. */
#ifndef DAEMON_CORE_DEVICE_H
#define DAEMON_CORE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* All strings are borrowed. */
struct device {
	const char *name; /* up to NF_DEVICE_NAME bytes; NULL or empty: not known */
	uint32_t ifindex; /* 0: not known */
	uint32_t netns;	  /* inode number, 0: not known */
	/*
	 * What identifies the namespace and the device, whatever their numbers and names: nf_netns_id(), and as of a
	 * device in probe/backend.h; in the history both are a place_key().  0: not known.
	 */
	uint64_t netns_id, identity;
	const char *netns_name; /* "host", or its name in `ip netns`; NULL: none */
};

/* Whether the device is in the namespace of the host; one that is not known is not. */
static inline bool device_in_host(const struct device *device)
{
	return device->netns_name && !strcmp(device->netns_name, "host");
}

#endif
