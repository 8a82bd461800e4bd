/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices and the data of each: its slot, histograms and NAPI counters.
 */
#ifndef NF_DEVICE_H
#define NF_DEVICE_H

#include "cpu.h"

/*
 * Whether `dev` points to a live net_device: the loopback device of its
 * namespace is in that same namespace.  No other memory has this cycle.
 */
static __always_inline bool nf_device_is_real(const struct net_device *dev)
{
	const struct net *net;

	if (!dev)
		return false;
	net = dev->nd_net.net;
	return net && net->loopback_dev->nd_net.net == net && dev->ifindex > 0;
}

#define NF_SLOT_NONE (~0U)
#define NF_SLOT_NEW 0x10000U /* the caller has taken the slot, and is to publish its key */

/*
 * A slot of the set with this key, or a free one, taken for it.  The insertion
 * with BPF_NOEXIST decides between CPUs.  All CPUs walk the set in the same
 * order, so all get the same slot.  If they do not, because the daemon frees a
 * slot at that moment, one key has two slots, and the daemon adds them.
 *
 * The loop is unrolled, because clang otherwise enters it past its head.  check_cfg() up to
 * 6.12 takes the step into the head for a back-edge and refuses the program.
 */
static __noinline __u32 nf_slot_claim(__u32 set_index, __u64 key)
{
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	__u64 *owner;
	__u32 slot;
	int i;

	if (!set)
		return NF_SLOT_NONE;
#pragma unroll
	for (i = 0; i < NF_DEVICE_SET; i++) {
		if (set->key[i] && set->key[i] != key)
			continue;
		slot = set_index * NF_DEVICE_SET + i;
		if (set->key[i] == key)
			return slot;
		if (bpf_map_update_elem(&nf_device_claims, &slot, &key, BPF_NOEXIST) == 0)
			return slot | NF_SLOT_NEW;
		owner = bpf_map_lookup_elem(&nf_device_claims, &slot);
		if (owner && *owner == key)
			return slot;
	}
	return NF_SLOT_NONE;
}

/* From now on the look-ups find the slot. */
static __always_inline void nf_slot_publish(__u32 slot, __u64 key)
{
	__u32 set_index = slot / NF_DEVICE_SET;
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &set_index);

	if (set)
		set->key[slot & (NF_DEVICE_SET - 1)] = key;
}

/* The two sets that can have a key's slot; the second has those that find the first full. */
static __always_inline __u32 nf_device_first_set(__u64 key)
{
	return nf_hash(key, 32) & (settings.device_sets - 1);
}

static __always_inline __u32 nf_device_second_set(__u64 key)
{
	return (nf_device_first_set(key) ^ (nf_hash(key, 48) | 1)) & (settings.device_sets - 1);
}

/* The slot of a key in one of two sets, found or taken. */
static __noinline __u32 nf_slot_find(__u32 first, __u32 second, __u64 key)
{
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &second);
	__u32 slot;
	int i;

	if (!set)
		return NF_SLOT_NONE;
#pragma unroll
	for (i = 0; i < NF_DEVICE_SET; i++)
		if (set->key[i] == key)
			return second * NF_DEVICE_SET + i;
	slot = nf_slot_claim(first, key);
	return slot == NF_SLOT_NONE ? nf_slot_claim(second, key) : slot;
}

/* The group of a kind; NF_SLOT_OTHER if there is no slot for it. */
static __always_inline __u32 nf_group_slot(const struct nf_device_info *of)
{
	const __u64 *word = (const void *)of->kind;
	__u64 key = NF_GROUP_KEY(nf_hash(word[0] ^ nf_hash(word[1], 0), 32));
	__u32 first = settings.device_sets + (key >> 1 & 1);
	__u32 slot = nf_slot_find(first, settings.device_sets + !(key >> 1 & 1), key);
	struct nf_device_info *info;

	if (slot == NF_SLOT_NONE)
		return NF_SLOT_OTHER;
	if (!(slot & NF_SLOT_NEW))
		return slot;
	slot &= NF_SLOT_NEW - 1;
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (!info)
		return NF_SLOT_OTHER;
	__builtin_memset(info, 0, sizeof(*info));
	__builtin_memcpy(info->kind, of->kind, NF_DEVICE_KIND);
	info->group = slot;
	nf_slot_publish(slot, key);
	return slot;
}

static __always_inline void nf_device_read_kind(struct nf_device_info *info,
						const struct net_device *dev)
{
	const struct rtnl_link_ops *ops = BPF_CORE_READ(dev, rtnl_link_ops);

	info->local = 1;
	if (ops) {
		bpf_probe_read_kernel_str(info->kind, sizeof(info->kind), BPF_CORE_READ(ops, kind));
		/* What a tun device receives, a program wrote. */
		if (info->kind[0] == 't' && info->kind[1] == 'u' && info->kind[2] == 'n')
			info->local = 0;
	} else if (BPF_CORE_READ(dev, flags) & IFF_LOOPBACK) {
		__builtin_memcpy(info->kind, "loopback", sizeof("loopback"));
	} else {
		__builtin_memcpy(info->kind, "physical", sizeof("physical"));
		info->local = 0;
	}
}

/*
 * Find the slot of a device that is not in its first set, or take one for it.  `number` is
 * the device's nf_address().  A global function, so that the verifier checks it once, not in
 * each state of each caller.
 */
__noinline __u32 nf_device_claim(__u64 key, __u64 number)
{
	__u32 slot = nf_slot_find(nf_device_first_set(key), nf_device_second_set(key), key);
	struct nf_cpu *cpu = nf_this_cpu();
	const struct net_device *dev;
	struct nf_device_info *info;

	if (!cpu)
		return NF_SLOT_OTHER;
	dev = (const void *)(number + nf_base(cpu));
	if (slot == NF_SLOT_NONE) {
		nf_block_counts.unslotted = 1;
		return NF_SLOT_OTHER;
	}
	if (!(slot & NF_SLOT_NEW))
		return slot;
	slot &= NF_SLOT_NEW - 1;
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (!info)
		return NF_SLOT_OTHER;
	__builtin_memset(info, 0, sizeof(*info));
	BPF_CORE_READ_STR_INTO(&info->name, dev, name);
	info->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	info->ifindex = BPF_CORE_READ(dev, ifindex);
	nf_device_read_kind(info, dev);
	info->group = nf_group_slot(info);
	nf_slot_publish(slot, key);
	return slot;
}

static __always_inline __u32 nf_device_slot(const struct net_device *dev)
{
	__u64 key = nf_device_key(dev);
	__u32 set_index = nf_device_first_set(key);
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	int i;

	/* No namespace has the identity 0, and a key of 0 would match a free slot. */
	if (unlikely(!set || !key))
		return NF_SLOT_OTHER;
#pragma unroll
	for (i = 0; i < NF_DEVICE_SET; i++)
		if (likely(set->key[i] == key))
			return set_index * NF_DEVICE_SET + i;
	return nf_device_claim(key, nf_address(dev));
}

#define NF_INDEX_HASH 256 /* NETDEV_HASHENTRIES of include/linux/netdevice.h and net/core/dev.c */
#define NF_INDEX_CHAIN 64 /* a namespace with more than 16,384 devices is not searched to the end */

/*
 * The slot of the device with this ifindex in the namespace `net`, a number like nf_inflight.skb;
 * NF_SLOT_OTHER: there is none.  Inlined, because the calls of its caller are as deep as the verifier allows.
 */
static __always_inline __u32 nf_device_by_index(struct nf_cpu *cpu, __u64 net, __u32 ifindex)
{
	__u64 base = nf_base(cpu), node, key;
	const struct net *in = (const void *)(net + base);
	const struct hlist_head *heads = BPF_CORE_READ(in, dev_index_head);
	const struct net_device *dev;
	int i;

	node = (__u64)BPF_CORE_READ(&heads[ifindex & (NF_INDEX_HASH - 1)], first);
	for (i = 0; i < NF_INDEX_CHAIN && node; i++) {
		dev = (const void *)(node - bpf_core_field_offset(struct net_device, index_hlist));
		if ((__u32)BPF_CORE_READ(dev, ifindex) == ifindex) {
			key = nf_device_key_untyped(dev);
			return key ? nf_device_claim(key, (__u64)dev - base) : NF_SLOT_OTHER;
		}
		node = (__u64)BPF_CORE_READ(dev, index_hlist.next);
	}
	return NF_SLOT_OTHER;
}

/*
 * The device of a slot, and its key, which is 0 while the daemon takes the slot
 * from the device; NULL if the slot is not a device's.
 */
static __always_inline const struct nf_device_info *nf_device_of_slot(__u32 slot, __u64 *key)
{
	__u32 set_index = slot / NF_DEVICE_SET;
	const struct nf_device_info *info;
	struct nf_device_set *set;

	if (slot < NF_SLOT_RESERVED || set_index >= settings.device_sets)
		return 0;
	set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (!set || !info)
		return 0;
	*key = set->key[slot & (NF_DEVICE_SET - 1)];
	return info;
}

/* ---- blocks -------------------------------------------------------------- */

static __always_inline struct nf_device_stats *nf_block(__u32 block)
{
	__u32 chunk = block >> settings.chunk_shift;
	__u32 at = block & ((1U << settings.chunk_shift) - 1);
	void *blocks = bpf_map_lookup_elem(&nf_chunks, &chunk);

	return likely(blocks) ? bpf_map_lookup_elem(blocks, &at) : 0;
}

/* Where the number of the block of a slot on a CPU is kept. */
static __always_inline __u16 *nf_block_at(__u32 slot, __u32 cpu)
{
	__u32 index = slot * settings.cpus + cpu, row_index = index / NF_BLOCK_ROW;
	struct nf_block_row *row = bpf_map_lookup_elem(&nf_block_rows, &row_index);

	return row ? &row->block[index & (NF_BLOCK_ROW - 1)] : 0;
}

/* Few blocks are free: wake the daemon, which then sets the marks higher. */
static __always_inline void nf_blocks_low(void)
{
	struct nf_record record = {.type = NF_RECORD_BLOCKS, .size = sizeof(record)};

	nf_block_counts.low = nf_block_counts.group_low = ~0ULL;
	bpf_ringbuf_output(&nf_ring, &record, sizeof(record), 0);
}

/*
 * Give a free block to a slot on this CPU; 0 if there is none.  A program that
 * interrupts another one here may take a second block for the same owner.  Both
 * count: the daemon finds blocks by their owner.
 */
static __always_inline __u32 nf_block_take(__u32 slot, __u32 cpu, bool group)
{
	struct nf_device_stats *stats;
	__u32 block = 0;

	if (group ? bpf_map_pop_elem(&nf_group_blocks, &block)
		  : bpf_map_pop_elem(&nf_free_blocks, &block))
		return 0;
	stats = nf_block(block);
	if (!stats)
		return 0;
	stats->owner = NF_BLOCK_OWNER(slot, cpu);
	__sync_fetch_and_add(group ? &nf_block_counts.group_taken : &nf_block_counts.taken, 1);
	return block;
}

/* The block of a group on this CPU; 0 if it has none and none is left. */
static __noinline __u32 nf_group_block(__u32 slot, __u32 cpu)
{
	__u16 *at = nf_block_at(slot, cpu);
	__u32 block;

	if (!at)
		return 0;
	if (*at)
		return *at;
	block = nf_block_take(slot, cpu, true);
	if (block)
		*at = block;
	return block;
}

/*
 * The first use of a slot on this CPU, or since the daemon took its block: it
 * gets a block of its own or, if none is free or the daemon says so, the block of
 * its group.  All devices share that of NF_SLOT_OTHER if there is no other.  Returns
 * the block, 0 if there is none.  A global function like nf_device_claim().
 */
__noinline __u32 nf_device_take(__u32 slot)
{
	struct nf_device_info *info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	__u32 cpu = bpf_get_smp_processor_id(), group, block = 0;
	__u16 *at = nf_block_at(slot, cpu);
	bool own;

	if (!info || !at)
		return 0;
	group = info->group;
	own = group == slot;
	if (own)
		block = nf_group_block(slot, cpu);
	else if (!info->shared)
		block = nf_block_take(slot, cpu, false);
	own = block != 0;
	if (!block)
		block = nf_group_block(group, cpu);
	if (!block)
		block = nf_group_block(NF_SLOT_OTHER, cpu);
	if (!block)
		__sync_fetch_and_add(&nf_block_counts.lost, 1);
	else
		*at = block;
	if (!own)
		info->shared = 1;
	if (nf_block_counts.taken >= nf_block_counts.low ||
	    nf_block_counts.group_taken >= nf_block_counts.group_low)
		nf_blocks_low();
	return block;
}

/* The counters of a slot on this CPU; NULL if there is no memory for them. */
static __always_inline struct nf_device_stats *nf_device_stats(__u32 slot)
{
	__u16 *at = nf_block_at(slot, bpf_get_smp_processor_id());
	__u32 block;

	if (unlikely(!at))
		return 0;
	block = *at;
	if (unlikely(!block))
		block = nf_device_take(slot);
	return block ? nf_block(block) : 0;
}

/*
 * Whether a packet is in the sample, one in NF_SHARED_SAMPLE.  Not each 16th: of two devices that
 * take turns, only one would be.
 */
static __always_inline bool nf_device_sampled(__u64 packets)
{
	return !((packets ^ packets / NF_SHARED_SAMPLE) & (NF_SHARED_SAMPLE - 1));
}

/* Count packets of a device that shares the block of its group: a sample, for its rate. */
static __noinline int nf_device_count_shared(__u32 slot)
{
	struct nf_device_info *info = bpf_map_lookup_elem(&nf_device_infos, &slot);

	if (info)
		__sync_fetch_and_add(&info->shared_packets, 1);
	return 0;
}

/* A device can be renamed: each CPU reads its name again as packets pass, at most once per ms. */
#define NF_NAME_LASTS_NS 1000000ULL

static __always_inline void nf_device_refresh(struct nf_device_stats *stats, __u32 slot,
					      const struct net_device *dev, __u64 now)
{
	struct nf_device_info *info;

	if (unlikely(nf_device_sampled(++stats->packets)) && NF_BLOCK_SLOT(stats->owner) != slot)
		nf_device_count_shared(slot);
	if (likely(now - stats->named_ns < NF_NAME_LASTS_NS))
		return;
	stats->named_ns = now;
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (info && slot >= NF_SLOT_RESERVED)
		bpf_probe_read_kernel_str(info->name, sizeof(info->name), dev->name);
}

/*
 * Add up the weights of what a device receives where the kernel counts the same packets: at lo, and at a veth that
 * passes them on one by one.  One with GRO counts them before it merges them; XDP on a veth switches GRO on.
 */
static __always_inline void nf_device_received(struct nf_device_stats *stats,
					       const struct net_device *dev, struct nf_weight w)
{
	bool merges = !settings.gro || dev->features & settings.gro;

	if (!settings.governor || (merges && !(dev->flags & IFF_LOOPBACK)))
		return;
	nf_add(&stats->received, w.weight);
	nf_add(&stats->received_variance, w.variance);
}

/* The segment of a histogram, see enum nf_hist_index. */
static __always_inline __u32 nf_hist_segment(__u32 index)
{
	if (index == NF_HIST_SOFTIRQ_RECEIVE_TO_COPY)
		return NF_SEGMENT_RECEIVE_TO_COPY;
	if (index == NF_HIST_SOFTIRQ_RX_TOTAL)
		return NF_SEGMENT_RX_TOTAL;
	return index;
}

/*
 * The ns between two times; 0 if they are in the wrong order, because they can be
 * from two CPUs, whose clocks differ by a few ns.
 *
 * This and other arithmetic without branches keeps the verifier's work small: it
 * follows both ways of a branch, and each value that differs behind it doubles the
 * ways to the next one.  barrier_var() prevents the compiler from making a branch.
 */
static __always_inline __u64 nf_elapsed(__u64 from_ns, __u64 to_ns)
{
	__u64 ns = to_ns - from_ns;
	__u64 negative = (__s64)ns >> 63;

	barrier_var(negative);
	return ns & ~negative;
}

/*
 * Add the duration of a journey of weight `w` to a histogram; `index` is an enum nf_segment or an enum
 * nf_hist_index.  Returns whether the duration is longer than the segment's
 * threshold.
 *
 * Each histogram has one writer at a time on a CPU, so the additions are plain
 * (see nf_add()).  The exception is `preemptible`, a program that is attached to
 * a function of process context: another task can preempt it and run another
 * writer, so that its own additions must be single instructions.
 */
static __always_inline bool nf_segment_add_from(struct nf_device_stats *stats, __u32 index,
						__u64 from_ns, __u64 to_ns, struct nf_weight w,
						bool preemptible)
{
	struct nf_hist *hist = &stats->hist[index];
	__u64 ns = nf_elapsed(from_ns, to_ns);
	/* Both are below 2^63. */
	__u64 slow = (live.threshold_ns[nf_hist_segment(index)] - ns) >> 63;

	/* The compiler would keep `ns` for it until it is used, see nf_elapsed(). */
	barrier_var(slow);
	if (preemptible) {
		__sync_fetch_and_add(&hist->sum_ns, w.weight * ns);
		__sync_fetch_and_add(&hist->journeys, 1);
		if (settings.governor)
			__sync_fetch_and_add(&hist->variance, w.variance);
		__sync_fetch_and_add(&hist->bucket[nf_hist_bucket(ns)], w.weight);
	} else {
		nf_add(&hist->sum_ns, w.weight * ns);
		nf_add(&hist->journeys, 1);
		if (settings.governor)
			nf_add(&hist->variance, w.variance);
		nf_add(&hist->bucket[nf_hist_bucket(ns)], w.weight);
	}
	if (unlikely(ns > hist->max_ns))
		hist->max_ns = ns;
	return slow;
}

static __always_inline bool nf_segment_add(struct nf_device_stats *stats, __u32 index,
					   __u64 from_ns, __u64 to_ns, struct nf_weight w)
{
	return nf_segment_add_from(stats, index, from_ns, to_ns, w, false);
}

#endif
