/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifies of kernel modules that are loaded or removed. */
#ifndef DAEMON_KERNEL_MODULES_H
#define DAEMON_KERNEL_MODULES_H

#include <stdbool.h>

#include "common/cleanup.h"

struct loop;
struct modules;

/*
 * Call `changed` whenever any module is loaded (`came` is true) or removed, and when such an event may have been
 * missed.  A module that was loaded has just begun to run, and its devices exist.  Requires no privilege.  Free with
 * modules_free(), before the loop.
 */
int modules_new(struct modules **modules, struct loop *loop,
		int (*changed)(bool came, void *userdata), void *userdata);
void modules_free(struct modules **modules);
#define OWN_MODULES CLEANUP(modules_free)

#endif
