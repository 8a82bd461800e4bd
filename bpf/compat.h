/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything in which the supported kernels (5.8 and newer) differ.
 *
 * Support is found by looking at the running kernel (its BTF, or a trial load
 * by the daemon), never by a version number; the versions here only say where
 * a difference comes from.
 */
#ifndef NF_COMPAT_H
#define NF_COMPAT_H

#include "kernel.h"
#include "settings.h"

/*
 * Exchange with a result came in 5.12 (5ca419f2864a).  Older kernels get two
 * plain accesses: there, two CPUs that meet in one entry at the same moment
 * can lose a journey from the ledger, which then shows as unaccounted.
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
 * A raw tracepoint program does not run while it already runs on this CPU
 * since 6.1 (05b24ff9b2cf); the kernel counts the hits it skipped.  Before,
 * an interrupt could run it again in the middle of a plain addition.
 */
static __always_inline void nf_add(__u64 *counter, __u64 n)
{
	if (settings.no_reentry)
		*counter += n;
	else
		__sync_fetch_and_add(counter, n);
}

/*
 * What tells one network namespace from all others, also from those gone: its
 * cookie, whose lower half lasts for 4 billion namespaces.  It is given at birth
 * since 5.12 (3d368ab87cf6); before, it may be 0 and the inode number, which
 * the kernel soon uses again, must do.
 */
static __always_inline __u32 nf_netns_id(const struct net *net)
{
	__u32 cookie = bpf_core_field_exists(net->net_cookie) ? (__u32)net->net_cookie : 0;

	return cookie ? cookie : net->ns.inum;
}

/*
 * skb->vlan_present was a bit of its own until 6.1 (354259fa73e2 dropped it);
 * since then a tag is there when vlan_all is not 0.  While the bit existed,
 * vlan_proto and vlan_tci could be left over from a tag already taken off.
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
 * kfree_skb(skb, location) got `reason` in 5.17 (c504e5c2f964) and `rx_sk` in
 * 6.11 (c53795d48ee8).  The daemon counts the tracepoint's arguments in BTF;
 * reading one that is not there would not load.
 */
#define NF_KFREE_SKB_REASON(ctx) (settings.kfree_skb_reason ? (__u32)(ctx)[2] : 0)
#define NF_KFREE_SKB_RX_SK(ctx) (settings.kfree_skb_rx_sk ? (const struct sock *)(ctx)[3] : 0)

#endif
