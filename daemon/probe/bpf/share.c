/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which devices have blocks of their own.
 *
 * A program takes a free block when a device is first used on its CPU.  While
 * memory is left, that is all.  When it is used up, this file takes blocks away:
 * those that were idle for a while, then those of the devices with the fewest
 * packets, if devices with more packets count in their group.
 *
 * A block is taken away in two steps.  First its number is removed, so that the
 * next packet takes another block: a free one, or that of the group.  After a
 * grace, when no program uses it any more, its counters are added to the retired
 * ones, and it is free.  Nothing is lost, and nothing counts twice.
 *
 * Blocks of groups are never taken away, because devices of the group use their
 * numbers too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build/bpf/netflowd.skel.h"
#include "common/time.h"
#include "daemon/core/histogram.h"
#include "daemon/probe/bpf/blocks.h"
#include "daemon/probe/bpf/devices.h"
#include "daemon/probe/bpf/retired.h"

/* Blocks between two looks at the clock. */
#define SCAN_STEP 16
/* Devices that get blocks at the cost of others, per scan. */
#define SWAPS_MAX 64
/* A device must have this many times the packets of another to get its blocks, and some more. */
#define SWAP_FACTOR 2
#define SWAP_PACKETS (4 * NF_SHARED_SAMPLE)
/* A scan keeps 7/8 of the rate of the one before: half of it is left after 5 scans. */
#define RATE_KEPT 7
#define RATE_OF 8

/* A number that changes with the counters. */
static uint64_t activity(const struct nf_device_stats *stats)
{
	uint64_t sum = stats->packets + stats->polls;

	for (int i = 0; i < NF_HIST_COUNT; i++)
		sum += stats->hist[i].sum_ns;
	return sum;
}

/* Devices have all the memory there is, and few blocks are left. */
static bool is_short(const struct backend_bpf_state *state)
{
	return blocks_exhausted(state->blocks) &&
	       blocks_free_now(state->blocks) < blocks_low(state->blocks);
}

/* ---- taking a block away ------------------------------------------------------ */

/* The waits of the softirq are shown by CPU, which the retired counters do not have. */
static struct nf_hist *softirq_wait_of(struct bpf_devices *devices, uint32_t cpu)
{
	if (!devices->softirq_wait[cpu])
		devices->softirq_wait[cpu] = calloc(1, sizeof(*devices->softirq_wait[cpu]));
	return devices->softirq_wait[cpu];
}

/* The second step.  False: there is no memory for it now; the next scan tries again. */
static bool take_away(struct backend_bpf_state *state, uint32_t block)
{
	struct nf_device_stats *stats = blocks_get(state->blocks, block);
	uint32_t slot = NF_BLOCK_SLOT(stats->owner), cpu = NF_BLOCK_CPU(stats->owner);
	struct nf_hist *wait = softirq_wait_of(state->devices, cpu);

	if (!wait || retired_add(state->devices->retired, slot_owner(state, slot),
				 &state->device_infos[slot], cpu, stats) < 0)
		return false;
	histogram_merge(wait, &stats->hist[NF_SEGMENT_RAISE_TO_SOFTIRQ]);
	state->devices->block[block] = (struct device_block){0};
	blocks_release(state->blocks, block);
	return true;
}

/* The first step. */
static void hide(struct backend_bpf_state *state, uint32_t block, uint32_t slot, uint32_t cpu)
{
	__u16 *at = block_at(state, slot, cpu);

	if (*at == block)
		__atomic_store_n(at, 0, __ATOMIC_RELEASE);
	state->devices->block[block].grace = blocks_grace(state->blocks);
}

void bpf_slot_forget_blocks(struct backend_bpf_state *state, uint32_t slot)
{
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		__atomic_store_n(block_at(state, slot, cpu), 0, __ATOMIC_RELEASE);
}

/* ---- the scan ----------------------------------------------------------------- */

static void observe(struct backend_bpf_state *state, uint32_t block, uint32_t slot, uint64_t now)
{
	const struct nf_device_stats *stats = blocks_get(state->blocks, block);
	struct device_block *is = &state->devices->block[block];
	struct device_slot *of = &state->devices->slot[slot];
	uint64_t active = activity(stats);

	if (active != is->activity || !is->active_ns) {
		is->activity = active;
		is->active_ns = of->active_ns = now;
	}
	of->counting += stats->packets - is->packets;
	is->packets = stats->packets;
	of->counted++;
}

/* No program uses the block any more. */
static bool is_unused(const struct backend_bpf_state *state, const struct device_block *is,
		      const struct device_slot *of)
{
	return (is->grace && blocks_grace_over(state->blocks, is->grace)) ||
	       (of->phase == SLOT_DRAINING && blocks_grace_over(state->blocks, of->grace));
}

static void look_at(struct backend_bpf_state *state, uint32_t block, uint64_t now)
{
	struct device_block *is = &state->devices->block[block];
	uint64_t owner = block_owner(blocks_get(state->blocks, block));
	uint32_t slot = NF_BLOCK_SLOT(owner), cpu = NF_BLOCK_CPU(owner);
	const struct device_slot *of = &state->devices->slot[slot];

	if (!owner || slot_is_group(state, slot))
		return;
	if (is_unused(state, is, of) && take_away(state, block))
		return;
	observe(state, block, slot, now);
	if (is->grace)
		state->devices->awaiting++;
	else if (*block_at(state, slot, cpu) != block || of->phase == SLOT_DRAINING ||
		 of->demoted || (is_short(state) && now - is->active_ns >= state->devices->idle_ns))
		hide(state, block, slot, cpu);
}

/* ---- who gets blocks ------------------------------------------------------------ */

struct candidate {
	uint32_t slot;
	uint64_t rate;
};

static int by_rate(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	return a->rate > b->rate ? -1 : a->rate < b->rate;
}

/* CPUs on which the slot counts in its group. */
static uint32_t cpus_shared(const struct backend_bpf_state *state, uint32_t slot)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		uint16_t block = *block_at(state, slot, cpu);

		n += block && NF_BLOCK_SLOT(block_owner(blocks_get(state->blocks, block))) != slot;
	}
	return n;
}

/*
 * From now on it has blocks of its own.  It gets them here and not at its next packet: if it sends
 * now and then, others would take them before.
 */
static void promote(struct backend_bpf_state *state, uint32_t slot)
{
	state->devices->slot[slot].demoted = false;
	state->devices->slot[slot].shared_ns = 0;
	__atomic_store_n(&state->device_infos[slot].shared, 0, __ATOMIC_RELEASE);
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		__u16 *at = block_at(state, slot, cpu);
		uint16_t block = *at;

		if (!block || NF_BLOCK_SLOT(block_owner(blocks_get(state->blocks, block))) == slot)
			continue;
		block = (uint16_t)blocks_take(state->blocks, NF_BLOCK_OWNER(slot, cpu));
		__atomic_store_n(at, block, __ATOMIC_RELEASE);
	}
}

/* From now on it counts in its group; the next scan takes its blocks away. */
static void demote(struct backend_bpf_state *state, uint32_t slot)
{
	state->devices->slot[slot].demoted = true;
	__atomic_store_n(&state->device_infos[slot].shared, 1, __ATOMIC_RELEASE);
}

/* End the counting of the scan for all slots. */
static void sum_up(struct backend_bpf_state *state, uint64_t now)
{
	for (uint32_t slot = 0; slot < state->all_slots; slot++) {
		struct device_slot *is = &state->devices->slot[slot];
		const struct nf_device_info *info = &state->device_infos[slot];
		uint32_t shared = info->shared_packets;

		is->rate = is->rate * RATE_KEPT / RATE_OF + is->counting +
			   (uint64_t)(uint32_t)(shared - is->shared_seen) * NF_SHARED_SAMPLE;
		is->blocks = is->counted;
		is->counting = is->counted = 0;
		if (shared != is->shared_seen || (info->shared && !is->shared_ns))
			is->active_ns = is->shared_ns = now;
		is->shared_seen = shared;
	}
}

/* The slots that count in their group, busiest first; their number. */
static size_t find_waiting(const struct backend_bpf_state *state, struct candidate *list)
{
	size_t n = 0;

	for (uint32_t slot = 0; slot < state->all_slots; slot++)
		if (slot != NF_SLOT_OTHER && state->device_infos[slot].shared &&
		    slot_owner(state, slot) && state->devices->slot[slot].phase != SLOT_DRAINING)
			list[n++] = (struct candidate){slot, state->devices->slot[slot].rate};
	qsort(list, n, sizeof(*list), by_rate);
	return n;
}

/*
 * The devices with blocks of their own, busiest first; their number.  They may count in their group as well, on CPUs on
 * which no block was left.
 */
static size_t find_owners(const struct backend_bpf_state *state, struct candidate *list)
{
	size_t n = 0;

	for (uint32_t slot = NF_SLOT_RESERVED; slot < state->slots; slot++)
		if (state->devices->slot[slot].blocks && !state->devices->slot[slot].demoted)
			list[n++] = (struct candidate){slot, state->devices->slot[slot].rate};
	qsort(list, n, sizeof(*list), by_rate);
	return n;
}

/* Blocks that can be given away now; new devices find the rest. */
static uint64_t allowance(const struct backend_bpf_state *state)
{
	uint64_t free = blocks_free_now(state->blocks), keep = blocks_low(state->blocks) / 4;

	return free > keep ? free - keep : 0;
}

/* Make room for waiting devices by the blocks of devices that have fewer packets. */
static void swap(struct backend_bpf_state *state, const struct candidate *waiting, size_t count,
		 struct candidate *owners)
{
	size_t left = find_owners(state, owners);
	uint64_t room = allowance(state) + state->devices->awaited;

	for (size_t i = 0; i < count && i < SWAPS_MAX && waiting[i].rate; i++) {
		uint64_t cost = cpus_shared(state, waiting[i].slot);

		while (room < cost && left &&
		       owners[left - 1].rate * SWAP_FACTOR + SWAP_PACKETS < waiting[i].rate) {
			uint32_t slot = owners[--left].slot;

			if (owners[left].rate)
				demote(state, slot);
			else
				bpf_slot_forget_blocks(state, slot);
			room += state->devices->slot[slot].blocks;
		}
		if (room < cost)
			return;
		room -= cost;
	}
}

static void balance(struct backend_bpf_state *state)
{
	struct candidate *waiting = calloc(2 * (size_t)state->all_slots, sizeof(*waiting));
	size_t count = waiting ? find_waiting(state, waiting) : 0, i = 0;
	uint64_t room = allowance(state);

	for (; i < count; i++) {
		uint64_t cost = cpus_shared(state, waiting[i].slot);

		/* A device that moves no packets now waits until there is room for all. */
		if (cost > room || (!waiting[i].rate && is_short(state)))
			break;
		promote(state, waiting[i].slot);
		room -= cost;
	}
	if (i < count && blocks_exhausted(state->blocks))
		swap(state, waiting + i, count - i, waiting + state->all_slots);
	free(waiting);
}

bool bpf_blocks_work(struct backend_bpf_state *state, uint64_t now, uint64_t until_ns)
{
	struct bpf_devices *devices = state->devices;
	uint32_t end = blocks_end(state->blocks);

	while (devices->scan_at < end) {
		uint32_t step = devices->scan_at + SCAN_STEP;

		for (; devices->scan_at < step && devices->scan_at < end; devices->scan_at++)
			look_at(state, devices->scan_at, now);
		if (time_monotonic() > until_ns)
			return true;
	}
	devices->scan_at = 0;
	devices->cycle++;
	devices->awaited = devices->awaiting;
	devices->awaiting = 0;
	sum_up(state, now);
	balance(state);
	return devices->awaited || is_short(state);
}
