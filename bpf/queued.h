/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stage sock_queue: the skbs that the kernel has put into a socket's queue.
 *
 * sk_data_ready names the socket and not the skb.  The skb last received on this
 * CPU need not be in that queue: the kernel passes a whole list of GRO through
 * netif_receive_skb before it delivers the first (netif_receive_skb_list()), and
 * a busy TCP socket gets its skbs later, in process context (release_sock()).  So
 * the queue itself is read, from its tail on backward, as far as its skbs are in
 * the in-flight table and do not have the stage yet.  These are usually just one,
 * and more when
 *   - TCP fills a gap and appends the skbs that waited behind it (tcp_ofo_queue()), see below;
 *   - since 6.18 a CPU queues the datagrams of others together with its own
 *     (udp_prod_queue in __udp_enqueue_schedule_skb());
 *   - two CPUs queue at the same time, and the first sees both.
 * A TCP socket is locked here, so its queue stays as it is, and the walk passes a few skbs
 * that netflowd does not follow: one that was put together from IP fragments, or whose entry
 * another took.  A UDP socket is not: its reader can have moved its queue to reader_queue, or
 * taken the skb.  Every skb is announced, so an announcement that finds no new skb in the
 * queue looks into reader_queue.
 *
 * Where the kernel takes fentry, __udp_enqueue_schedule_skb() names each datagram just before it
 * is in the queue, and that moment is its stage.  Without it, a reader on another CPU that
 * does not sleep takes 1 datagram in 100 before it is announced, and its record lacks
 * the stage.  The announcement that follows on the same CPU shows that the socket took it.
 *
 * A gap.  A segment that TCP receives ahead of its sequence waits in out_of_order_queue until the
 * missing one comes, which the network lost or overtook, or this host dropped.  The kernel shows no
 * event of it, and then announces all of them at once.  That wait is not the time that the stack
 * takes, so it is a segment of its own, gap_wait, which ends when the missing one is received; and
 * the skb has no receive→sock_queue, because the moment at which TCP put it aside is not known.
 * These show that an skb has waited:
 *   - it was received before the first of its announcement, which is before it in the sequence;
 *   - TCP appended the missing segment to the last skb of the queue: then the first itself has
 *     waited.  Its sequence number is in one of the blocks that the socket reported as received
 *     behind a gap (SACK).  With more than four gaps at a time, the socket forgets the oldest blocks.
 *   - one announcement is of more skbs than the walk reaches, and the socket has no SO_RCVLOWAT.
 * Other reasons for a late announcement show none of these: the backlog of a busy socket, SO_RCVLOWAT,
 * IPsec that decrypts on another CPU.
 *
 * A device above.  VLAN, macvlan, ipvlan and VRF devices get what a device below received without another
 * netif_receive_skb(), and may be in another namespace: that of a pod.  The kernel then notes their ifindex in the
 * skb (skb_iif), so a socket's queue shows it, and the journey goes on at that device, see nf_queued_lift().
 *
 * Parts.  UDP splits an skb for a reader that takes single datagrams.  The parts come into the queue one after the
 * other, on this CPU and at once, and have passed no stage: see nf_queued_part().
 *
 * The skbs behind the first are read with bpf_probe_read_kernel() only, which
 * does not fault if one of them is freed; then its address, or its head, does not
 * match an entry.
 */
#ifndef NF_QUEUED_H
#define NF_QUEUED_H

#include "journey.h"

/*
 * The skbs of one walk.  TCP can fill a gap in front of megabytes.  Each skb is new only once, so
 * such walks are rare; but a queue of which netflowd follows nothing (tcp_collapse()) is met at
 * every announcement.
 */
#define NF_QUEUED_MAX 256
#define NF_QUEUED_UNKNOWN_MAX 4 /* of them those that netflowd does not follow */

/* Whether stages are detached, and a program of fentry had to stay, see settings.fentry_once. */
static __always_inline bool nf_stays_alone(void)
{
	return settings.fentry_once && live.since_ns == ~0ULL;
}

/* False for sockets that no skb from a device reaches. */
static __always_inline bool nf_queued_family(__u16 family)
{
	return family != AF_UNIX && family != AF_NETLINK;
}

/* Not an address, whose highest bit is set.  tests/unit/bpf has addresses of user space. */
#ifndef NF_IS_NUMBER
#define NF_IS_NUMBER(pointer) ((__s64)(pointer) > 0)
#endif

/*
 * Whether the skb has been in the queue of a UDP socket, also if its reader took it before it
 * was announced.  There skb->dev is no pointer, but a few sizes (udp_set_dev_scratch()),
 * whose upper bits are not those of a kernel address.
 */
static __always_inline bool nf_queued_udp(const struct sk_buff *skb)
{
	return NF_IS_NUMBER(skb->dev);
}

/* Whether the entry is that of a received skb which is in no socket's queue yet. */
static __always_inline bool nf_queued_is_new(const struct nf_inflight *e, __u64 skb)
{
	return e && e->skb == skb && e->journey == NF_JOURNEY_RX && !e->sock_queue &&
	       nf_inflight_intact(e, skb);
}

/* A frame without payload has this length behind its Ethernet header. */
#define NF_QUEUED_PADDED 46

/* Whether a datagram in a queue, without its headers, has the length that was received. */
static __always_inline bool nf_queued_has_length(const struct nf_inflight *e,
						 const struct sk_buff *at)
{
	__u64 headers = (__u64)BPF_CORE_READ(at, data) - (__u64)BPF_CORE_READ(at, head) -
			BPF_CORE_READ(at, network_header);
	__u32 len = (headers + BPF_CORE_READ(at, len)) & 0xffffff;

	return e->len == len || (e->len == NF_QUEUED_PADDED && len < NF_QUEUED_PADDED);
}

/*
 * Whether a new entry is that of this skb, which has been received: the entry of another one at its address was
 * replaced then.  A new head that the skb got since is kept, see nf_inflight_is_renewed().  But the parts into which
 * UDP splits an skb have not been received: the length tells them from the skb whose memory they have.
 *
 * A packet socket beside it has a clone with that head, which is new if the pages of a zero-copy send were copied for
 * it (skb_orphan_frags_rx()).  Of a stream, only what was received comes into the queue, so that there the length is
 * enough for an skb with clones.  A raw socket of TCP has clones.
 */
static __always_inline bool nf_queued_is_same(struct nf_inflight *e, __u64 skb,
					      const struct sk_buff *at, __u64 head, int iif,
					      bool cloned, bool stream)
{
	if (likely(e->head == head))
		return true;
	if (!iif || (cloned && (!stream || BPF_CORE_READ(at, sk, sk_type) != SOCK_STREAM)))
		return false;
	if ((cloned || !stream) && !nf_queued_has_length(e, at))
		return false;
	e->head = head;
	nf_inflight_seal(e, skb);
	return true;
}

static __always_inline __u64 nf_above_seal(const struct nf_above *above)
{
	return above->net ^ (__u64)above->ifindex << 32 ^ above->slot ^ bpf_jiffies64() << 16;
}

/*
 * The same as nf_device_by_index(), which takes half a microsecond, but once a tick for the skbs of a device: no device
 * goes and another one comes with its ifindex in less.
 */
static __always_inline __u32 nf_queued_above(struct nf_cpu *cpu, __u64 net, __u32 ifindex)
{
	struct nf_above *above = &cpu->above[ifindex & (NF_ABOVE - 1)], found = *above;

	if (likely(found.net == net && found.ifindex == ifindex &&
		   found.seal == nf_above_seal(&found)))
		return found.slot;
	found.slot = nf_device_by_index(cpu, net, ifindex);
	found.net = net;
	found.ifindex = ifindex;
	found.seal = nf_above_seal(&found);
	*above = found;
	return found.slot;
}

/*
 * If the skb has come to a device above the one that received it, its journey goes on there.  `net`: the namespace
 * of its socket, a number like nf_inflight.skb.  A global function like nf_device_claim().
 */
__noinline int nf_queued_lift(__u64 skb, __u64 net, __u32 iif)
{
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(skb);
	__u32 slot;

	if (!cpu || !e)
		return 0;
	slot = nf_queued_above(cpu, net, iif);
	if (slot == NF_SLOT_OTHER || slot == e->slot)
		return 0;
	nf_hops_add(e, skb);
	e->slot = slot;
	nf_inflight_seal(e, skb);
	return 0;
}

/* Whether the skb is still at the device where it was received. */
static __always_inline bool nf_queued_is_there(const struct nf_inflight *e, __u32 netns, __u32 iif)
{
	__u32 slot = e->slot;
	const struct nf_device_info *info = bpf_map_lookup_elem(&nf_device_infos, &slot);

	return !info || !info->ifindex || !iif || (info->ifindex == iif && info->netns == netns);
}

/* The same of a socket whose type the verifier knows. */
static __always_inline void nf_queued_settle(const struct nf_inflight *e, const struct sock *sk,
					     __u64 skb, __u32 iif)
{
	const struct net *net = sk->__sk_common.skc_net.net;

	if (unlikely(!nf_queued_is_there(e, net->ns.inum, iif)))
		nf_queued_lift(skb, nf_address(net), iif);
}

/*
 * End receive→sock_queue, or gap_wait; returns whether it was slow.  `share`: the shift and, in the
 * upper byte, the rank.  A function of its own keeps the programs short.
 */
static __noinline int nf_queued_time(struct nf_device_stats *stats, __u32 segment, __u64 from_ns,
				     __u64 to_ns, __u16 share)
{
	struct nf_weight w = nf_weight_of(share & 0xff, share >> 8);

	if (segment == NF_SEGMENT_GAP_WAIT)
		return nf_segment_add(stats, NF_SEGMENT_GAP_WAIT, from_ns, to_ns, w);
	return nf_segment_add(stats, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, from_ns, to_ns, w);
}

static __always_inline __u16 nf_queued_share(struct nf_share share)
{
	return share.shift | share.rank << 8;
}

/* Added to the number of an skb that shows where a gap was: it waited itself, so the gap was before it. */
#define NF_QUEUED_WAITED 1

/* A sequence number that was missing, 0: not known.  A global function, see nf_queued_one(). */
__noinline __u32 nf_queued_missing(__u64 gap, __u64 base)
{
	const struct sk_buff *at = (const void *)((gap & ~(__u64)NF_QUEUED_WAITED) + base);
	struct tcp_skb_cb cb;

	if (!gap || bpf_probe_read_kernel(&cb, sizeof(cb), &at->cb))
		return 0;
	return cb.seq - (gap & NF_QUEUED_WAITED);
}

/*
 * Note that the skb of the entry, which has the stage, waited.  `gap`: an skb at the gap; 0: that of nf_cpu.gap, which
 * is of this announcement, as one that interrupts it brings back what it found.  Returns when the gap was filled.
 */
static __noinline __u64 nf_queued_wait(struct nf_inflight *e, __u64 filled_ns, __u64 gap)
{
	struct nf_cpu *cpu = nf_this_cpu();

	e->gap = nf_ticks(e->begin_ns, filled_ns);
	e->missing = cpu ? nf_queued_missing(gap ? gap : cpu->gap, nf_base(cpu)) : 0;
	e->flags |= NF_INFLIGHT_GAP;
	return e->begin_ns + ((__u64)e->gap << NF_TICK_SHIFT);
}

/*
 * Give the skb of a new entry the stage.  `filled_ns`: when the gap was filled behind which it
 * waited; 0: behind none.  `gap`: see nf_queued_wait().
 */
static __always_inline void nf_queued_stamp(struct nf_inflight *e, __u64 now, __u64 filled_ns,
					    __u64 gap)
{
	__u64 ns = settings.udp_enqueue && e->enqueue_ns ? e->enqueue_ns : now;
	struct nf_device_stats *stats = nf_device_stats(e->slot);
	__u16 share = nf_queued_share(nf_inflight_share(e));
	__u32 segment = NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE;

	e->sock_queue = nf_ticks(e->begin_ns, ns);
	if (unlikely(filled_ns)) {
		ns = nf_queued_wait(e, filled_ns, gap);
		segment = NF_SEGMENT_GAP_WAIT;
	}
	if (likely(stats) && nf_queued_time(stats, segment, e->begin_ns, ns, share))
		e->flags |= NF_INFLIGHT_SLOW;
}

/* ---- parts ---------------------------------------------------------------- */

/*
 * Whether an skb, which comes into the queue of a UDP socket on this CPU after one was split, is a part of that one.
 * Others of its list that were received behind it have entries of their own.  A global function like nf_queued_one().
 */
__noinline int nf_queued_is_part(__u64 skb, __u64 base)
{
	const struct sk_buff *at = (const void *)(skb + base);
	const struct nf_inflight *e = nf_inflight_at(skb);
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu || !e || !cpu->split.left)
		return 0;
	if (e->skb == skb && e->journey == NF_JOURNEY_RX && e->begin_ns > cpu->split.begin_ns)
		return 0;
	return (__u32)BPF_CORE_READ(at, skb_iif) == cpu->split.iif &&
	       BPF_CORE_READ(at, len) <= cpu->split.size &&
	       !BPF_CORE_READ_BITFIELD_PROBED(at, cloned);
}

/* What the journey of a part has from the skb that was split.  Not inlined: it would not fit onto the stack of 6.1. */
static __noinline void nf_queued_part_fill(struct nf_cpu *cpu, struct nf_inflight *e, __u64 skb)
{
	const struct sk_buff *at = (const void *)(skb + nf_base(cpu));
	struct nf_split *split = &cpu->split;
	const struct nf_hops *crossed = nf_hops_at(split->skb);
	struct nf_hops *hops = nf_hops_at(skb);

	if (split->flags & NF_INFLIGHT_HOPS && crossed && hops) {
		*hops = *crossed;
		if (hops->skb == split->skb)
			hops->skb = skb;
	}
	e->head = (__u64)BPF_CORE_READ(at, head);
	e->begin_ns = split->begin_ns;
	e->rx = split->rx;
	e->sock_queue = 0;
	e->sk = nf_inflight_no_reader(split->begin_ns);
	e->len = 0;
	e->slot = split->slot;
	e->journey = NF_JOURNEY_RX;
	nf_inflight_set_share(e, split->flags, nf_share_of_part(split->share, &split->begun));
	nf_inflight_seal(e, skb);
}

/*
 * Begin the journey of a part as that of the skb that was split.  Inlined for nf_inflight_take(), see
 * nf_journey_move().
 */
static __always_inline void nf_queued_part(struct nf_cpu *cpu, enum nf_probe probe, __u64 skb)
{
	struct nf_inflight *e = nf_inflight_at(skb);
	bool known;

	if (!e || !nf_queued_is_part(skb, nf_base(cpu)))
		return;
	cpu->split.left--;
	known = e->skb == skb;
	if (known)
		nf_count(cpu, probe, NF_EVENT_INVALIDATED);
	nf_inflight_take(cpu, probe, e, skb, known);
	nf_queued_part_fill(cpu, e, skb);
}

/* A part is dropped before it comes into the queue, and has no journey. */
static __always_inline void nf_queued_part_dropped(struct nf_cpu *cpu, const struct sk_buff *skb)
{
	const struct nf_inflight *e = nf_inflight_at(nf_address(skb));

	if (cpu->split.left && (!e || e->skb != nf_address(skb)) &&
	    (__u32)skb->skb_iif == cpu->split.iif)
		cpu->split.left--;
}

/* The last skb of a UDP socket, whose reader may have moved the queue; 0: it has none.  All are numbers. */
__noinline __u64 nf_queued_newest(__u64 tail, __u64 queue, __u64 sk, __u64 base)
{
	const struct udp_sock *up = (const void *)(sk + base);

	if (tail != queue)
		return tail;
	tail = (__u64)BPF_CORE_READ(up, reader_queue.prev) - base;
	return tail == sk + bpf_core_field_offset(struct udp_sock, reader_queue) ? 0 : tail;
}

/* The last skb of a UDP socket is announced: it is a part, or its reader has taken it already. */
static __always_inline void nf_queued_part_announced(struct nf_cpu *cpu, __u64 tail, __u64 queue,
						     __u64 sk)
{
	__u64 newest = nf_queued_newest(tail, queue, sk, nf_base(cpu));
	__u16 left = cpu->split.left;

	if (newest)
		nf_queued_part(cpu, NF_PROBE_SK_DATA_READY, newest);
	if (left && cpu->split.left == left)
		cpu->split.left--;
}

/* ---- gaps ---------------------------------------------------------------- */

#define NF_QUEUED_BLOCKS 4 /* of tcp_sock.selective_acks */

/*
 * Whether the TCP socket `sk` has reported the skb as received behind a gap.  When a gap is filled,
 * the kernel does not clear the blocks behind it (tcp_sack_remove()).  Both are numbers like
 * nf_inflight.skb.  A global function, see nf_queued_one().
 */
__noinline int nf_queued_sacked(__u64 skb, __u64 sk, __u64 base)
{
	const struct tcp_sock *tp = (const void *)(sk + base);
	const struct sk_buff *at = (const void *)(skb + base);
	struct tcp_sack_block block[NF_QUEUED_BLOCKS];
	struct tcp_skb_cb cb;
	__u32 inside = 0;
	int i;

	if (bpf_probe_read_kernel(block, sizeof(block), &tp->selective_acks) ||
	    bpf_probe_read_kernel(&cb, sizeof(cb), &at->cb))
		return 0;
#pragma unroll
	for (i = 0; i < NF_QUEUED_BLOCKS; i++)
		inside |= cb.seq - block[i].start_seq < block[i].end_seq - block[i].start_seq;
	return inside;
}

/*
 * Whether an skb may have waited: this run of NET_RX has not brought it.  Of most skbs this saves
 * reading the socket.
 */
static __always_inline bool nf_queued_is_late(struct nf_cpu *cpu, const struct nf_inflight *e)
{
	const struct nf_context *context = nf_context(cpu);

	return !context || !nf_in_net_rx(context) || context->entry_ns <= NF_UNTIMED ||
	       e->begin_ns < context->entry_ns;
}

/* Whether the skb was found in a queue before, by its entry. */
static __always_inline bool nf_queued_is_old(const struct nf_inflight *e, __u64 skb)
{
	return e && e->skb == skb && e->sock_queue && e->journey == NF_JOURNEY_RX;
}

/* Added to the number of an skb, which is a multiple of 8. */
#define NF_QUEUED_NOT_FOLLOWED 1

/* What a walk is for; all others give the stage to skbs of TCP. */
#define NF_QUEUED_UDP 0	 /* to give it to datagrams */
#define NF_QUEUED_LOOK 1 /* to find the first */

/*
 * Give an skb in a queue the stage if it is new.  Returns the skb before it, with
 * NF_QUEUED_NOT_FOLLOWED if this one is not new; 0 if this one is old.  `skb` is a number like
 * nf_inflight.skb, and `base` is the distance of these from addresses.  `filled_ns`: what
 * was received before that has waited behind a gap until then; or NF_QUEUED_*.  A global function,
 * so that the verifier checks it once, not for each skb of a walk.
 */
__noinline __u64 nf_queued_one(__u64 skb, __u64 base, __u64 now, __u64 filled_ns)
{
	const struct sk_buff *at = (const void *)(skb + base);
	struct nf_inflight *e = nf_inflight_at(skb);
	const struct net *net;
	__u64 before;
	__u32 iif;

	if (nf_queued_is_old(e, skb))
		return 0;
	before = (__u64)BPF_CORE_READ(at, prev) - base;
	if (!nf_queued_is_new(e, skb) ||
	    !nf_queued_is_same(
		    e, skb, at, (__u64)BPF_CORE_READ(at, head), BPF_CORE_READ(at, skb_iif),
		    BPF_CORE_READ_BITFIELD_PROBED(at, cloned), filled_ns != NF_QUEUED_UDP))
		return before + NF_QUEUED_NOT_FOLLOWED;
	if (filled_ns == NF_QUEUED_LOOK)
		return before;
	/* TCP has given it to its socket. */
	net = filled_ns == NF_QUEUED_UDP ? 0 : BPF_CORE_READ(at, sk, __sk_common.skc_net.net);
	iif = BPF_CORE_READ(at, skb_iif);
	if (net && unlikely(!nf_queued_is_there(e, BPF_CORE_READ(net, ns.inum), iif)))
		nf_queued_lift(skb, (__u64)net - base, iif);
	nf_queued_stamp(e, now, e->begin_ns < filled_ns ? filled_ns : 0, 0);
	return before;
}

/*
 * Give the skb and those before it the stage.  `queue` is the head of the queue, a number as
 * `skb`; `filled_ns`: as above.  Returns the first skb of them, 0 if there is none.  A global
 * function, too.
 *
 * If two CPUs find the same skb of a UDP socket within a few ns, the histogram counts
 * it twice.
 */
__noinline __u64 nf_queued_before(__u64 skb, __u64 queue, __u64 base, __u64 now, __u64 filled_ns)
{
	__u64 oldest = 0, before, unknown, unknowns = 0;
	/* TCP holds the socket's lock when it announces data. */
	__u64 unknowns_max = filled_ns == NF_QUEUED_UDP ? 0 : NF_QUEUED_UNKNOWN_MAX;
	int i;

	for (i = 0; i < NF_QUEUED_MAX && skb != queue; i++) {
		before = nf_queued_one(skb, base, now, filled_ns);
		if (!before)
			break;
		/* Without branches: the verifier would follow both at every skb. */
		unknown = before & NF_QUEUED_NOT_FOLLOWED;
		barrier_var(unknown);
		unknowns += unknown;
		if (unknowns > unknowns_max)
			break;
		unknown = -unknown;
		oldest = (oldest & unknown) | (skb & ~unknown);
		skb = before & ~(__u64)NF_QUEUED_NOT_FOLLOWED;
	}
	return oldest;
}

/*
 * Whether one announcement is of more skbs than a walk reaches, the first of which is `first`.  Without
 * SO_RCVLOWAT, TCP announces what comes in sequence one by one: all but the missing one have waited.
 */
static __always_inline bool nf_queued_is_cut(__u64 first, __u64 queue, __u64 sk, __u64 base)
{
	const struct sk_buff *at = (const void *)(first + base);
	const struct sock *socket = (const void *)(sk + base);
	__u64 before = (__u64)BPF_CORE_READ(at, prev) - base;

	return before != queue && nf_queued_is_new(nf_inflight_at(before), before) &&
	       BPF_CORE_READ(socket, sk_rcvlowat) <= 1;
}

/*
 * The same of the skb and those before it in the queue of a TCP socket, in two walks: what has
 * waited behind a gap shows only when the first is known.
 */
static __noinline __u64 nf_queued_stream(struct nf_cpu *cpu, __u64 skb, __u64 queue, __u64 now)
{
	__u64 base = nf_base(cpu), outer = cpu->gap, oldest, filled_ns;
	__u64 sk = queue - bpf_core_field_offset(struct sock, sk_receive_queue);
	__u64 first = nf_queued_before(skb, queue, base, now, NF_QUEUED_LOOK);
	const struct nf_inflight *e = first ? nf_inflight_at(first) : 0;

	if (!e)
		return 0;
	filled_ns = e->begin_ns;
	cpu->gap = first;
	if (nf_queued_is_cut(first, queue, sk, base)) {
		filled_ns = now;
		cpu->gap = 0;
	} else if (nf_queued_sacked(first, sk, base)) {
		filled_ns = now;
		cpu->gap |= NF_QUEUED_WAITED;
	}
	oldest = nf_queued_before(skb, queue, base, now, filled_ns);
	cpu->gap = outer;
	return oldest;
}

/* TCP holds the socket's lock when it announces data. */
static __always_inline bool nf_queued_is_locked(__u16 protocol)
{
	return protocol == IPPROTO_TCP;
}

/*
 * Give the tail of the queue of a socket, which is new, and the new skbs before it the stage.
 * Returns the first of them.
 */
static __always_inline __u64 nf_queued_tail(struct nf_cpu *cpu, const struct sk_buff *tail,
					    const struct sock *sk, struct nf_inflight *e, __u64 now,
					    bool locked)
{
	__u64 skb = nf_address(tail), before = nf_address(tail->prev), oldest = 0;
	__u64 queue = nf_address(&sk->sk_receive_queue), filled_ns = 0;
	/* Usually it is the only one, or the one before it has been announced. */
	bool several = before != queue && !nf_queued_is_old(nf_inflight_at(before), before);

	if (unlikely(several) && locked)
		return nf_queued_stream(cpu, skb, queue, now);
	if (locked && unlikely(nf_queued_is_late(cpu, e)) &&
	    nf_queued_sacked(skb, nf_address(sk), nf_base(cpu)))
		filled_ns = now;
	nf_queued_stamp(e, now, filled_ns, skb | NF_QUEUED_WAITED);
	if (unlikely(several))
		oldest = nf_queued_before(before, queue, nf_base(cpu), now, NF_QUEUED_UDP);
	return oldest ? oldest : skb;
}

/* No new skb in the queue of a UDP socket: its reader may have moved it. */
static __always_inline __u64 nf_queued_at_reader(struct nf_cpu *cpu, const struct sock *sk,
						 __u64 now)
{
	const struct udp_sock *up = (const void *)sk;
	__u64 base = nf_base(cpu);

	return nf_queued_before((__u64)BPF_CORE_READ(up, reader_queue.prev) - base,
				nf_address(&up->reader_queue), base, now, NF_QUEUED_UDP);
}

/* What was received last is announced.  Parts are announced one by one. */
static __always_inline void nf_queued_forget(struct nf_cpu *cpu)
{
	if (cpu->received != NF_PARTS || !cpu->split.left)
		cpu->received = 0;
}

/*
 * Whether a followed skb can be new in a queue with this tail: the tail is followed, or one was received on
 * this CPU and is not announced yet.
 */
static __always_inline bool nf_queued_any(struct nf_cpu *cpu, __u64 tail)
{
	if (settings.governor && !cpu->received && !nf_inflight_may_have(tail))
		return false;
	nf_queued_forget(cpu);
	return true;
}

/* The receive queue of a socket whose type the verifier does not know (kprobe). */
static __always_inline void nf_queued_untyped(struct nf_cpu *cpu, const struct sock *sk)
{
	__u64 base = nf_base(cpu), now, queue, tail;

	cpu->ready = 0;
	if (!nf_queued_family(BPF_CORE_READ(sk, __sk_common.skc_family)))
		return;
	tail = (__u64)BPF_CORE_READ(sk, sk_receive_queue.prev) - base;
	queue = (__u64)&sk->sk_receive_queue - base;
	if (unlikely(cpu->received == NF_PARTS) && !settings.udp_enqueue &&
	    BPF_CORE_READ(sk, sk_protocol) == IPPROTO_UDP)
		nf_queued_part_announced(cpu, tail, queue, (__u64)sk - base);
	if (!nf_queued_any(cpu, tail))
		return;
	now = bpf_ktime_get_ns();
	cpu->ready_ns = now;
	if (nf_queued_is_locked(BPF_CORE_READ(sk, sk_protocol)))
		cpu->ready = nf_queued_stream(cpu, tail, queue, now);
	else
		cpu->ready = nf_queued_before(tail, queue, base, now, NF_QUEUED_UDP);
}

/* A UDP socket is about to queue a datagram, or to drop it because its buffer is full. */
static __always_inline void nf_queued_enqueue(struct nf_cpu *cpu, const struct sock *sk,
					      const struct sk_buff *skb)
{
	__u64 number = nf_address(skb);
	struct nf_inflight *e = nf_inflight_may_have(number) ? nf_inflight_at(number) : 0;

	cpu->enqueue.skb = 0;
	if (unlikely(cpu->received == NF_PARTS)) {
		nf_queued_part(cpu, NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB, number);
		e = nf_inflight_at(number);
	}
	if (!nf_queued_is_new(e, number) ||
	    !nf_queued_is_same(e, number, skb, (__u64)skb->head, skb->skb_iif,
			       BPF_CORE_READ_BITFIELD(skb, cloned), false))
		return;
	nf_queued_settle(e, sk, number, skb->skb_iif);
	cpu->enqueue.sk = nf_address(sk);
	cpu->enqueue.begin_ns = e->begin_ns;
	cpu->enqueue.slot = e->slot;
	cpu->enqueue.share = nf_inflight_share(e);
	cpu->enqueue.ns = bpf_ktime_get_ns();
	cpu->enqueue.skb = number;
	e->enqueue_ns = cpu->enqueue.ns;
}

/*
 * The announcement of the datagram that this CPU has just queued: end its
 * receive→sock_queue, also if its reader has already taken it.  Returns the datagram, 0 if
 * the announcement is of another one.
 */
static __always_inline __u64 nf_queued_announced(struct nf_cpu *cpu, const struct sock *sk)
{
	const struct nf_enqueue *enqueue = &cpu->enqueue;
	__u64 skb = enqueue->skb;
	struct nf_device_stats *stats;
	struct nf_inflight *e;

	if (!skb || enqueue->sk != nf_address(sk))
		return 0;
	cpu->enqueue.skb = 0;
	e = nf_inflight_at(skb);
	if (e && (e->skb != skb || e->begin_ns != enqueue->begin_ns))
		e = 0;
	if (e && e->sock_queue)
		return skb;
	if (e)
		e->sock_queue = nf_ticks(enqueue->begin_ns, enqueue->ns);
	stats = nf_device_stats(enqueue->slot);
	if (stats &&
	    nf_queued_time(stats, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, enqueue->begin_ns, enqueue->ns,
			   nf_queued_share(enqueue->share)) &&
	    e)
		e->flags |= NF_INFLIGHT_SLOW;
	return skb;
}

/*
 * The kernel announces data to a socket: end receive→sock_queue of its new skbs.
 * The reader that the kernel wakes now reads the first of them.  False: none of them is followed.
 */
static __always_inline bool nf_queued(struct nf_cpu *cpu, const struct sock *sk)
{
	const struct sk_buff *tail;
	__u64 skb, queue, now = 0, oldest = 0;
	bool named = settings.udp_enqueue && sk->sk_protocol == IPPROTO_UDP;
	bool locked = nf_queued_is_locked(sk->sk_protocol);
	struct nf_inflight *e;

	cpu->ready = 0;
	if (unlikely(!nf_queued_family(sk->__sk_common.skc_family)))
		return false;
	/* Only since 6.18 a CPU queues the datagrams of others, too. */
	if (named && !settings.udp_deferred) {
		oldest = nf_queued_announced(cpu, sk);
		if (oldest) {
			cpu->ready_ns = cpu->enqueue.ns;
			cpu->ready = oldest;
			nf_queued_forget(cpu);
			return true;
		}
	}
	tail = sk->sk_receive_queue.prev;
	skb = nf_address(tail);
	queue = nf_address(&sk->sk_receive_queue);
	if (unlikely(cpu->received == NF_PARTS) && !named && sk->sk_protocol == IPPROTO_UDP)
		nf_queued_part_announced(cpu, skb, queue, nf_address(sk));
	if (!nf_queued_any(cpu, skb))
		return false;
	e = skb != queue ? nf_inflight_at(skb) : 0;
	if (likely(nf_queued_is_new(e, skb) &&
		   nf_queued_is_same(e, skb, tail, (__u64)tail->head, tail->skb_iif,
				     BPF_CORE_READ_BITFIELD(tail, cloned), locked))) {
		/* Usually it has just been named: no need to read the clock again. */
		now = named && cpu->enqueue.skb == skb ? cpu->enqueue.ns : bpf_ktime_get_ns();
		if (!named)
			nf_queued_settle(e, sk, skb, tail->skb_iif);
		oldest = nf_queued_tail(cpu, tail, sk, e, now, locked);
	} else if (locked && skb != queue && !nf_queued_is_old(e, skb)) {
		now = bpf_ktime_get_ns();
		oldest = nf_queued_stream(cpu, skb, queue, now);
	}
	if (unlikely(!oldest) && sk->sk_protocol == IPPROTO_UDP) {
		now = bpf_ktime_get_ns();
		oldest = nf_queued_at_reader(cpu, sk, now);
	}
	if (named && settings.udp_deferred) {
		skb = nf_queued_announced(cpu, sk);
		now = skb ? cpu->enqueue.ns : now;
		oldest = oldest ? oldest : skb;
	}
	cpu->ready_ns = now;
	cpu->ready = oldest;
	return true;
}

#endif
