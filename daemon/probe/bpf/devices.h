/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon knows of slots and blocks besides the tables, shared by the
 * files about devices: retire.c (slots), share.c (blocks), devices.c (reading).
 */
#ifndef DAEMON_PROBE_BPF_DEVICES_H
#define DAEMON_PROBE_BPF_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"
#include "daemon/probe/bpf/internal.h"

enum slot_phase {
	SLOT_OPEN,     /* free, or a device's */
	SLOT_CLOSING,  /* its key is removed; skbs in flight may still name it */
	SLOT_DRAINING, /* nothing names it; its blocks are being taken away */
};

struct device_slot {
	uint64_t closing; /* the key that was removed, 0 = open */
	enum slot_phase phase;
	bool demoted;	      /* the daemon put it into its group; otherwise a program did */
	uint64_t grace;	      /* to wait for before the next phase */
	uint64_t since_cycle; /* draining: the scan after which it has no blocks */
	uint64_t active_ns;   /* when it last moved packets, or was first seen */
	uint64_t shared_ns;   /* when it last moved packets that its group counted, 0 = never */
	uint64_t rate;	      /* packets of late, about: a device that sends now and then has one */
	uint64_t counting;    /* packets that its blocks got during the running scan */
	uint32_t blocks;      /* blocks of its own at the last scan */
	uint32_t counted;     /* blocks of the running scan */
	uint32_t shared_seen; /* nf_device_info.shared_packets at the last scan */
};

struct device_block {
	uint64_t activity;  /* a number that changes with its counters */
	uint64_t packets;   /* at the last scan */
	uint64_t active_ns; /* when it last changed */
	uint64_t grace; /* no CPU finds it any more; its owner may use it until then; 0 = in use */
};

struct device_walk;

struct bpf_devices {
	uint64_t idle_ns;
	struct device_slot *slot;
	struct device_block *block;
	struct retired *retired;
	/* Waits of the softirq by CPU, of blocks that were taken away; NULL: none. */
	struct nf_hist **softirq_wait;

	/* devices.c: a pass over all devices that is not complete; NULL: none. */
	struct device_walk *walk;
	/* devices.c: the blocks of each CPU, as lists of their numbers. */
	uint16_t *first_of_cpu, *next_of_cpu;
	uint64_t listed_ns; /* when the lists were made, 0 = they are not valid */

	/* share.c: the scan of all blocks, which can take several calls. */
	uint32_t scan_at;
	uint64_t cycle, awaited; /* number of the scan; blocks in a grace */
	uint64_t awaiting;	 /* of the running scan */

	/* retire.c: the pass over the in-flight table, which can take several calls. */
	bool passing;
	uint32_t pass_at;
	uint64_t *asked, *named; /* bitmaps of slots */
	uint64_t unslotted_ns;	 /* when a device last found no slot, 0 = never */
	uint64_t worked_ns;	 /* when everything was last looked at */
};

/* Bits of a bitmap. */
static inline bool bit_test(const uint64_t *bits, uint32_t bit)
{
	return bits[bit / 64] >> (bit % 64) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t bit)
{
	bits[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* Devices and groups; the slots below NF_SLOT_RESERVED are groups too. */
static inline bool slot_is_group(const struct backend_bpf_state *state, uint32_t slot)
{
	return slot < NF_SLOT_RESERVED || slot >= state->slots;
}

static inline __u64 *slot_key(const struct backend_bpf_state *state, uint32_t slot)
{
	return &state->device_sets[slot / NF_DEVICE_SET].key[slot % NF_DEVICE_SET];
}

/* The key of a slot, also while it is being freed; 0: free. */
static inline uint64_t slot_owner(const struct backend_bpf_state *state, uint32_t slot)
{
	uint64_t key = __atomic_load_n(slot_key(state, slot), __ATOMIC_RELAXED);

	return key ? key : state->devices->slot[slot].closing;
}

/* The number of the block of a slot on a CPU. */
static inline __u16 *block_at(const struct backend_bpf_state *state, uint32_t slot, uint32_t cpu)
{
	size_t index = (size_t)slot * state->cpus + cpu;

	return &state->block_rows[index / NF_BLOCK_ROW].block[index % NF_BLOCK_ROW];
}

static inline uint64_t block_owner(const struct nf_device_stats *stats)
{
	return __atomic_load_n(&stats->owner, __ATOMIC_ACQUIRE);
}

/* retire.c: work on slots until `until_ns`; true: there is more to do soon. */
bool bpf_slots_work(struct backend_bpf_state *state, uint64_t now, uint64_t until_ns);

/* share.c: go on with the scan of the blocks until `until_ns`; true: there is more to do soon. */
bool bpf_blocks_work(struct backend_bpf_state *state, uint64_t now, uint64_t until_ns);
/* A slot has no use for its blocks: no CPU finds them from now on. */
void bpf_slot_forget_blocks(struct backend_bpf_state *state, uint32_t slot);

#endif
