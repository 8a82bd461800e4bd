/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log as it is written: passes on each record about a rocket. */
#ifndef DAEMON_KERNEL_KMSG_H
#define DAEMON_KERNEL_KMSG_H

#include <stddef.h>

#include "common/cleanup.h"
#include "daemon/core/rocket.h"

struct kmsg;
struct loop;

/*
 * Read records that are added to `path` (/dev/kmsg) from now on.  `take` gets each rocket, with the time at which it
 * was read.  On failure `reason` (`size` bytes) gives the failure and its remedy, except for -ENOMEM.  Free with
 * kmsg_free(), before the loop.
 */
int kmsg_new(struct kmsg **kmsg, struct loop *loop, const char *path,
	     void (*take)(const struct rocket *rocket, void *userdata), void *userdata,
	     char *reason, size_t size);
void kmsg_free(struct kmsg **kmsg);
#define OWN_KMSG CLEANUP(kmsg_free)

#endif
