/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the counters of devices: of a device's blocks, and its retired ones, as one. */
#include "daemon/probe/bpf/devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build/bpf/netflowd.skel.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/core/histogram.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/compact.h"
#include "daemon/probe/bpf/retired.h"

/* Memory for the counters of gone devices; one that moved some packets takes 300 to 800 bytes. */
#define RETIRED_BYTES (4 << 20)

/* A device is busy if it moved packets within this time. */
#define BUSY_NS (60 * TIME_NS_PER_SECOND)

/* Lists of blocks by CPU are valid for this time, or until the next housekeeping. */
#define LIST_NS UINT64_C(10000000)

/* Housekeeping looks at everything at this interval, or at each call while work is left. */
#define WORK_NS TIME_NS_PER_SECOND
/* The longest time of one call, for blocks and then for slots. */
#define BLOCKS_NS UINT64_C(2500000)
#define SLOTS_NS UINT64_C(4500000)

static void walk_free(struct device_walk **walk);

/* ---- start, stop, housekeeping ---------------------------------------------- */

int bpf_devices_new(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	struct bpf_devices *devices = calloc(1, sizeof(*devices));
	size_t words = (state->slots + 63) / 64;

	state->devices = devices;
	if (!devices)
		return -ENOMEM;
	devices->idle_ns = settings->device_idle_seconds * TIME_NS_PER_SECOND;
	devices->slot = calloc(state->all_slots, sizeof(*devices->slot));
	devices->block = calloc(blocks_limit(state->blocks), sizeof(*devices->block));
	devices->softirq_wait = calloc(state->cpus, sizeof(*devices->softirq_wait));
	devices->asked = calloc(words, sizeof(*devices->asked));
	devices->named = calloc(words, sizeof(*devices->named));
	if (!devices->slot || !devices->block || !devices->softirq_wait || !devices->asked ||
	    !devices->named)
		return -ENOMEM;
	/* It is a group of its own: it always gets a block. */
	state->device_infos[NF_SLOT_BACKLOG].group = NF_SLOT_BACKLOG;
	return retired_new(&devices->retired, RETIRED_BYTES);
}

void bpf_devices_free(struct backend_bpf_state *state)
{
	struct bpf_devices *devices = state->devices;

	if (!devices)
		return;
	walk_free(&devices->walk);
	retired_free(&devices->retired);
	for (uint32_t cpu = 0; devices->softirq_wait && cpu < state->cpus; cpu++)
		free(devices->softirq_wait[cpu]);
	free(devices->softirq_wait);
	free(devices->slot);
	free(devices->block);
	free(devices->first_of_cpu);
	free(devices->next_of_cpu);
	free(devices->asked);
	free(devices->named);
	free(devices);
	state->devices = NULL;
}

void bpf_housekeep(struct backend *backend)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	struct bpf_devices *devices = state->devices;
	uint64_t now = time_monotonic();
	bool more;

	if (state->drops_full)
		bpf_drops_tend(state);
	devices->listed_ns = 0;
	blocks_refill(state->blocks);
	if (state->skel->bss->nf_block_counts.unslotted) {
		state->skel->bss->nf_block_counts.unslotted = 0;
		devices->unslotted_ns = now;
	}
	if (now - devices->worked_ns < WORK_NS)
		return;
	more = bpf_blocks_work(state, now, now + BLOCKS_NS);
	more |= bpf_slots_work(state, now, now + SLOTS_NS);
	devices->worked_ns = more ? 0 : now;
	blocks_refill(state->blocks);
}

void bpf_read_sharing(const struct backend *backend, struct backend_sharing *sharing)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	const struct bpf_devices *devices = state->devices;
	uint64_t now = time_monotonic();

	*sharing = (struct backend_sharing){
		.lost = state->skel->bss->nf_block_counts.lost,
		.unslotted = state->skel->bss->nf_block_counts.unslotted ||
			     (devices->unslotted_ns && now - devices->unslotted_ns < BUSY_NS),
		.error = -blocks_error(state->blocks),
		.memory_bytes = state->device_memory,
	};
	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		sharing->busy += state->device_infos[slot].shared &&
				 (!devices->slot[slot].shared_ns ||
				  now - devices->slot[slot].shared_ns < BUSY_NS);
}

/* ---- blocks by slot ----------------------------------------------------------- */

/* The blocks of each slot, as lists of their numbers. */
struct by_slot {
	uint16_t *first; /* by slot; 0 = none */
	uint16_t *next;	 /* by block */
};

static void cleanup_by_slot(const struct by_slot *by_slot)
{
	free(by_slot->first);
	free(by_slot->next);
}

#define OWN_BY_SLOT CLEANUP(cleanup_by_slot)

static int list_blocks(const struct backend_bpf_state *state, struct by_slot *by_slot)
{
	uint32_t end = blocks_end(state->blocks);

	by_slot->first = calloc(state->all_slots, sizeof(*by_slot->first));
	by_slot->next = calloc(end, sizeof(*by_slot->next));
	if (!by_slot->first || !by_slot->next)
		return -ENOMEM;
	for (uint32_t block = end - 1; block; block--) {
		uint64_t owner = block_owner(blocks_get(state->blocks, block));
		uint32_t slot = NF_BLOCK_SLOT(owner);

		if (!owner)
			continue;
		by_slot->next[block] = by_slot->first[slot];
		by_slot->first[slot] = (uint16_t)block;
	}
	return 0;
}

/* ---- a device ------------------------------------------------------------------ */

/* A pass over all devices; `sum` and `device` are empty between two devices. */
struct device_pass {
	const struct backend_bpf_state *state;
	struct by_slot blocks;
	struct nf_device_stats sum;
	struct backend_device device;
	int (*visit)(const struct backend_device *, void *);
	void *userdata;
};

static void add_slot(struct device_pass *reading, uint32_t slot)
{
	for (uint16_t i = reading->blocks.first[slot]; i; i = reading->blocks.next[i])
		compact_merge(&reading->sum, blocks_get(reading->state->blocks, i));
}

static unsigned int segment_of(unsigned int hist)
{
	if (hist == NF_HIST_SOFTIRQ_RECEIVE_TO_COPY)
		return NF_SEGMENT_RECEIVE_TO_COPY;
	return hist == NF_HIST_SOFTIRQ_RX_TOTAL ? NF_SEGMENT_RX_TOTAL : hist;
}

/* Visit the device with the sum, and empty both again. */
static int visit_sum(struct device_pass *reading)
{
	struct backend_device *device = &reading->device;
	struct nf_device_stats *sum = &reading->sum;
	int r;

	for (unsigned int i = 0; i < NF_HIST_COUNT; i++) {
		if (compact_hist_is_empty(&sum->hist[i]))
			continue;
		histogram_merge(&device->segment[segment_of(i)], &sum->hist[i]);
		device->used |= UINT32_C(1) << segment_of(i);
		memset(&sum->hist[i], 0, sizeof(sum->hist[i]));
	}
	device->polls = sum->polls;
	device->poll_packets = sum->poll_packets;
	device->full_budgets = sum->full_budgets;
	device->received = sum->received;
	device->received_variance = sum->received_variance;
	sum->polls = sum->poll_packets = sum->full_budgets = 0;
	sum->received = sum->received_variance = 0;
	r = reading->visit(device, reading->userdata);
	for (unsigned int i = 0; i < NF_SEGMENT_COUNT; i++)
		if (device->used & UINT32_C(1) << i)
			memset(&device->segment[i], 0, sizeof(device->segment[i]));
	device->used = 0;
	return r;
}

static int visit_device(struct device_pass *reading, const struct nf_device_info *info,
			uint64_t key)
{
	char name[NF_DEVICE_NAME + 1] = "", kind[NF_DEVICE_KIND + 1] = "";

	memcpy(name, info->name, NF_DEVICE_NAME);
	memcpy(kind, info->kind, NF_DEVICE_KIND);
	reading->device.name = name;
	reading->device.kind = kind[0] ? kind : NULL;
	reading->device.netns = info->netns;
	reading->device.ifindex = info->ifindex;
	reading->device.identity = key;
	reading->device.group = false;
	reading->device.devices = 1;
	return visit_sum(reading);
}

/* ---- groups --------------------------------------------------------------------- */

/* Devices that count in the group now. */
static uint64_t members(const struct backend_bpf_state *state, uint32_t group)
{
	uint64_t n = 0;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		n += state->device_infos[slot].shared && state->device_infos[slot].group == group &&
		     slot_owner(state, slot);
	return n;
}

/* Add the gone devices of the kind, and visit the group. */
static int visit_group(struct device_pass *reading, const char kind[NF_DEVICE_KIND],
		       uint64_t devices, uint32_t number)
{
	char text[NF_DEVICE_KIND + 1] = "";
	size_t count;
	const struct retired_kind *kinds = retired_kinds(reading->state->devices->retired, &count);

	for (size_t i = 0; i < count; i++)
		if (!memcmp(kinds[i].kind, kind, NF_DEVICE_KIND)) {
			compact_merge(&reading->sum, &kinds[i].stats);
			devices += kinds[i].devices;
		}
	memcpy(text, kind, NF_DEVICE_KIND);
	reading->device.name = NULL;
	reading->device.kind = text[0] ? text : BACKEND_KIND_OTHER;
	reading->device.netns = 0;
	reading->device.ifindex = number;
	reading->device.identity = 0;
	reading->device.group = true;
	reading->device.devices = devices;
	return visit_sum(reading);
}

/* The group of all others comes first and always, then those of kinds that were used. */
static int visit_groups(struct device_pass *reading)
{
	const struct backend_bpf_state *state = reading->state;
	static const char other[NF_DEVICE_KIND];
	size_t count;
	const struct retired_kind *kinds = retired_kinds(state->devices->retired, &count);
	int r;

	for (uint32_t slot = 0; slot < NF_SLOT_RESERVED; slot++)
		add_slot(reading, slot);
	r = visit_group(reading, other, members(state, NF_SLOT_OTHER), 0);
	for (uint32_t slot = state->slots; slot < state->all_slots && r >= 0; slot++) {
		const char *kind = state->device_infos[slot].kind;
		bool used = reading->blocks.first[slot];

		for (size_t i = 0; i < count; i++)
			used |= !memcmp(kinds[i].kind, kind, NF_DEVICE_KIND);
		if (!*slot_key(state, slot) || !used)
			continue;
		add_slot(reading, slot);
		r = visit_group(reading, kind, members(state, slot), slot);
	}
	return r;
}

/* ---- all devices ----------------------------------------------------------------- */

/* A slot of a device, or its retired counters. */
struct part {
	uint64_t key;
	uint32_t slot;
	const struct retired_device *retired; /* NULL for a slot */
};

static int by_key(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* Slots come before retired counters, whose names are older. */
static size_t collect_parts(const struct backend_bpf_state *state, struct part *parts)
{
	const struct retired_device *device = NULL;
	size_t n = 0;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++) {
		uint64_t key = slot_owner(state, slot);

		if (key)
			parts[n++] = (struct part){.key = key, .slot = slot};
	}
	while ((device = retired_next(state->devices->retired, device)))
		parts[n++] = (struct part){.key = device->key, .retired = device};
	qsort(parts, n, sizeof(*parts), by_key);
	return n;
}

static int visit_parts(struct device_pass *reading, const struct part *parts, size_t count)
{
	const struct nf_device_info *info = NULL;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].retired) {
			compact_add(parts[i].retired->counters, &reading->sum);
			info = info ? info : &parts[i].retired->info;
		} else {
			add_slot(reading, parts[i].slot);
			info = &reading->state->device_infos[parts[i].slot];
		}
	}
	return visit_device(reading, info, parts[0].key);
}

/* A pass over all devices can take several calls, between which no slot and no block is freed. */
struct device_walk {
	struct device_pass reading;
	struct part *parts;
	size_t count, next;
};

static void walk_free(struct device_walk **walk)
{
	if (!*walk)
		return;
	cleanup_by_slot(&(*walk)->reading.blocks);
	free((*walk)->parts);
	free(*walk);
	*walk = NULL;
}

#define OWN_WALK CLEANUP(walk_free)

static int walk_new(struct device_walk **walk, const struct backend_bpf_state *state)
{
	OWN_WALK struct device_walk *fresh = calloc(1, sizeof(*fresh));
	size_t most = state->slots + retired_count(state->devices->retired);
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->reading.state = state;
	fresh->parts = calloc(most, sizeof(*fresh->parts));
	if (!fresh->parts)
		return -ENOMEM;
	r = list_blocks(state, &fresh->reading.blocks);
	if (r < 0)
		return r;
	fresh->count = collect_parts(state, fresh->parts);
	*walk = TAKE_PTR(fresh);
	return 0;
}

/* Visit the next devices: 0: those were the last; 1: the visitor stopped the walk; or a negative errno. */
static int walk_on(struct device_walk *walk)
{
	int r = 0;

	while (walk->next < walk->count && r == 0) {
		const struct part *first = &walk->parts[walk->next];
		size_t n = 1;

		while (walk->next + n < walk->count && first[n].key == first->key)
			n++;
		walk->next += n;
		r = visit_parts(&walk->reading, first, n);
	}
	return r;
}

int bpf_read_devices(const struct backend *backend, struct backend_cursor *cursor,
		     int (*visit)(const struct backend_device *, void *), void *userdata)
{
	struct device_walk **walk = &bpf_state(backend)->devices->walk;
	bool begins = !cursor->begun;
	int r = 0;

	if (begins) {
		walk_free(walk);
		r = walk_new(walk, bpf_state(backend));
		if (r < 0)
			return r;
		cursor->begun = true;
	}
	if (!*walk)
		return -EINVAL; /* another walk began */
	(*walk)->reading.visit = visit;
	(*walk)->reading.userdata = userdata;
	if (begins)
		r = visit_groups(&(*walk)->reading);
	if (r == 0)
		r = walk_on(*walk);
	if (r <= 0)
		walk_free(walk);
	return r;
}

/* ---- NAPI ------------------------------------------------------------------------ */

static void add_polls(struct backend_napi *to, uint64_t polls, uint64_t packets, uint64_t full)
{
	to->polls += polls;
	to->poll_packets += packets;
	to->full_budgets += full;
}

/* Add up the polls of a slot by CPU, into `napi`, which is empty. */
static void sum_polls(const struct backend_bpf_state *state, const struct by_slot *blocks,
		      uint32_t slot, struct backend_napi *napi)
{
	const struct retired_device *retired =
		slot_is_group(state, slot)
			? NULL
			: retired_find(state->devices->retired, *slot_key(state, slot));

	for (uint16_t i = blocks->first[slot]; i; i = blocks->next[i]) {
		const struct nf_device_stats *stats = blocks_get(state->blocks, i);

		add_polls(&napi[NF_BLOCK_CPU(stats->owner)], stats->polls, stats->poll_packets,
			  stats->full_budgets);
	}
	for (size_t i = 0; retired && i < retired->napi_count; i++)
		add_polls(&napi[retired->napi[i].cpu], retired->napi[i].polls,
			  retired->napi[i].poll_packets, retired->napi[i].full_budgets);
}

/* Visit the CPUs that polled, and empty `napi` again. */
static int visit_polls(const struct backend_bpf_state *state, uint32_t slot,
		       struct backend_napi *napi, int (*visit)(const struct backend_napi *, void *),
		       void *userdata)
{
	const struct nf_device_info *info = &state->device_infos[slot];
	char name[NF_DEVICE_NAME + 1] = "";
	int stop = 0, r = 0;

	memcpy(name, info->name, NF_DEVICE_NAME);
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		if (!napi[cpu].polls)
			continue;
		napi[cpu].cpu = cpu;
		if (!slot_is_group(state, slot)) {
			napi[cpu].name = name;
			napi[cpu].ifindex = info->ifindex;
			napi[cpu].netns = info->netns;
			napi[cpu].identity = *slot_key(state, slot);
		}
		/* A visitor that stops the walk gets all rows of the slot. */
		if (r >= 0)
			stop = visit(&napi[cpu], userdata);
		r = stop ? stop : r;
		napi[cpu] = (struct backend_napi){0};
	}
	return r;
}

/* Slots that one call looks at: about 1 ms with 255 CPUs. */
#define NAPI_SLOTS 1024

/* `next` of the cursor is the slot at which the walk goes on, counted from NF_SLOT_BACKLOG. */
int bpf_read_napi(const struct backend *backend, struct backend_cursor *cursor,
		  int (*visit)(const struct backend_napi *, void *), void *userdata)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	OWN_FREE struct backend_napi *napi = calloc(state->cpus, sizeof(*napi));
	OWN_BY_SLOT struct by_slot blocks = {0};
	int r = napi ? list_blocks(state, &blocks) : -ENOMEM;

	for (unsigned int looked = 0; r == 0; looked++) {
		uint32_t slot = NF_SLOT_BACKLOG + (uint32_t)cursor->next;

		if (slot >= state->slots)
			return 0;
		if (looked == NAPI_SLOTS)
			return 1;
		cursor->next++;
		if (!*slot_key(state, slot))
			continue;
		sum_polls(state, &blocks, slot, napi);
		r = visit_polls(state, slot, napi, visit, userdata);
	}
	return r;
}

/* The lists of blocks by CPU; many CPUs are read one after another from one list. */
static int list_by_cpu(const struct backend_bpf_state *state)
{
	struct bpf_devices *devices = state->devices;
	uint32_t end = blocks_end(state->blocks);
	uint64_t now = time_monotonic();

	if (devices->listed_ns && now - devices->listed_ns < LIST_NS)
		return 0;
	if (!devices->first_of_cpu)
		devices->first_of_cpu = calloc(state->cpus, sizeof(*devices->first_of_cpu));
	if (!devices->next_of_cpu)
		devices->next_of_cpu =
			calloc(blocks_limit(state->blocks), sizeof(*devices->next_of_cpu));
	if (!devices->first_of_cpu || !devices->next_of_cpu)
		return -ENOMEM;
	memset(devices->first_of_cpu, 0, state->cpus * sizeof(*devices->first_of_cpu));
	for (uint32_t block = 1; block < end; block++) {
		uint64_t owner = block_owner(blocks_get(state->blocks, block));
		uint32_t cpu = NF_BLOCK_CPU(owner);

		if (!owner)
			continue;
		devices->next_of_cpu[block] = devices->first_of_cpu[cpu];
		devices->first_of_cpu[cpu] = (uint16_t)block;
	}
	devices->listed_ns = now;
	return 0;
}

void bpf_read_softirq_wait(const struct backend *backend, uint32_t cpu, struct nf_hist *hist)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	const struct bpf_devices *devices = state->devices;

	if (cpu >= state->cpus || list_by_cpu(state) < 0)
		return;
	if (devices->softirq_wait[cpu])
		histogram_merge(hist, devices->softirq_wait[cpu]);
	for (uint16_t i = devices->first_of_cpu[cpu]; i; i = devices->next_of_cpu[i])
		histogram_merge(hist,
				&blocks_get(state->blocks, i)->hist[NF_SEGMENT_RAISE_TO_SOFTIRQ]);
}
