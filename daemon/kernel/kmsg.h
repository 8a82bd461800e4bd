/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log as it is written: each record that is about a rocket is handed on. */
#ifndef DAEMON_KERNEL_KMSG_H
#define DAEMON_KERNEL_KMSG_H

#include <stddef.h>

#include "common/cleanup.h"
#include "daemon/core/rocket.h"

struct kmsg;
struct loop;

/*
 * Read `path` (/dev/kmsg) from its end on.  `take` gets each rocket, its time
 * being that of reading.  On failure `reason` (`size` bytes) says what would
 * help.  Free with kmsg_free, before the loop.
 */
int kmsg_new(struct kmsg **kmsg, struct loop *loop, const char *path,
	     void (*take)(const struct rocket *rocket, void *userdata), void *userdata,
	     char *reason, size_t size);
void kmsg_free(struct kmsg **kmsg);
#define OWN_KMSG CLEANUP(kmsg_free)

#endif
