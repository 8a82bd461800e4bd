/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the counters of ring slots. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/slots.h"

void bpf_read_slots_events(const struct backend *backend,
			   uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS])
{
	const struct backend_bpf_state *state = bpf_state(backend);
	const struct nf_slots_cpu *cpus = state->ring_slots->cpu;

	memset(events, 0, NF_SLOTS_PROBES * sizeof(events[0]));
	for (uint32_t cpu = 0; cpus && cpu < state->cpus; cpu++)
		for (int probe = 0; probe < NF_SLOTS_PROBES; probe++)
			for (int event = 0; event < NF_SLOTS_EVENTS; event++)
				events[probe][event] += __atomic_load_n(
					&cpus[cpu].events[probe][event], __ATOMIC_RELAXED);
}

static void add_cpu(struct backend_slots *device, const struct nf_slots_count *count)
{
	for (int i = 0; i < NF_SLOTS_BUCKETS; i++)
		device->slots[i] += count->slots[i];
	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		device->overflow[i] += count->overflow[i];
	device->near += count->near;
	device->too_big += count->too_big;
	if (count->last_overflow_ns > device->last_overflow_ns)
		device->last_overflow_ns = count->last_overflow_ns;
}

static int read_device(const struct backend_bpf_state *state, uint64_t key,
		       struct nf_slots_count *per_cpu, struct backend_slots *device, char *name)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	struct nf_slots_info info = {};

	if (bpf_map_lookup_elem(slots->map[COUNTS], &key, per_cpu))
		return -errno;
	memset(device, 0, sizeof(*device));
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		add_cpu(device, &per_cpu[cpu]);
	if (!key || bpf_map_lookup_elem(slots->map[INFOS], &key, &info))
		return 0;
	memcpy(name, info.device, NF_DEVICE_NAME);
	name[NF_DEVICE_NAME] = '\0';
	device->name = name;
	device->ifindex = info.ifindex;
	device->netns = info.netns;
	device->identity = key;
	device->xen = info.xen;
	return 0;
}

int bpf_read_slots(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_slots *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	const struct bpf_ring_slots *slots = state->ring_slots;
	OWN_FREE struct nf_slots_count *per_cpu = calloc(state->cpus, sizeof(*per_cpu));
	char name[NF_DEVICE_NAME + 1];
	struct backend_slots device;
	uint64_t key;
	int r;

	if (slots->map[COUNTS] < 0)
		return 0;
	if (!per_cpu)
		return -ENOMEM;
	while (bpf_map_get_next_key(slots->map[COUNTS], cursor->begun ? &cursor->next : NULL,
				    &key) == 0) {
		cursor->begun = true;
		cursor->next = key;
		r = read_device(state, key, per_cpu, &device, name);
		if (r < 0)
			return r;
		r = visit(&device, userdata);
		if (r)
			return r;
	}
	return 0;
}

int bpf_ring_slots_tables(const struct backend_bpf_state *state, uint64_t *next,
			  int (*visit)(const struct backend_table *, void *), void *userdata)
{
	const struct bpf_ring_slots *slots = state->ring_slots;
	const struct backend_table tables[] = {
		{.name = "slots",
		 .what = "ring slots per device and CPU",
		 .entries = slots->settings.table,
		 .used_known = true,
		 .used = bpf_count_keys(slots->map[INFOS], sizeof(uint64_t)),
		 .bytes = bpf_map_memory(slots->map[COUNTS]) + bpf_map_memory(slots->map[INFOS])},
		{.name = "slots_cpus",
		 .what = "transmits near or above the slot limit that have not ended",
		 .entries = state->cpus,
		 .bytes = bpf_map_memory(slots->map[CPUS])},
	};
	int r = 0;

	if (slots->map[COUNTS] < 0)
		return 0;
	while (*next < ARRAY_SIZE(tables) && r == 0)
		r = visit(&tables[(*next)++], userdata);
	return r;
}
