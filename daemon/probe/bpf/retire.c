/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices come and go (containers, tunnels), and the programs have a limited
 * number of slots.  When a set of slots is crowded, its longest idle device loses
 * the slot.  The device's counters are kept, see retired.h.
 *
 * Running programs and skbs in flight know the slot by its number, so this takes
 * several steps, each in a later call:
 *
 * 1. The key is removed, so that no program finds the slot any more.
 * 2. After a grace (see blocks.h), no program uses the slot that it had found
 *    before.  One pass over the in-flight table then finds which of these slots
 *    skbs still name.  An skb that waits longer than NAMED_NS is given to the group
 *    of the device.
 * 3. A slot that nothing names loses its blocks, see share.c.
 * 4. When it has none, it is free.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "build/bpf/netflowd.skel.h"
#include "common/time.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/devices.h"
#include "daemon/probe/bpf/retired.h"

/* A set with fewer free slots than this is crowded. */
#define FREE_MIN 2

/* An skb that is in flight for longer does not keep the slot of a device that is gone. */
#define NAMED_NS (30 * TIME_NS_PER_SECOND)

/* Entries of the in-flight table between two looks at the clock. */
#define PASS_STEP 4096

/* ---- the pass over the in-flight table -------------------------------------- */

/*
 * Give a waiting skb to the group of its device.  `check` is an exclusive or, so
 * both stores together keep it valid.  If the skb moves on between them, the
 * program finds the entry torn and counts that.
 */
static void give_to_group(const struct backend_bpf_state *state, struct nf_inflight *e,
			  uint32_t slot)
{
	uint16_t group = state->device_infos[slot].group;
	uint64_t difference = (uint64_t)slot << 8 ^ (uint64_t)group << 8;

	__atomic_store_n(&e->slot, group, __ATOMIC_RELAXED);
	__atomic_store_n(&e->check, e->check ^ difference, __ATOMIC_RELAXED);
}

static void see_slot(struct backend_bpf_state *state, uint32_t slot)
{
	if (slot < state->slots)
		bit_set(state->devices->named, slot);
}

/* The devices that the skb crossed before, of which its record will show the names. */
static void see_hops(struct backend_bpf_state *state, uint64_t skb, bool old)
{
	uint32_t shift = state->skel->rodata->settings.hops_shift;
	struct nf_hops *hops =
		&state->hops[(uint32_t)(skb * UINT64_C(0x9e3779b97f4a7c15) >> shift)];

	for (int i = 0; i < NF_HOPS_MAX && hops->skb == skb; i++) {
		if (old && hops->slot[i] < state->slots &&
		    bit_test(state->devices->asked, hops->slot[i]))
			hops->slot[i] = NF_SLOT_OTHER;
		else
			see_slot(state, hops->slot[i]);
	}
}

static void see_entry(struct backend_bpf_state *state, struct nf_inflight *e, uint64_t now)
{
	uint64_t skb = __atomic_load_n(&e->skb, __ATOMIC_RELAXED);
	bool old = now - e->begin_ns > NAMED_NS && now > e->begin_ns;
	uint32_t slot = e->slot;

	if (!skb)
		return;
	if (old && slot < state->slots && bit_test(state->devices->asked, slot))
		give_to_group(state, e, slot);
	else
		see_slot(state, slot);
	if (e->flags & NF_INFLIGHT_HOPS)
		see_hops(state, skb, old);
}

/* Transmits that are inside start_xmit; a frame that is older was left behind. */
static void see_context(struct backend_bpf_state *state, const struct nf_context *context,
			uint64_t now)
{
	for (uint32_t i = 0; i < context->xmit_depth && i < NF_XMIT_DEPTH; i++)
		if (now - context->xmit[i].start_ns < NAMED_NS)
			see_slot(state, context->xmit[i].slot);
}

static void see_transmits(struct backend_bpf_state *state, uint64_t now)
{
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		see_context(state, &state->cpu[cpu].context, now);
	for (uint32_t i = 0; state->context && i < state->cpus * NF_CONTEXTS; i++)
		see_context(state, &state->context[i], now);
}

/* Begin a pass if slots wait for one. */
static void begin_pass(struct backend_bpf_state *state)
{
	struct bpf_devices *devices = state->devices;
	size_t bytes = (state->slots + 63) / 64 * sizeof(*devices->asked);

	memset(devices->asked, 0, bytes);
	memset(devices->named, 0, bytes);
	devices->pass_at = 0;
	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		if (devices->slot[slot].phase == SLOT_CLOSING &&
		    blocks_grace_over(state->blocks, devices->slot[slot].grace)) {
			bit_set(devices->asked, slot);
			devices->passing = true;
		}
}

static void end_pass(struct backend_bpf_state *state, uint64_t now)
{
	struct bpf_devices *devices = state->devices;

	devices->passing = false;
	see_transmits(state, now);
	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++) {
		if (!bit_test(devices->asked, slot) || bit_test(devices->named, slot))
			continue;
		bpf_slot_forget_blocks(state, slot);
		devices->slot[slot].phase = SLOT_DRAINING;
		devices->slot[slot].grace = blocks_grace(state->blocks);
		/* A scan that is running may have passed some of its blocks. */
		devices->slot[slot].since_cycle = devices->cycle + (devices->scan_at != 0);
	}
}

static void pass(struct backend_bpf_state *state, uint64_t now, uint64_t until_ns)
{
	struct bpf_devices *devices = state->devices;

	if (!devices->passing)
		begin_pass(state);
	while (devices->passing && devices->pass_at < state->inflight_entries) {
		uint32_t end = devices->pass_at + PASS_STEP;

		for (; devices->pass_at < end && devices->pass_at < state->inflight_entries;
		     devices->pass_at++)
			see_entry(state, &state->inflight[devices->pass_at], now);
		if (time_monotonic() > until_ns)
			return;
	}
	if (devices->passing)
		end_pass(state, now);
}

/* ---- closing and freeing ----------------------------------------------------- */

static void close_slot(struct backend_bpf_state *state, uint32_t slot)
{
	struct device_slot *is = &state->devices->slot[slot];
	__u64 *key = slot_key(state, slot);

	is->closing = *key;
	is->phase = SLOT_CLOSING;
	__atomic_store_n(key, 0, __ATOMIC_RELEASE);
	is->grace = blocks_grace(state->blocks);
}

static void free_slot(struct backend_bpf_state *state, uint32_t slot)
{
	retired_gone(state->devices->retired, state->devices->slot[slot].closing);
	state->devices->slot[slot] = (struct device_slot){0};
	bpf_map_delete_elem(bpf_map__fd(state->skel->maps.nf_device_claims), &slot);
}

static void free_drained(struct backend_bpf_state *state)
{
	struct bpf_devices *devices = state->devices;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++) {
		const struct device_slot *is = &devices->slot[slot];

		if (is->phase == SLOT_DRAINING && blocks_grace_over(state->blocks, is->grace) &&
		    devices->cycle > is->since_cycle && !is->blocks)
			free_slot(state, slot);
	}
}

/* The longest idle slot of a set, idle for at least idle_ns; 0 = none. */
static uint32_t idlest(struct backend_bpf_state *state, uint32_t set, uint64_t now)
{
	uint64_t longest = state->devices->idle_ns;
	uint32_t found = 0;

	for (uint32_t slot = set * NF_DEVICE_SET; slot < (set + 1) * NF_DEVICE_SET; slot++) {
		const struct device_slot *is = &state->devices->slot[slot];

		if (slot < NF_SLOT_RESERVED || !*slot_key(state, slot) || !is->active_ns)
			continue;
		if (now - is->active_ns >= longest) {
			longest = now - is->active_ns;
			found = slot;
		}
	}
	return found;
}

/* Slots of a set without a key; a new device finds its slot when it was first seen. */
static unsigned int free_slots(struct backend_bpf_state *state, uint32_t set, uint64_t now)
{
	unsigned int n = 0;

	for (uint32_t slot = set * NF_DEVICE_SET; slot < (set + 1) * NF_DEVICE_SET; slot++) {
		struct device_slot *is = &state->devices->slot[slot];

		if (!*slot_key(state, slot))
			n++;
		else if (!is->active_ns)
			is->active_ns = now;
	}
	return n;
}

bool bpf_slots_work(struct backend_bpf_state *state, uint64_t now, uint64_t until_ns)
{
	bool more = false;

	free_drained(state);
	for (uint32_t set = 0; set < state->slots / NF_DEVICE_SET; set++) {
		unsigned int free = free_slots(state, set, now);

		for (uint32_t slot; free < FREE_MIN && (slot = idlest(state, set, now)); free++)
			close_slot(state, slot);
	}
	pass(state, now, until_ns);
	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots && !more; slot++)
		more = state->devices->slot[slot].phase != SLOT_OPEN;
	return more;
}
