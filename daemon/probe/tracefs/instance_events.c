/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of an instance: which are enabled, and with which filters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs/tracefs.h>

#include "common/cleanup.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/tracefs/instance_internal.h"
#include "daemon/probe/tracefs/kprobes.h"
#include "daemon/probe/tracefs/slots.h"
#include "daemon/probe/tracefs/slots_layout.h"

/* ---- one event ----------------------------------------------------------------------------- */

static bool exists(const struct instance *instance, const struct tracepoint *point)
{
	return tracefs_event_file_exists(instance->kernel, point->system, point->name, "enable");
}

/* Give the event its filter; *refused: the kernel takes none.  `filter` is NULL if it has none.  -ENOMEM. */
static int set_filter(const struct instance *instance, const struct tracepoint *point,
		      char **filter, bool *refused)
{
	char path[128];
	int r = exclusion_filter(&instance->excluded, point->device, point->filter, filter);

	if (!*filter)
		return r;
	snprintf(path, sizeof(path), "events/%s/%s/filter", point->system, point->name);
	*refused = instance_put(instance, path, *filter) < 0;
	return 0;
}

static int put_enable(const struct instance *instance, const struct tracepoint *point, bool on)
{
	char path[128];

	snprintf(path, sizeof(path), "events/%s/%s/enable", point->system, point->name);
	return instance_put(instance, path, on ? "1" : "0");
}

static int switch_on(const struct instance *instance, const struct tracepoint *point,
		     struct instance_probe *probe)
{
	OWN_FREE char *filter = NULL;
	bool unfiltered = false;
	int r = set_filter(instance, point, &filter, &unfiltered);

	if (r == 0)
		r = put_enable(instance, point, true);
	if (r == 0)
		*probe = (struct instance_probe){
			.event = point, .filter = TAKE_PTR(filter), .unfiltered = unfiltered};
	else
		snprintf(probe->why, sizeof(probe->why), "cannot enable the event %s:%s: %s",
			 point->system, point->name, strerror(-r));
	return r;
}

static int enable(const struct instance *instance, const struct tracepoint *point,
		  struct instance_probe *probe)
{
	int r;

	if (!point->function) {
		if (exists(instance, point))
			return switch_on(instance, point, probe);
		snprintf(probe->why, sizeof(probe->why), "this kernel has no event %s:%s",
			 point->system, point->name);
		return -ENOENT;
	}
	r = kprobes_create(point, probe->why, sizeof(probe->why));
	if (r == 0)
		r = switch_on(instance, point, probe);
	/* Another netflowd, which ended, may have removed the event in between. */
	if (r == -ENOENT && kprobes_create(point, probe->why, sizeof(probe->why)) == 0)
		r = switch_on(instance, point, probe);
	return r;
}

/* ---- events of ring slots ------------------------------------------------------------------ */

/* The last of them stands for all: with one missing, the counts would be wrong. */
static int enable_slots_points(struct instance *instance, struct instance_probe *probe)
{
	const struct slots_points *points = instance->slots;
	int r = 0;

	for (size_t i = 0; i < points->count && r == 0; i++) {
		free(probe->filter);
		*probe = (struct instance_probe){};
		r = enable(instance, &points->point[i], probe);
	}
	return r;
}

static void remove_slots(struct instance *instance)
{
	const struct slots_points *points = instance->slots;

	for (size_t i = 0; points && i < points->count; i++) {
		put_enable(instance, &points->point[i], false);
		kprobes_remove(&points->point[i]);
	}
	slots_points_free(&instance->slots);
}

static void enable_slots(struct instance *instance)
{
	struct instance_probe *probe = &instance->probes[NF_PROBE_XENNET_START_XMIT];
	struct slots_layout layout;
	int r;

	if (!slots_has_xen()) {
		snprintf(probe->why, sizeof(probe->why), "this host has no devices of Xen");
		return;
	}
	if (slots_layout_read(&layout, probe->why, sizeof(probe->why)) < 0)
		return;
	r = slots_points_new(&instance->slots, &layout);
	if (r < 0) {
		snprintf(probe->why, sizeof(probe->why), "cannot describe the event: %s",
			 strerror(-r));
		return;
	}
	if (enable_slots_points(instance, probe) == 0)
		return;
	free(TAKE_PTR(probe->filter));
	probe->event = NULL;
	remove_slots(instance);
}

/* ---- all events ---------------------------------------------------------------------------- */

int instance_enable(struct instance *instance, const bool disabled[NF_PROBE_COUNT],
		    const struct exclusion *excluded, char *error)
{
	size_t enabled = 0;

	if (excluded)
		instance->excluded = *excluded;
	for (size_t i = 0; i < NF_PROBE_COUNT; i++)
		snprintf(instance->probes[i].why, sizeof(instance->probes[i].why),
			 "no trace event shows it");
	for (size_t i = 0; i < tracepoints_count; i++) {
		struct instance_probe *probe = &instance->probes[tracepoints[i].probe];

		if (disabled && disabled[tracepoints[i].probe])
			continue;
		if (!probe->event && enable(instance, &tracepoints[i], probe) == 0)
			enabled++;
	}
	if (!disabled || !disabled[NF_PROBE_XENNET_START_XMIT])
		enable_slots(instance);
	if (enabled)
		return 0;
	return refusal(
		error, -ENOENT,
		"cannot enable any event: %s; a recording needs a kernel with CONFIG_EVENT_TRACING",
		instance->probes[NF_PROBE_KFREE_SKB].why);
}

const struct tracepoint *instance_event(const struct instance *instance, enum nf_probe probe,
					size_t i)
{
	const struct slots_points *points = instance->slots;

	if (probe == NF_PROBE_XENNET_START_XMIT)
		return points && i < points->count ? &points->point[i] : NULL;
	return i == 0 ? instance->probes[probe].event : NULL;
}

int instance_switch(struct instance *instance, enum nf_probe probe, bool on)
{
	const struct tracepoint *point;
	int r = 0;

	for (size_t i = 0; r == 0 && (point = instance_event(instance, probe, i)); i++)
		r = put_enable(instance, point, on);
	return r;
}

const struct instance_probe *instance_probe(const struct instance *instance, enum nf_probe probe)
{
	return &instance->probes[probe];
}

void instance_events_free(struct instance *instance)
{
	for (size_t i = 0; i < NF_PROBE_COUNT; i++) {
		const struct tracepoint *point;

		for (size_t j = 0; (point = instance_event(instance, (enum nf_probe)i, j)); j++)
			if (point->function)
				kprobes_remove(point);
		free(instance->probes[i].filter);
	}
	slots_points_free(&instance->slots);
}
