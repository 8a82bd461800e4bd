/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which device of the daemon's own network namespace has a name now, also if no packet has passed it yet. */
#ifndef DAEMON_KERNEL_OWN_DEVICE_H
#define DAEMON_KERNEL_OWN_DEVICE_H

#include <stdint.h>

/*
 * What the programs know a device by: the lower halves of the cookie of its namespace, and of the number of its
 * directory in sysfs.  -ENODEV: no device has the name; -ESTALE: /sys shows another namespace; -ENOPROTOOPT: the kernel
 * is older than 5.14; or the errno of a system call.
 */
int own_device(const char *name, uint32_t *netns_id, uint32_t *number);

#endif
