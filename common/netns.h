/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a client, a rule or an option names a network namespace. */
#ifndef COMMON_NETNS_H
#define COMMON_NETNS_H

#include <stdint.h>

/* The forms that netns_parse() accepts, for messages. */
#define NETNS_FORMS "a name of `ip netns`, host, or an inode number from 1 to 4294967295"

/*
 * Text of digits only is an inode number, also where a namespace has such a name; *inode becomes
 * that number.  Other text is a name, and *inode becomes 0.  -EINVAL: it can be neither.
 */
int netns_parse(const char *text, uint32_t *inode);

#endif
