/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What identifies a namespace in the history.  Inode numbers are soon given to others, and cookies begin again with
 * each boot, so a key is a hash of the boot and of the cookie.
 */
#ifndef DAEMON_HISTORY_PLACE_KEY_H
#define DAEMON_HISTORY_PLACE_KEY_H

#include <stdint.h>

/* A member of the names of series; replies do not have it. */
#define PLACE_NETNS "netns_key"

/* Of the namespace with this nf_netns_id(): a positive number of 53 bits.  Any thread may call this. */
uint64_t place_key(uint32_t netns_id);

#endif
