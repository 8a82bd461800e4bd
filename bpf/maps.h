/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps.  The daemon sets each max_entries before it loads the programs; the
 * values here are the smallest that load.  The daemon can map arrays
 * with BPF_F_MMAPABLE into its memory and read them without a system call.
 */
#ifndef NF_MAPS_H
#define NF_MAPS_H

#include "kernel.h"

/*
 * Give a new key the value `initial` and return the value, or NULL if the map
 * is full.  If another CPU inserts the key first, its value is used.
 */
static __always_inline void *nf_map_insert(void *map, const void *key, const void *initial)
{
	bpf_map_update_elem(map, key, initial, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* Index: CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_cpu);
} nf_cpus SEC(".maps");

/* Index: CPU * NF_CONTEXTS + a number of context.h.  Only with PREEMPT_RT. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_context);
} nf_contexts SEC(".maps");

/* Index: hash of the skb's number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct nf_inflight_set);
} nf_inflights SEC(".maps");

/* Index: set of the in-flight table / NF_PRESENCE_ROW. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_presence);
} nf_presences SEC(".maps");

/* Index: hash of the skb's number; as many entries as the in-flight table has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct nf_hops);
} nf_hops SEC(".maps");

/* Index: hash of the woken task's thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct nf_wake);
} nf_wakes SEC(".maps");

/* Index: hash of the socket's number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct nf_reader);
} nf_readers SEC(".maps");

/* Index: hash of the socket's number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct nf_stream);
} nf_streams SEC(".maps");

/* Index: hash of the device key; a slot is index * NF_DEVICE_SET + position in the set. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_device_set);
} nf_device_sets SEC(".maps");

/* Index: slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, NF_DEVICE_SET);
	__type(key, __u32);
	__type(value, struct nf_device_info);
} nf_device_infos SEC(".maps");

/* Slot → device key.  The insertion with BPF_NOEXIST decides which device gets a free slot. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NF_DEVICE_SET);
	__type(key, __u32);
	__type(value, __u64);
} nf_device_claims SEC(".maps");

/* Index: (slot * CPUs + CPU) / NF_BLOCK_ROW. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_block_row);
} nf_block_rows SEC(".maps");

/*
 * Index: block number >> settings.chunk_shift.  The daemon adds a chunk of blocks
 * when few are free, so that memory follows use.
 */
struct nf_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	/* Sizes only: clang leaves the type of an inner map's value undefined in BTF. */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct nf_device_stats));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct nf_chunk);
} nf_chunks SEC(".maps");

/* Numbers of free blocks: for devices, and those kept for groups. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__uint(value_size, 4);
} nf_free_blocks SEC(".maps"), nf_group_blocks SEC(".maps");

/* The programs add, the daemon reads; it fills the queues and sets the marks. */
volatile struct {
	__u64 taken;	   /* blocks taken from nf_free_blocks */
	__u64 group_taken; /* blocks taken from nf_group_blocks */
	__u64 lost;	   /* uses without any block: counters that are missing */
	__u64 unslotted;   /* 1: a device found no slot since the daemon set it to 0 */
	__u64 low;	   /* wake the daemon when `taken` reaches it */
	__u64 group_low;   /* wake the daemon when `group_taken` reaches it */
} nf_block_counts;

/* Shared by all CPUs.  The daemon sets the size of the value, see struct nf_drop_entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__type(key, struct nf_drop_key);
	__type(value, struct nf_drop_entry);
} nf_drops SEC(".maps");

/* Drops that found no room in nf_drops.  Reason → counters; NF_DROP_REASON_ANY is always there. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NF_DROP_REASONS + 1);
	__type(key, __u32);
	__type(value, struct nf_drop_entry);
} nf_drop_reasons SEC(".maps");

/* The first value of a new entry, all 0: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nf_drop_entry);
} nf_drop_zero SEC(".maps");

/* Index: generation * NF_DROP_QUOTAS + lower bits of nf_netns_id(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * NF_DROP_QUOTAS);
	__type(key, __u32);
	__type(value, __u64);
} nf_drop_quotas SEC(".maps");

/* All records, from the programs to the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} nf_ring SEC(".maps");

#endif
