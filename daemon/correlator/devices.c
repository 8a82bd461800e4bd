/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices, by name: events have neither the ifindex nor the namespace, so devices of one name in several namespaces are
 * one device here.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/correlator/internal.h"

#define FNV_BASIS 2166136261U
#define FNV_PRIME 16777619U

static uint32_t hash_name(const char *name)
{
	uint32_t h = FNV_BASIS;

	for (int i = 0; i < NF_DEVICE_NAME - 1 && name[i]; i++)
		h = (h ^ (unsigned char)name[i]) * FNV_PRIME;
	return h;
}

/* Where the index of the device is, or would be. */
static uint32_t *place_of(struct correlator *c, const char *name)
{
	uint32_t at = hash_name(name);

	while (c->device_index[at & c->device_mask]) {
		uint32_t *index = &c->device_index[at & c->device_mask];

		if (!strncmp(c->device[*index]->name, name, NF_DEVICE_NAME - 1))
			return index;
		at++;
	}
	return &c->device_index[at & c->device_mask];
}

uint16_t device_find(struct correlator *c, const char *name)
{
	struct correlator_device *fresh;
	uint32_t *place;

	if (!name || !name[0])
		return DEVICE_NONE;
	place = place_of(c, name);
	if (*place || c->devices > c->settings.devices)
		return (uint16_t)*place;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return DEVICE_NONE;
	memcpy(fresh->name, name, strnlen(name, NF_DEVICE_NAME - 1));
	c->device[c->devices] = fresh;
	*place = c->devices++;
	return (uint16_t)*place;
}

void hist_add(struct nf_hist *hist, uint64_t ns)
{
	hist->sum_ns += ns;
	hist->journeys++;
	hist->bucket[nf_hist_bucket(ns)]++;
	if (ns > hist->max_ns)
		hist->max_ns = ns;
}

bool device_time(struct correlator *c, uint16_t device, enum nf_segment segment, uint64_t from_ns,
		 uint64_t to_ns)
{
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;

	hist_add(&c->device[device]->segment[segment], ns);
	return ns > c->settings.slow_ns[segment];
}

/* The polls of a device on a CPU; those of the backlog of the CPU if the device has no memory for them. */
static struct correlator_polls *polls_of(struct correlator *c, struct cpu *cpu,
					 const struct event *event)
{
	/* NO_DEV of include/trace/events/napi.h: the backlog. */
	static const char no_device[] = "(no_device)";
	struct correlator_device *device;

	if (!event->device || !event->device[0] || !strcmp(event->device, no_device))
		return &cpu->backlog;
	device = c->device[device_find(c, event->device)];
	if (!device->polls)
		device->polls = calloc(c->settings.cpus, sizeof(*device->polls));
	return device->polls ? &device->polls[event->cpu] : &cpu->backlog;
}

void device_poll(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	struct correlator_polls *polls = polls_of(c, cpu, event);

	polls->polls++;
	polls->packets += event->work;
	/* Kernels before 4.7 have no budget in it. */
	if (event->budget && event->work >= event->budget)
		polls->full_budgets++;
}

uint32_t correlator_devices(const struct correlator *c)
{
	return c->devices;
}

const struct correlator_device *correlator_device(const struct correlator *c, uint32_t index)
{
	return c->device[index];
}

const struct correlator_polls *correlator_backlog(const struct correlator *c, uint32_t cpu)
{
	return cpu < c->settings.cpus && c->cpu[cpu] ? &c->cpu[cpu]->backlog : NULL;
}

const struct nf_hist *correlator_softirq_wait(const struct correlator *c, uint32_t cpu)
{
	return cpu < c->settings.cpus && c->cpu[cpu] ? &c->cpu[cpu]->wait : NULL;
}
