/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells that a module of the kernel came or went. */
#ifndef DAEMON_KERNEL_MODULES_H
#define DAEMON_KERNEL_MODULES_H

#include <stdbool.h>

#include "common/cleanup.h"

struct loop;
struct modules;

/*
 * Call `changed` whenever a module, any, was loaded (`came`) or removed since;
 * also when that may have been missed.  A module that came has begun its work a
 * moment ago: its devices exist.  Takes no privilege.  Free with modules_free,
 * before the loop.
 */
int modules_new(struct modules **modules, struct loop *loop,
		int (*changed)(bool came, void *userdata), void *userdata);
void modules_free(struct modules **modules);
#define OWN_MODULES CLEANUP(modules_free)

#endif
