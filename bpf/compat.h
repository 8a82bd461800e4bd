/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All differences between the supported kernels (5.8 and later).
 *
 * Programs and daemon detect a feature on the running kernel, by its BTF or by
 * a trial load, never by a version number.  The versions and commits here only
 * say which change made the difference.
 */
#ifndef NF_COMPAT_H
#define NF_COMPAT_H

#include "kernel.h"
#include "settings.h"

/*
 * What usually is.  The compiler puts the rest behind the end of the program, so that the usual way
 * touches few lines of the instruction cache.
 */
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/*
 * Atomic exchange, BPF_XCHG since 5.12 (5ffa25502b5a).  Before 5.12 these are
 * two plain accesses.  Two CPUs that use one entry at the same moment can then
 * lose a journey from the ledger, which reports it as unaccounted.
 */
static __always_inline __u64 nf_exchange(__u64 *word, __u64 value)
{
	__u64 old;

	if (settings.atomic_fetch)
		return __sync_lock_test_and_set(word, value);
	old = *(volatile __u64 *)word;
	*(volatile __u64 *)word = value;
	return old;
}

/*
 * Replace `old` by `value`, BPF_CMPXCHG since 5.12 (5ffa25502b5a); false: the word is another
 * by now, and stays.  Before 5.12 two plain accesses.
 */
static __always_inline bool nf_replace(__u64 *word, __u64 old, __u64 value)
{
	if (settings.atomic_fetch)
		return __sync_val_compare_and_swap(word, old, value) == old;
	if (*(volatile __u64 *)word != old)
		return false;
	*(volatile __u64 *)word = value;
	return true;
}

/*
 * Since 6.1 (05b24ff9b2cf) the kernel does not start a raw tracepoint program
 * that is already running on this CPU, and counts the hits that it skips.
 * Before 6.1, and on arm64 also in newer kernels (bpf_prog_get_recursion_context(),
 * seen in 7.3), an interrupt can start the program again in the middle of a plain
 * addition, so the addition must be atomic.
 */
static __always_inline void nf_add(__u64 *counter, __u64 n)
{
	if (settings.no_reentry)
		*counter += n;
	else
		__sync_fetch_and_add(counter, n);
}

/*
 * Whether the current task serves a softirq, with PREEMPT_RT (since 5.12, 728b478d2d35; before that
 * in the patches of PREEMPT_RT): in_serving_softirq() of include/linux/preempt.h.
 */
static __always_inline bool nf_task_in_softirq(void)
{
	enum { SOFTIRQ_OFFSET = 1 << 8 };
	const struct task_struct *task = (const void *)bpf_get_current_task();

	return BPF_CORE_READ(task, softirq_disable_cnt) & SOFTIRQ_OFFSET;
}

/*
 * The identity of a network namespace among all existing and deleted ones: its
 * cookie.  The lower half is unique for the first 4 billion namespaces.  Since
 * 5.12 (3d368ab87cf6) the kernel assigns the cookie when it creates the
 * namespace.  Before 5.12 the cookie may be 0; then this is the inode number,
 * which the kernel soon reuses for another namespace.
 */
static __always_inline __u32 nf_netns_id(const struct net *net)
{
	__u32 cookie = bpf_core_field_exists(net->net_cookie) ? (__u32)net->net_cookie : 0;

	return cookie ? cookie : net->ns.inum;
}

/*
 * BPF_CORE_READ() for a pointer whose type the verifier knows: loads instead of a call for each step.
 * They read 0 where the memory is not readable.
 */
#ifndef NF_WALK
#define NF_WALK_1(from, a) ((from)->a)
#define NF_WALK_2(from, a, b) ((from)->a->b)
#define NF_WALK_3(from, a, b, c) ((from)->a->b->c)
#define NF_WALK_PICK(a, b, c, macro, ...) macro
#define NF_WALK(from, ...) \
	NF_WALK_PICK(__VA_ARGS__, NF_WALK_3, NF_WALK_2, NF_WALK_1, )(from, __VA_ARGS__)
#endif

/* `id` with the ifindex in its place if it is 0; without a branch, see nf_elapsed(). */
static __always_inline __u32 nf_device_number_of(__u64 id, __u32 ifindex)
{
	__u64 none = ((__u64)(__u32)id - 1) >> 63;

	barrier_var(none);
	return (__u32)id | (__u32)none * (NF_DEVICE_BY_INDEX | ifindex);
}

/*
 * What distinguishes a device from all others, those that are gone included: the number of its directory in sysfs,
 * whose lower half is unique for the first 2 billion directories.  It stays when the device is renamed or moved to
 * another namespace.  Since 5.5 (67c0496e87d1) the number has one type; where it is not known, and while the device is
 * being removed, this is the ifindex.
 */
static __always_inline __u32 nf_device_number(const struct net_device *dev)
{
	const struct kernfs_node *node = NF_WALK(dev, dev.kobj.sd);

	if (!bpf_core_field_exists(node->id))
		return NF_DEVICE_BY_INDEX | dev->ifindex;
	return nf_device_number_of(NF_WALK(node, id), dev->ifindex);
}

static __always_inline __u64 nf_device_key(const struct net_device *dev)
{
	return NF_DEVICE_KEY(nf_netns_id(dev->nd_net.net), nf_device_number(dev));
}

/* The same where the verifier does not know the type of `dev`. */
static __always_inline __u64 nf_device_key_untyped(const struct net_device *dev)
{
	const struct net *net = BPF_CORE_READ(dev, nd_net.net);
	const struct kernfs_node *node = BPF_CORE_READ(dev, dev.kobj.sd);
	__u32 netns = bpf_core_field_exists(net->net_cookie) ? BPF_CORE_READ(net, net_cookie) : 0;
	__u64 id = bpf_core_field_exists(node->id) ? BPF_CORE_READ(node, id) : 0;

	return NF_DEVICE_KEY(netns ? netns : BPF_CORE_READ(net, ns.inum),
			     nf_device_number_of(id, BPF_CORE_READ(dev, ifindex)));
}

/*
 * Up to 6.1 the bit skb->vlan_present says whether the skb has a VLAN tag, and
 * vlan_proto and vlan_tci can keep the values of a removed tag.  6.2 removed
 * the bit (354259fa73e2): the skb has a tag when vlan_all is not 0.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sk_buff___vlan_bit {
	__u8 vlan_present : 1;
};
struct sk_buff___vlan_all {
	__u32 vlan_all;
};
#pragma clang attribute pop

static __always_inline bool nf_skb_has_vlan(const struct sk_buff *skb)
{
	const struct sk_buff___vlan_bit *bit = (const void *)skb;
	const struct sk_buff___vlan_all *all = (const void *)skb;

	if (bpf_core_field_exists(bit->vlan_present))
		return BPF_CORE_READ_BITFIELD_PROBED(bit, vlan_present);
	if (bpf_core_field_exists(all->vlan_all))
		return all->vlan_all != 0;
	return skb->vlan_proto != 0;
}

/*
 * The id of a socket's cgroup, or 0.  The cgroup is a plain pointer since 5.15
 * (8520e224f547, also in 5.10.226).  The small sockets of connections that are
 * being made or closed have none.
 */
static __always_inline __u64 nf_sock_cgroup(const struct sock *sk)
{
	if (!bpf_core_field_exists(sk->sk_cgrp_data.cgroup))
		return 0;
	if (!sk || sk->__sk_common.skc_state == TCP_TIME_WAIT ||
	    sk->__sk_common.skc_state == TCP_NEW_SYN_RECV)
		return 0;
	return sk->sk_cgrp_data.cgroup->kn->id;
}

/*
 * Whether IPsec has decrypted the skb.  A kernel without CONFIG_XFRM has no such extension.
 */
static __always_inline bool nf_skb_has_sec_path(const struct sk_buff *skb)
{
	if (!bpf_core_field_exists(skb->active_extensions) ||
	    !bpf_core_enum_value_exists(enum skb_ext_id, SKB_EXT_SEC_PATH))
		return false;
	return skb->active_extensions >> bpf_core_enum_value(enum skb_ext_id, SKB_EXT_SEC_PATH) & 1;
}

/*
 * kfree_skb(skb, location) got `reason` in 5.17 (c504e5c2f964) and `rx_sk` in
 * 6.11 (c53795d48ee8).  The daemon counts the tracepoint's arguments in BTF,
 * because the kernel refuses a program that reads an argument too many.
 */
#define NF_KFREE_SKB_REASON(ctx) (settings.kfree_skb_reason ? (__u32)(ctx)[2] : 0)
#define NF_KFREE_SKB_RX_SK(ctx) (settings.kfree_skb_rx_sk ? (const struct sock *)(ctx)[3] : 0)

#endif
