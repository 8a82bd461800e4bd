/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-flight table: from a live skb to the stages it has passed.
 *
 * Direct-mapped: a hash of the skb's address gives the one entry it can be in,
 * a newcomer overwrites the old occupant.  Nothing to delete, nothing to leak.
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

static __always_inline struct nf_inflight *nf_inflight_at(__u64 skb)
{
	/* Fibonacci hashing: slab objects differ in their middle bits. */
	__u32 index = skb * 0x9e3779b97f4a7c15ULL >> settings.inflight_shift;

	return bpf_map_lookup_elem(&nf_inflights, &index);
}

static __always_inline __u64 nf_inflight_check(const struct nf_inflight *e, __u64 skb)
{
	return skb ^ e->head ^ e->begin_ns ^ e->first_ns ^ e->xmit_ns ^ e->sk ^
	       ((__u64)e->slot << 32 | (__u32)e->journey << 16 | e->missing);
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
 * only who is told so may time it.
 */
static __always_inline bool nf_inflight_end(struct nf_cpu *cpu, enum nf_probe probe,
					    struct nf_inflight *e, __u64 skb, enum nf_event event)
{
	__u64 old = nf_exchange(&e->skb, 0);

	if (old)
		nf_count(cpu, probe, old == skb ? event : NF_EVENT_OVERWRITTEN);
	return old == skb;
}

/*
 * How the journey in an entry ended, when the same skb begins another one.
 * `received` says that the skb came in by a device before (skb_iif): an skb
 * fresh from the allocator did not, so its old entry is stale.
 */
static __always_inline enum nf_event nf_inflight_succeeded(struct nf_cpu *cpu, enum nf_probe probe,
							   const struct nf_inflight *e, __u64 skb,
							   __u64 head, bool received)
{
	if (!nf_inflight_holds(cpu, probe, e, skb, head))
		return NF_EVENT_INVALIDATED;
	/* Passed on: routed, bridged, or up to a stacked device. */
	if (e->journey == NF_JOURNEY_RX)
		return received ? NF_EVENT_FORWARDED : NF_EVENT_INVALIDATED;
	/* Handed to the peer (lo, veth) or, inside start_xmit, to a lower device. */
	return e->first_ns ? NF_EVENT_TRANSMITTED : NF_EVENT_INVALIDATED;
}

static __always_inline void nf_inflight_begin(struct nf_cpu *cpu, enum nf_probe probe,
					      struct nf_inflight *e, __u64 skb, __u64 head,
					      bool received)
{
	if (e->skb == skb)
		nf_count(cpu, probe, nf_inflight_succeeded(cpu, probe, e, skb, head, received));
	else if (nf_exchange(&e->skb, skb))
		nf_count(cpu, probe, NF_EVENT_OVERWRITTEN);
	nf_count(cpu, probe, NF_EVENT_BEGUN);
}

static __always_inline void nf_inflight_fill(struct nf_inflight *e, __u64 skb, __u64 head,
					     enum nf_journey journey, __u32 slot, __u64 begin_ns,
					     __u64 first_ns, __u16 missing)
{
	e->head = head;
	e->begin_ns = begin_ns;
	e->first_ns = first_ns;
	e->xmit_ns = 0;
	e->slot = slot;
	e->journey = journey;
	e->missing = missing;
	e->sk = 0;
	e->check = skb ^ head ^ begin_ns ^ first_ns ^
		   ((__u64)slot << 32 | (__u32)journey << 16 | missing);
}

/*
 * A received skb reached its reader.  Several programs end receive→copy, but
 * two of them never at once on one CPU in the same context.
 */
static __always_inline void nf_delivered(__u32 slot, __u64 begin_ns, __u64 first_ns, __u64 now, bool softirq)
{
	struct nf_device_stats *stats = nf_device_stats(slot);

	if (!stats)
		return;
	if (softirq) {
		nf_segment_add(stats, NF_HIST_SOFTIRQ_RECEIVE_TO_COPY, begin_ns, now);
		nf_segment_add(stats, NF_HIST_SOFTIRQ_RX_TOTAL, first_ns, now);
	} else {
		nf_segment_add(stats, NF_SEGMENT_RECEIVE_TO_COPY, begin_ns, now);
		nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, first_ns, now);
	}
}

#endif
