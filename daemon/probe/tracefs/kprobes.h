/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kprobe events of netflowd's group.  They belong to all instances of the kernel, so two netflowds share them: the
 * kernel removes none that an instance has enabled.
 */
#ifndef DAEMON_PROBE_TRACEFS_KPROBES_H
#define DAEMON_PROBE_TRACEFS_KPROBES_H

#include <stddef.h>

struct tracepoint;

/* Make the event if it does not exist.  A negative errno: `why` (of `size` bytes) says what the kernel refuses. */
int kprobes_create(const struct tracepoint *point, char *why, size_t size);

/* Remove the event, unless it is in use. */
void kprobes_remove(const struct tracepoint *point);

/* Remove all events of the group that are not in use: those that a netflowd left behind which was killed. */
void kprobes_remove_stale(void);

#endif
