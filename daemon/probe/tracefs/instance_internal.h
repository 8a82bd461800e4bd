/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by instance.c and instance_events.c. */
#ifndef DAEMON_PROBE_TRACEFS_INSTANCE_INTERNAL_H
#define DAEMON_PROBE_TRACEFS_INSTANCE_INTERNAL_H

#include "daemon/probe/exclusion.h"
#include "daemon/probe/tracefs/instance.h"

struct slots_points;
struct tracefs_instance;

struct instance {
	struct tracefs_instance *kernel;
	int marker; /* trace_marker; while it is open, no other process can remove the instance */
	unsigned int cpus;
	uint64_t buffer_kib;
	uint32_t page_size;
	bool wakes_early;
	struct exclusion excluded;
	struct instance_probe probes[NF_PROBE_COUNT];
	struct slots_points *slots; /* NULL: they are not enabled */
};

/* Write to a file of the instance.  A negative errno. */
int instance_put(const struct instance *instance, const char *path, const char *text);

/* Remove the kprobe events that no other instance uses, and free what instance_enable() made. */
void instance_events_free(struct instance *instance);

#endif
