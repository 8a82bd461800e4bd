/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-flight table: for each live skb, the stages that it has passed.
 *
 * A hash of the skb's address selects a set of two entries.  A new skb takes a
 * free entry; if there is none, it overwrites the older one.  Nothing is ever
 * deleted, so nothing can leak.  With 100 skbs in flight and 65,536 single
 * entries, 1 skb in 660 would meet another one in its entry.  In a set of two
 * entries, a loss needs three skbs.
 *
 * Identity.  The kernel frees many skbs without a tracepoint and reuses their
 * memory.  So an entry belongs to an skb only while both its address and
 * skb->head match.  A copy to a reader also requires that the skb was received
 * by a device (skb_iif), which is never true of AF_UNIX and netlink skbs.  An
 * entry that does not match is stale: it is counted as invalidated, not timed.
 *
 * A new head.  Who wants to write to the head of a clone copies it first
 * (pskb_expand_head()), and every TCP segment is a clone: a router, NAT and a
 * tunnel do so with each.  The skb stays the same, see nf_inflight_is_renewed().
 *
 * Exactness.  Each journey that begins is removed from the table exactly once:
 * the owner word is exchanged atomically, and the program that gets the old
 * owner from the exchange counts the end of its journey.  So
 *   begun = delivered + consumed + transmitted + forwarded + dropped
 *         + overwritten + invalidated + in flight
 * holds whenever no program is between its exchange and its counter.  Two CPUs
 * can still mix the other fields of an entry; `check` detects that.
 */
#ifndef NF_INFLIGHT_H
#define NF_INFLIGHT_H

#include "device.h"

/*
 * The entry of an skb or, if it has none, the entry that it would take.  The
 * owner word (`skb`) of the entry says which.
 */
static __always_inline struct nf_inflight *nf_inflight_at(__u64 skb)
{
	__u32 index = nf_hash(skb, settings.inflight_shift);
	struct nf_inflight_set *set = bpf_map_lookup_elem(&nf_inflights, &index);
	struct nf_inflight *first, *second;

	if (unlikely(!set))
		return 0;
	first = &set->way[0];
	second = &set->way[1];
	if (likely(first->skb == skb))
		return first;
	if (unlikely(second->skb == skb))
		return second;
	if (likely(!first->skb))
		return first;
	return second->skb && first->begin_ns < second->begin_ns ? first : second;
}

/* ---- presence ------------------------------------------------------------ */

/*
 * The byte of the set of an skb, see struct nf_presence; NULL: there is none.  It is 1 while one of the
 * entries of the set is in use, and may stay 1 a little longer.
 */
static __always_inline __u8 *nf_presence_at(__u64 skb)
{
	__u32 index = nf_hash(skb, settings.inflight_shift), row = index / NF_PRESENCE_ROW;
	struct nf_presence *presence = bpf_map_lookup_elem(&nf_presences, &row);

	return presence ? &presence->set[index & (NF_PRESENCE_ROW - 1)] : 0;
}

/*
 * Whether the skb can have an entry.  False of most skbs that are not followed, without a look at memory that
 * another CPU has just written.
 */
static __always_inline bool nf_inflight_may_have(__u64 skb)
{
	const __u8 *present;

	if (!settings.governor)
		return true;
	present = nf_presence_at(skb);
	return present && *present;
}

static __always_inline void nf_presence_set(__u64 skb)
{
	__u8 *present;

	if (!settings.governor)
		return;
	present = nf_presence_at(skb);
	if (present && !*present)
		*present = 1;
}

/* The top bit says whether a word is not 0. */
static __always_inline __u64 nf_is_set(__u64 word)
{
	return word | -word;
}

/*
 * Whether an entry of the set of this skb is in use, apart from one that belongs to `but`.  Without branches, see
 * nf_elapsed().
 */
static __always_inline bool nf_inflight_others(__u64 skb, __u64 but)
{
	__u32 index = nf_hash(skb, settings.inflight_shift);
	const volatile struct nf_inflight_set *set = bpf_map_lookup_elem(&nf_inflights, &index);
	__u64 first, second, used;

	if (!set)
		return true;
	first = set->way[0].skb;
	second = set->way[1].skb;
	used = (nf_is_set(first) & nf_is_set(first ^ but)) |
	       (nf_is_set(second) & nf_is_set(second ^ but));
	barrier_var(used);
	return used >> 63;
}

/* ---- entries -------------------------------------------------------------- */

static __always_inline __u64 nf_inflight_check(const struct nf_inflight *e, __u64 skb)
{
	/* Of a received skb, start_ns is the union's view of rx.irq and rx.raise. */
	return skb ^ e->head ^ e->begin_ns ^ e->start_ns ^
	       (e->journey == NF_JOURNEY_RX ? (__u64)e->rx.entry << 32 : 0) ^
	       ((__u64)e->slot << 8 | e->journey);
}

/* Call this after every change to a field that `check` covers. */
static __always_inline void nf_inflight_seal(struct nf_inflight *e, __u64 skb)
{
	e->check = nf_inflight_check(e, skb);
}

/* While stages were detached, the skb may have been freed, and another one got its memory. */
static __always_inline bool nf_inflight_is_older(const struct nf_inflight *e)
{
	return settings.governor && e->begin_ns < live.since_ns;
}

/* Whether the entry can be believed: no two CPUs have mixed it, and it is not older than the stages. */
static __always_inline bool nf_inflight_intact(const struct nf_inflight *e, __u64 skb)
{
	return !nf_inflight_is_older(e) && e->check == nf_inflight_check(e, skb);
}

/*
 * Whether an entry with this owner really belongs to this skb: skb->head is the
 * same, and two CPUs have not mixed the entry.
 */
static __always_inline bool nf_inflight_holds(struct nf_cpu *cpu, enum nf_probe probe,
					      const struct nf_inflight *e, __u64 skb, __u64 head)
{
	if (unlikely(e->head != head))
		return false;
	if (nf_inflight_is_older(e))
		return false;
	if (likely(nf_inflight_intact(e, skb)))
		return true;
	nf_count(cpu, probe, NF_EVENT_TORN);
	return false;
}

/*
 * Whether the entry is that of an skb to which the kernel gave a new head.  No other skb has that head, while a
 * clone in the memory of an skb that was freed silently shares its own.  Ask only where this skb has certainly passed
 * the stage of the entry at this address: then the entry of another one would have been replaced there.
 */
static __always_inline bool nf_inflight_is_renewed(const struct nf_inflight *e,
						   const struct sk_buff *skb, __u64 number)
{
	return !BPF_CORE_READ_BITFIELD(skb, cloned) && nf_inflight_intact(e, number);
}

/*
 * Before an entry is freed: clear the byte of its set, unless the set has another one in use, and return the byte.
 * Another CPU cannot have taken the entry yet.
 */
static __always_inline volatile __u8 *nf_presence_leave(__u64 skb)
{
	volatile __u8 *present = settings.governor ? nf_presence_at(skb) : 0;

	if (present && !nf_inflight_others(skb, skb))
		*present = 0;
	return present;
}

/* Afterwards: if a CPU took an entry at this moment, its 1 may have come before this 0. */
static __always_inline void nf_presence_left(volatile __u8 *present, __u64 skb)
{
	if (present && nf_inflight_others(skb, 0))
		*present = 1;
}

/* Free the entry and return its owner. */
static __always_inline __u64 nf_inflight_release(struct nf_inflight *e, __u64 skb)
{
	volatile __u8 *present = nf_presence_leave(skb);
	__u64 old = nf_exchange(&e->skb, 0);

	nf_presence_left(present, skb);
	return old;
}

static __always_inline struct nf_weight nf_inflight_weight(const struct nf_inflight *e)
{
	return nf_weight_of(e->flags >> NF_INFLIGHT_SHARE_SHIFT, e->rank);
}

/*
 * A journey has lost its entry: what it stands for is missing in the histograms of its end.  Of an entry that is older
 * than the stages, the daemon has counted that already.
 */
static __always_inline void nf_inflight_lose(struct nf_cpu *cpu, enum nf_probe probe,
					     const struct nf_inflight *e)
{
	if (!nf_inflight_is_older(e))
		nf_add(&cpu->events[probe][NF_EVENT_OVERWRITTEN_PACKETS],
		       nf_inflight_weight(e).weight);
}

/* Another journey took the entry. */
static __always_inline void nf_inflight_overwritten(struct nf_cpu *cpu, enum nf_probe probe,
						    const struct nf_inflight *e)
{
	nf_count(cpu, probe, NF_EVENT_OVERWRITTEN);
	nf_inflight_lose(cpu, probe, e);
}

/*
 * Free the entry.  If it still belongs to this skb, count `event`, the end of
 * its journey, and return true.  Two CPUs can try to end the same journey: only
 * the one that gets true may time it, from a copy that it made before the call.
 */
static __always_inline bool nf_inflight_end(struct nf_cpu *cpu, enum nf_probe probe,
					    struct nf_inflight *e, __u64 skb, enum nf_event event)
{
	__u64 old = nf_inflight_release(e, skb);

	if (likely(old == skb))
		nf_count(cpu, probe, event);
	else if (old)
		nf_inflight_overwritten(cpu, probe, e);
	return old == skb;
}

/* Free an entry the end of whose journey has been counted. */
static __always_inline void nf_inflight_free(struct nf_cpu *cpu, enum nf_probe probe,
					     struct nf_inflight *e, __u64 skb)
{
	__u64 old = nf_inflight_release(e, skb);

	if (old && old != skb)
		nf_inflight_overwritten(cpu, probe, e);
}

/* A duration in ticks of 2^NF_TICK_SHIFT ns, 1 to NF_TICK_MAX; 0 is kept for "not passed". */
static __always_inline __u32 nf_ticks(__u64 from_ns, __u64 to_ns)
{
	__u64 ticks = nf_elapsed(from_ns, to_ns) >> NF_TICK_SHIFT;
	__u64 none = (ticks - 1) >> 63, more = (NF_TICK_MAX - ticks) >> 63;

	barrier_var(none);
	barrier_var(more);
	return (ticks | none) | -more;
}

/* Before a journey gets the entry: a reader that is late does not take it for what it was, see nf_reader_end(). */
static __always_inline void nf_inflight_close(struct nf_inflight *e)
{
	if (settings.udp_reader)
		*(volatile __u64 *)&e->check = 0;
}

/*
 * Begin a journey.  `known`: the owner of the entry is already this skb, and
 * the caller has counted the end of its previous journey, so that the owner
 * need not be exchanged.  If another CPU takes the entry at the same time, it
 * counts this journey as overwritten.
 */
static __always_inline void nf_inflight_take(struct nf_cpu *cpu, enum nf_probe probe,
					     struct nf_inflight *e, __u64 skb, bool known)
{
	nf_inflight_close(e);
	if (!known && unlikely(nf_exchange(&e->skb, skb)))
		nf_inflight_overwritten(cpu, probe, e);
	nf_presence_set(skb);
	nf_count(cpu, probe, NF_EVENT_BEGUN);
}

/* This CPU and its run of NET_RX, for nf_inflight.origin. */
static __always_inline __u32 nf_origin(const struct nf_cpu *cpu)
{
	return (bpf_get_smp_processor_id() & 0xff) << 16 | cpu->runs;
}

/* start_xmit begins with the skb of a queued entry. */
static __always_inline void nf_inflight_start(struct nf_inflight *e, __u64 skb, __u64 start_ns)
{
	e->start_ns = start_ns;
	e->xmit_ns = NF_XMIT_PENDING(start_ns);
	nf_inflight_seal(e, skb);
}

static __always_inline void nf_inflight_set_share(struct nf_inflight *e, __u8 flags,
						  struct nf_share share)
{
	e->flags = flags | share.shift << NF_INFLIGHT_SHARE_SHIFT;
	e->rank = share.rank;
}

static __always_inline struct nf_share nf_inflight_share(const struct nf_inflight *e)
{
	struct nf_share share = {e->flags >> NF_INFLIGHT_SHARE_SHIFT, e->rank};

	return share;
}

/*
 * nf_inflight.sk until the socket of a received skb is known: a value that no other journey has there.  So the CPU
 * that finds the skb in the queue of a UDP socket can replace it in one step, although another CPU may have read the
 * skb, and a new one may have its memory.
 */
static __always_inline __u64 nf_inflight_no_reader(__u64 begin_ns)
{
	return settings.udp_reader ? ~begin_ns : 0;
}

static __always_inline void nf_inflight_fill_tx(struct nf_inflight *e, __u64 skb, __u64 head,
						__u32 slot, __u64 queue_ns, __u64 start_ns,
						__u8 flags, struct nf_share share)
{
	e->head = head;
	e->begin_ns = queue_ns;
	e->start_ns = start_ns;
	e->xmit_ns = NF_XMIT_PENDING(start_ns);
	e->sk = 0;
	e->slot = slot;
	e->journey = NF_JOURNEY_TX;
	nf_inflight_set_share(e, flags, share);
	e->check = skb ^ head ^ queue_ns ^ start_ns ^ ((__u64)slot << 8 | NF_JOURNEY_TX);
}

#endif
