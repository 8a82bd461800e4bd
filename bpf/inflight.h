/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-flight table: from a live skb to the stages it has passed.
 *
 * Mapped by a hash of the skb's address to a set of two entries, of which a
 * newcomer takes a free one or overwrites the older.  Nothing to delete, nothing
 * to leak.  Of 100 skbs on their way 1 in 660 would lose an entry of its own in
 * a table of 65,536 to another one; for a set, it takes three to meet.
 *
 * Identity.  Many skbs die without a tracepoint and their memory is reused,
 * so an entry is its skb's only while (address, skb->head) both match; a
 * reader's copy also demands that the skb came in by a device (skb_iif), which
 * no AF_UNIX or netlink skb did.  What does not match is stale: it is never
 * timed, and counted as invalidated.
 *
 * Exactness.  Each journey that begins is taken out of the table exactly once,
 * because the owner word is exchanged atomically: whatever an exchange returns
 * is counted by whoever got it.  So
 *   begun = delivered + consumed + transmitted + forwarded + dropped
 *         + overwritten + invalidated + in flight
 * holds at every moment at which no program is between its two steps.  Two
 * CPUs may still mix the other fields of an entry; `check` shows it.
 */
#ifndef NF_INFLIGHT_H
#define NF_INFLIGHT_H

#include "device.h"

/*
 * The entry of an skb or, when it has none, the one that it would get: see
 * whose it is by its owner word.
 */
static __always_inline struct nf_inflight *nf_inflight_at(__u64 skb)
{
	__u32 index = nf_hash(skb, settings.inflight_shift);
	struct nf_inflight_set *set = bpf_map_lookup_elem(&nf_inflights, &index);
	struct nf_inflight *first, *second;

	if (!set)
		return 0;
	first = &set->way[0];
	second = &set->way[1];
	if (first->skb == skb)
		return first;
	if (second->skb == skb)
		return second;
	if (!first->skb)
		return first;
	return second->skb && first->begin_ns < second->begin_ns ? first : second;
}

static __always_inline __u64 nf_inflight_check(const struct nf_inflight *e, __u64 skb)
{
	/* start_ns stands for irq and raise, which share its place. */
	return skb ^ e->head ^ e->begin_ns ^ e->start_ns ^
	       (e->journey == NF_JOURNEY_RX ? (__u64)e->rx.entry << 32 : 0) ^
	       ((__u64)e->slot << 8 | e->journey);
}

/* To be called after every change of what `check` covers. */
static __always_inline void nf_inflight_seal(struct nf_inflight *e, __u64 skb)
{
	e->check = nf_inflight_check(e, skb);
}

static __always_inline bool nf_inflight_intact(const struct nf_inflight *e, __u64 skb)
{
	return e->check == nf_inflight_check(e, skb);
}

/*
 * Whether an entry that names this skb really is its: the same skb->head, and
 * not mixed by two CPUs.
 */
static __always_inline bool nf_inflight_holds(struct nf_cpu *cpu, enum nf_probe probe,
					      const struct nf_inflight *e, __u64 skb, __u64 head)
{
	if (e->head != head)
		return false;
	if (nf_inflight_intact(e, skb))
		return true;
	nf_count(cpu, probe, NF_EVENT_TORN);
	return false;
}

/*
 * Take the entry out; `event` is how its journey ended if it was still this
 * skb's, and only then true: two CPUs may both come to end one journey, and
 * only who is told so may time it, from a copy made before.
 */
static __always_inline bool nf_inflight_end(struct nf_cpu *cpu, enum nf_probe probe,
					    struct nf_inflight *e, __u64 skb, enum nf_event event)
{
	__u64 old = nf_exchange(&e->skb, 0);

	if (old)
		nf_count(cpu, probe, old == skb ? event : NF_EVENT_OVERWRITTEN);
	return old == skb;
}

/* A duration as an entry keeps it; 0 stands for no duration. */
static __always_inline __u32 nf_ticks(__u64 from_ns, __u64 to_ns)
{
	__u64 ticks = to_ns > from_ns ? (to_ns - from_ns) >> NF_TICK_SHIFT : 0;

	if (ticks > NF_TICK_MAX)
		ticks = NF_TICK_MAX;
	return ticks ? ticks : 1;
}

/*
 * Begin a journey.  `known`: the entry already named this skb, and the caller
 * has counted how the former journey ended; then the owner is not exchanged.
 * Should another CPU take the entry meanwhile, it counts ours as overwritten.
 */
static __always_inline void nf_inflight_take(struct nf_cpu *cpu, enum nf_probe probe,
					     struct nf_inflight *e, __u64 skb, bool known)
{
	if (!known && nf_exchange(&e->skb, skb))
		nf_count(cpu, probe, NF_EVENT_OVERWRITTEN);
	nf_count(cpu, probe, NF_EVENT_BEGUN);
}

static __always_inline void nf_inflight_fill_tx(struct nf_inflight *e, __u64 skb, __u64 head,
						__u32 slot, __u64 queue_ns, __u64 start_ns,
						__u8 flags)
{
	e->head = head;
	e->begin_ns = queue_ns;
	e->start_ns = start_ns;
	e->xmit_ns = 0;
	e->sk = 0;
	e->slot = slot;
	e->journey = NF_JOURNEY_TX;
	e->flags = flags;
	e->check = skb ^ head ^ queue_ns ^ start_ns ^ ((__u64)slot << 8 | NF_JOURNEY_TX);
}

#endif
