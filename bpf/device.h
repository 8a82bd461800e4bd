/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices and the data of each: its slot, histograms and NAPI counters.
 *
 * The pair (namespace, ifindex) identifies a device.  The address of a
 * net_device is reused, and many namespaces use the same ifindex.
 */
#ifndef NF_DEVICE_H
#define NF_DEVICE_H

#include "cpu.h"

static __always_inline __u64 nf_device_key(const struct net_device *dev)
{
	return NF_DEVICE_KEY(nf_netns_id(dev->nd_net.net), dev->ifindex);
}

/*
 * Take a free slot of the set for a device that is seen for the first time.
 * The insertion with BPF_NOEXIST decides between CPUs.  All CPUs walk the set
 * in the same order, so all get the same slot.
 */
static __noinline __u32 nf_device_claim(__u32 set_index, __u64 key, const struct net_device *dev)
{
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	struct nf_device_info *info;
	__u64 *owner;
	__u32 slot;
	int i;

	if (!set)
		return NF_SLOT_OTHER;
		/*
	 * Unrolled, because clang otherwise enters the loop past its head.  check_cfg()
	 * up to 6.12 takes the step into the head for a back-edge and refuses the program.
	 */
#pragma unroll
	for (i = 0; i < NF_DEVICE_SET; i++) {
		if (set->key[i] && set->key[i] != key)
			continue;
		slot = set_index * NF_DEVICE_SET + i;
		if (set->key[i] == key)
			return slot;
		if (bpf_map_update_elem(&nf_device_claims, &slot, &key, BPF_NOEXIST) == 0) {
			info = bpf_map_lookup_elem(&nf_device_infos, &slot);
			if (info) {
				BPF_CORE_READ_STR_INTO(&info->name, dev, name);
				info->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
			}
			set->key[i] = key;
			return slot;
		}
		owner = bpf_map_lookup_elem(&nf_device_claims, &slot);
		if (owner && *owner == key)
			return slot;
	}
	return NF_SLOT_OTHER;
}

static __always_inline __u32 nf_device_slot(const struct net_device *dev)
{
	__u64 key = nf_device_key(dev);
	__u32 set_index = (NF_KEY_NETNS_ID(key) ^ NF_KEY_IFINDEX(key)) & (settings.device_sets - 1);
	struct nf_device_set *set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	int i;

	/* No namespace has the identity 0, and a key of 0 would match a free slot. */
	if (!set || !key)
		return NF_SLOT_OTHER;
#pragma unroll
	for (i = 0; i < NF_DEVICE_SET; i++)
		if (set->key[i] == key)
			return set_index * NF_DEVICE_SET + i;
	return nf_device_claim(set_index, key, dev);
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

	if (slot < NF_SLOT_RESERVED)
		return 0;
	set = bpf_map_lookup_elem(&nf_device_sets, &set_index);
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (!set || !info)
		return 0;
	*key = set->key[slot & (NF_DEVICE_SET - 1)];
	return info;
}

static __always_inline struct nf_device_stats *nf_device_stats(__u32 slot)
{
	__u32 index = bpf_get_smp_processor_id() * settings.devices + slot;

	return bpf_map_lookup_elem(&nf_devices, &index);
}

/* A device can be renamed: each CPU reads its name again as packets pass, at most once per ms. */
#define NF_NAME_LASTS_NS 1000000ULL

static __always_inline void nf_device_refresh(struct nf_device_stats *stats, __u32 slot,
					      const struct net_device *dev, __u64 now)
{
	struct nf_device_info *info;

	if (now - stats->named_ns < NF_NAME_LASTS_NS)
		return;
	stats->named_ns = now;
	info = bpf_map_lookup_elem(&nf_device_infos, &slot);
	if (info && slot >= NF_SLOT_RESERVED)
		bpf_probe_read_kernel_str(info->name, sizeof(info->name), dev->name);
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
 * Add one duration to a histogram; `index` is an enum nf_segment or an enum
 * nf_hist_index.  Returns whether the duration is longer than the segment's
 * threshold.
 *
 * Each histogram has one writer at a time on a CPU, so the additions are plain
 * (see nf_add()).  The exception is `preemptible`, a program that is attached to
 * a function of process context: another task can preempt it and run another
 * writer, so that its own additions must be single instructions.
 */
static __always_inline bool nf_segment_add_from(struct nf_device_stats *stats, __u32 index,
						__u64 from_ns, __u64 to_ns, bool preemptible)
{
	struct nf_hist *hist = &stats->hist[index];
	/* The two times can be from two CPUs, whose clocks differ by a few ns. */
	__u64 ns = to_ns > from_ns ? to_ns - from_ns : 0;
	__u32 bucket = nf_hist_bucket(ns);

	if (ns > hist->max_ns)
		hist->max_ns = ns;
	if (preemptible) {
		__sync_fetch_and_add(&hist->sum_ns, ns);
		if (bucket < NF_HIST_BUCKETS)
			__sync_fetch_and_add(&hist->bucket[bucket], 1);
	} else {
		nf_add(&hist->sum_ns, ns);
		if (bucket < NF_HIST_BUCKETS)
			nf_add(&hist->bucket[bucket], 1);
	}
	return ns > settings.threshold_ns[nf_hist_segment(index)];
}

static __always_inline bool nf_segment_add(struct nf_device_stats *stats, __u32 index,
					   __u64 from_ns, __u64 to_ns)
{
	return nf_segment_add_from(stats, index, from_ns, to_ns, false);
}

#endif
