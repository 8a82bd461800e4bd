/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths: the journey of an skb from its first stage to its end.  Histograms
 * count every journey; slow and sampled journeys also get a latency record.
 */
#ifndef NF_JOURNEY_H
#define NF_JOURNEY_H

#include "bytes.h"
#include "device.h"
#include "inflight.h"
#include "throttle.h"

/* ---- devices crossed --------------------------------------------------- */

static __always_inline struct nf_hops *nf_hops_at(__u64 skb)
{
	__u32 index = nf_hash(skb, settings.hops_shift);

	return bpf_map_lookup_elem(&nf_hops, &index);
}

/* A received skb goes on to another device: keep the data that its entry cannot hold as well. */
static __always_inline void nf_hops_add(struct nf_inflight *e, __u64 skb)
{
	struct nf_hops *hops = nf_hops_at(skb);
	__u32 count;

	if (!hops)
		return;
	if (!(e->flags & NF_INFLIGHT_HOPS) || hops->skb != skb) {
		hops->skb = skb;
		hops->count = hops->more = 0;
	}
	if (e->journey == NF_JOURNEY_RX) {
		hops->receive_ns = e->begin_ns;
		hops->rx = e->rx;
	}
	count = hops->count;
	if (count < NF_HOPS_MAX) {
		hops->slot[count] = e->slot;
		hops->count = count + 1;
	} else {
		hops->more = 1;
	}
	e->flags |= NF_INFLIGHT_HOPS;
}

/* ---- choosing and sending records --------------------------------------- */

/*
 * Whether the random sample takes the journey, one in N of all, followed or not; the low bits of the
 * clock are the random number.
 */
static __always_inline bool nf_journey_drawn(__u64 now, __u64 skb, __u64 weight)
{
	return nf_hash(now ^ skb >> 6, 32) < live.sample * weight;
}

/* One bucket per CPU: on a slow host many journeys are slow, and all would get a record. */
static __always_inline bool nf_journey_admit(struct nf_cpu *cpu, __u64 now)
{
	return nf_throttle_admit(&cpu->journey_bucket, now, live.journey_interval_ns,
				 live.journey_burst_ns);
}

static __always_inline void nf_journey_device(struct nf_journey_record *r, __u32 slot)
{
	__u64 device;
	const struct nf_device_info *info = nf_device_of_slot(slot, &device);
	__u32 n = r->devices;

	/* Without a key, another CPU is about to give the slot to its device. */
	if (n >= NF_JOURNEY_DEVICES || !info || !device)
		return;
	r->device[n].ifindex = info->ifindex;
	r->device[n].netns = info->netns;
	r->device[n].netns_id = NF_KEY_NETNS_ID(device);
	r->device[n].device_id = NF_KEY_DEVICE(device);
	__builtin_memcpy(r->device[n].name, info->name, NF_DEVICE_NAME);
	r->devices = n + 1;
}

/* The time of a stage `ticks` before `ns`; 0 if not passed, or too long ago to be known. */
static __always_inline __u64 nf_before(__u64 ns, __u32 ticks)
{
	return ticks && ticks != NF_TICK_MAX ? ns - ((__u64)ticks << NF_TICK_SHIFT) : 0;
}

static __always_inline void nf_journey_receive_side(struct nf_journey_record *r, __u64 receive_ns,
						    const struct nf_rx_stages *rx)
{
	r->stage_ns[NF_STAGE_IRQ] = nf_before(receive_ns, rx->irq);
	r->stage_ns[NF_STAGE_SOFTIRQ_RAISE] = nf_before(receive_ns, rx->raise);
	r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY] = nf_before(receive_ns, rx->entry);
	r->stage_ns[NF_STAGE_RECEIVE] = receive_ns;
}

static __always_inline void nf_journey_hops(struct nf_journey_record *r,
					    const struct nf_inflight *e, __u64 skb)
{
	struct nf_hops *hops;
	int i;

	if (!(e->flags & NF_INFLIGHT_HOPS))
		return;
	hops = nf_hops_at(skb);
	if (!hops || hops->skb != skb)
		return;
#pragma unroll
	for (i = 0; i < NF_HOPS_MAX; i++)
		if (i < hops->count)
			nf_journey_device(r, hops->slot[i]);
	if (hops->more)
		r->flags |= NF_JOURNEY_MORE;
	if (e->journey == NF_JOURNEY_FORWARD)
		nf_journey_receive_side(r, hops->receive_ns, &hops->rx);
}

/*
 * The end of start_xmit; 0: not passed, or not known.  Before 5.12 a CPU can write xmit_ns when
 * another skb has just taken the entry (see nf_replace()): it read its clock before that skb's
 * start_xmit.  An skb that is consumed in a queue has neither time.
 */
static __always_inline __u64 nf_journey_xmit(const struct nf_inflight *e)
{
	__u64 ns = e->xmit_ns & ~NF_XMIT_SLOW;

	return e->start_ns && (__s64)ns >= (__s64)e->start_ns ? ns : 0;
}

/* Whether a segment of the journey was slow, so far. */
static __always_inline bool nf_journey_slow(const struct nf_inflight *e)
{
	return e->flags & NF_INFLIGHT_SLOW ||
	       (e->journey >= NF_JOURNEY_TX && nf_journey_xmit(e) && e->xmit_ns & NF_XMIT_SLOW);
}

static __always_inline void nf_journey_stages(struct nf_journey_record *r,
					      const struct nf_inflight *e)
{
	if (e->journey == NF_JOURNEY_RX) {
		nf_journey_receive_side(r, e->begin_ns, &e->rx);
		if (e->flags & NF_INFLIGHT_GAP) {
			r->stage_ns[NF_STAGE_GAP_FILLED] =
				e->begin_ns + ((__u64)e->gap << NF_TICK_SHIFT);
			r->missing = e->missing;
		}
		if (e->sock_queue)
			r->stage_ns[NF_STAGE_SOCK_QUEUE] =
				e->begin_ns + ((__u64)e->sock_queue << NF_TICK_SHIFT);
		else if (settings.udp_enqueue)
			r->stage_ns[NF_STAGE_SOCK_QUEUE] = e->enqueue_ns;
		return;
	}
	if (!(e->flags & NF_INFLIGHT_NO_QUEUE))
		r->stage_ns[NF_STAGE_QUEUE] = e->begin_ns;
	r->stage_ns[NF_STAGE_START_XMIT] = e->start_ns;
	r->stage_ns[NF_STAGE_XMIT] = nf_journey_xmit(e);
}

/* The data of a journey's end that its in-flight entry does not have. */
struct nf_journey_end {
	enum nf_probe probe;
	__u64 now;
	__u64 wakeup_ns, run_ns; /* of the reader, 0 = not known */
	enum nf_outcome outcome;
	bool slow;
	bool freed;
	const struct nf_reader *read; /* the skb's headers if it is already freed, otherwise NULL */
	__u32 merged;		      /* bytes of other skbs in it, see stream.h */
};

/*
 * Send a record and return the event to count: recorded, throttled or ring
 * full.  `skb` is NULL if it is already freed.  Not inlined, because records are
 * rare, and the callers run for every packet.
 */
static __noinline int nf_journey_send(void *ctx, struct nf_cpu *cpu, const struct sk_buff *skb,
				      const struct nf_inflight *e, const struct nf_journey_end *end)
{
	struct nf_journey_record *r;

	if (!nf_journey_admit(cpu, end->now))
		return NF_EVENT_THROTTLED;
	r = bpf_ringbuf_reserve(&nf_ring, sizeof(*r), 0);
	if (!r)
		return NF_EVENT_RING_FULL;
	__builtin_memset(r, 0, sizeof(*r) - sizeof(r->bytes));
	r->flags = nf_in_task(cpu, ctx, &r->cgroup) ? NF_JOURNEY_TASK : 0;
	r->cgroup = 0;
	nf_header_fill(&r->header, NF_RECORD_JOURNEY, sizeof(*r), end->now);
	r->outcome = end->outcome;
	r->merged = end->merged;
	if (settings.governor)
		r->weight_shift = nf_inflight_share(e).shift + live.window_shift;
	if (end->slow || nf_journey_slow(e))
		r->flags |= NF_JOURNEY_SLOW;
	if (e->journey >= NF_JOURNEY_TX && e->flags & NF_INFLIGHT_NO_QUEUE)
		r->flags |= NF_JOURNEY_NO_QUEUE;
	if (e->flags & NF_INFLIGHT_POLLED)
		r->flags |= NF_JOURNEY_POLLED;
	nf_journey_stages(r, e);
	nf_journey_hops(r, e, e->skb);
	nf_journey_device(r, e->slot);
	if (end->outcome == NF_OUTCOME_DELIVERED) {
		r->stage_ns[NF_STAGE_COPY] = end->now;
		r->stage_ns[NF_STAGE_WAKEUP] = end->wakeup_ns;
		r->stage_ns[NF_STAGE_RUN] = end->run_ns;
	} else if (end->freed) {
		r->stage_ns[NF_STAGE_FREE] = end->now;
	}
	nf_task_fill(&r->task);
	if (r->flags & NF_JOURNEY_TASK)
		r->cgroup = bpf_get_current_cgroup_id();
	__builtin_memset(&r->bytes, 0, sizeof(r->bytes) - NF_L2_MAX - NF_NET_MAX);
	if (skb) {
		if (!r->cgroup)
			r->cgroup = nf_sock_cgroup(skb->sk);
		nf_bytes_fill(&r->bytes, skb);
	} else if (end->read) {
		r->bytes.len = end->read->len;
		r->bytes.protocol = end->read->protocol;
		r->bytes.net_len = end->read->net_len & (NF_READER_HEADER * 2 - 1);
		__builtin_memcpy(r->bytes.net, end->read->net, NF_READER_HEADER);
	}
	bpf_ringbuf_submit(r, 0);
	return NF_EVENT_RECORDED;
}

/* A journey ends: send a record of it if it was slow or the random sample takes it. */
static __always_inline void nf_journey_end(void *ctx, struct nf_cpu *cpu, const struct sk_buff *skb,
					   const struct nf_inflight *e,
					   const struct nf_journey_end *end)
{
	bool slow = end->slow || nf_journey_slow(e);
	__u64 weight = nf_inflight_weight(e).weight;

	if (likely(!slow && !nf_journey_drawn(end->now, e->skb, weight)))
		return;
	if (slow && weight > 1)
		nf_add(&cpu->events[end->probe][NF_EVENT_SLOW_UNSEEN], weight - 1);
	nf_count(cpu, end->probe, NF_EVENT_CHOSEN);
	nf_count(cpu, end->probe, nf_journey_send(ctx, cpu, skb, e, end));
}

/* ---- receive ----------------------------------------------------------- */

/* The time of the first stage that a received skb passed on this host. */
static __always_inline __u64 nf_journey_first(__u64 receive_ns, const struct nf_rx_stages *rx)
{
	__u32 before = rx->irq ? rx->irq : rx->raise ? rx->raise : rx->entry;

	return receive_ns - ((__u64)before << NF_TICK_SHIFT);
}

/* How a received skb came. */
struct nf_arrival {
	/* When lo or veth, which need no interrupt, passed it on; 0: neither did. */
	__u64 joined;
	bool this_run; /* then: in this run of NET_RX */
	bool inherits; /* it was followed up to here: the share is that of its journey */
	struct nf_share share, inherited;
	bool unknown; /* nothing is known of what brought it */
	bool simple;  /* the segments up to receive get no histograms */
};

/*
 * The stages in the softirq and the interrupt that brought the skb, and the segments up to receive.  If
 * the softirq was raised before the skb joined, or before the interrupt, the skb began to wait only at
 * that time.  Returns NF_INFLIGHT_* flags.
 */
static __always_inline __u8 nf_journey_brought(struct nf_cpu *cpu, struct nf_context *context,
					       struct nf_device_stats *stats,
					       const struct nf_arrival *by, struct nf_weight w,
					       __u64 now, struct nf_rx_stages *rx)
{
	__u64 since, came = by->joined;
	bool slow = false;
	__u8 flags = 0;

	if (!by->joined)
		nf_net_rx_overtaken(cpu, context);
	since = context->entry_ns > by->joined ? context->entry_ns : by->joined;
	rx->entry = nf_ticks(since, now);
	if (!by->simple)
		slow = nf_segment_add(stats, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, since, now, w);
	if (!by->joined)
		came = context->entry_irq_ns;
	since = context->entry_raise_ns > came ? context->entry_raise_ns : came;
	if (since > NF_UNTIMED && context->entry_raise_ns && since <= context->entry_ns) {
		rx->raise = nf_ticks(since, now);
		if (!by->simple)
			slow |= nf_segment_add(stats, NF_SEGMENT_RAISE_TO_SOFTIRQ, since,
					       context->entry_ns, w);
	}
	if (!by->joined && came > NF_UNTIMED) {
		rx->irq = nf_ticks(came, now);
		if (!by->simple)
			slow |= nf_segment_add(stats, NF_SEGMENT_IRQ_TO_SOFTIRQ, came,
					       context->entry_ns, w);
	} else if (!by->joined && context->entry_polled) {
		flags = NF_INFLIGHT_POLLED;
	}
	return slow ? flags | NF_INFLIGHT_SLOW : flags;
}

/* Fill a new entry. */
static __always_inline void nf_journey_received(struct nf_cpu *cpu, struct nf_context *context,
						struct nf_inflight *e, const struct sk_buff *skb,
						const struct net_device *dev, __u64 number,
						__u64 head, __u32 slot, const struct nf_arrival *by,
						__u64 now)
{
	struct nf_weight w = nf_weight_of(by->share.shift, by->share.rank);
	struct nf_device_stats *stats = nf_device_stats(slot);
	struct nf_rx_stages rx = {};
	__u8 flags = 0;

	if (likely(stats)) {
		nf_device_refresh(stats, slot, dev, now);
		nf_device_received(stats, dev, w);
	}

	if (likely(stats && nf_in_net_rx(context) && !by->unknown)) {
		if (context->entry_ns || by->this_run)
			flags = nf_journey_brought(cpu, context, stats, by, w, now, &rx);
		else
			/* This run was not expected to have it: its entry is not known, but the wait is. */
			rx.raise = nf_ticks(by->joined, now);
	}
	e->head = head;
	e->begin_ns = now;
	e->rx = rx;
	e->sock_queue = 0;
	e->sk = nf_inflight_no_reader(now);
	e->len = skb->len;
	e->slot = slot;
	e->journey = NF_JOURNEY_RX;
	nf_inflight_set_share(e, flags, by->share);
	nf_inflight_seal(e, number);
	cpu->received = number;
}

static __always_inline struct nf_wake *nf_wake_at(__u32 tid)
{
	__u32 index = nf_hash(tid, settings.wake_shift);

	return bpf_map_lookup_elem(&nf_wakes, &index);
}

/* The context of a program that ends receive→copy, see nf_segment_add_from(). */
enum nf_reader_context {
	NF_READER_IN_TASK,
	NF_READER_PREEMPTIBLE,
	NF_READER_IN_SOFTIRQ, /* the skb was read before, and is freed now */
};

/*
 * If the reader was asleep and this skb woke it, set the times at which it was
 * woken and got on a CPU.  A reader that was not asleep has neither stage: if it is
 * woken on its way to sleep, it keeps its CPU.  Returns whether a segment was slow.
 */
static __always_inline bool nf_journey_woken(struct nf_device_stats *stats, __u64 skb,
					     __u64 begin_ns, struct nf_weight w,
					     struct nf_journey_end *end, bool preemptible)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct nf_wake *wake = nf_wake_at(tid);
	bool slow;

	if (!wake || wake->tid != tid || wake->skb != skb)
		return false;
	wake->skb = 0;
	/* Otherwise it belongs to an earlier skb at this address, whose end was not seen. */
	if (!wake->run_ns || wake->wakeup_ns < begin_ns)
		return false;
	end->wakeup_ns = wake->wakeup_ns;
	end->run_ns = wake->run_ns;
	slow = nf_segment_add_from(stats, NF_SEGMENT_WAKEUP_TO_RUN, end->wakeup_ns, end->run_ns, w,
				   preemptible);
	slow |= nf_segment_add_from(stats, NF_SEGMENT_RUN_TO_COPY, end->run_ns, end->now, w,
				    preemptible);
	return slow;
}

/*
 * A received skb has reached its reader.  Several programs end receive→copy,
 * but on one CPU and in one context never two of them at the same time.
 */
static __always_inline void nf_journey_delivered(void *ctx, struct nf_cpu *cpu, enum nf_probe probe,
						 const struct sk_buff *skb,
						 const struct nf_inflight *e,
						 const struct nf_reader *read, __u32 merged,
						 enum nf_reader_context context)
{
	struct nf_journey_end end = {
		.probe = probe,
		.now = bpf_ktime_get_ns(),
		.outcome = NF_OUTCOME_DELIVERED,
		.read = read,
		.merged = merged,
	};
	struct nf_device_stats *stats = nf_device_stats(e->slot);
	__u64 first = nf_journey_first(e->begin_ns, &e->rx);
	struct nf_weight w = nf_inflight_weight(e);
	bool softirq = context == NF_READER_IN_SOFTIRQ;
	bool preemptible = context == NF_READER_PREEMPTIBLE;

	if (unlikely(!stats))
		return;
	end.slow = nf_segment_add_from(stats,
				       softirq ? (__u32)NF_HIST_SOFTIRQ_RECEIVE_TO_COPY
					       : (__u32)NF_SEGMENT_RECEIVE_TO_COPY,
				       e->begin_ns, end.now, w, preemptible);
	end.slow |= nf_segment_add_from(
		stats, softirq ? (__u32)NF_HIST_SOFTIRQ_RX_TOTAL : (__u32)NF_SEGMENT_RX_TOTAL,
		first, end.now, w, preemptible);
	if (settings.wake && !softirq)
		end.slow |= nf_journey_woken(stats, e->skb, e->begin_ns, w, &end, preemptible);
	nf_journey_end(ctx, cpu, skb, e, &end);
}

/* A task is woken while the kernel announces an skb to its socket: it may be the reader. */
static __always_inline void nf_journey_waking(struct nf_cpu *cpu, __u32 tid)
{
	struct nf_wake *wake = nf_wake_at(tid);

	if (!wake)
		return;
	/* A reader can be woken again before it reads, for a lock of its own. */
	if (wake->tid == tid && wake->skb == cpu->ready && wake->wakeup_ns >= cpu->ready_ns)
		return;
	wake->tid = tid;
	wake->wakeup_ns = bpf_ktime_get_ns();
	wake->run_ns = 0;
	wake->skb = cpu->ready;
}

/* The task gets on a CPU. */
static __always_inline void nf_journey_running(__u32 tid)
{
	struct nf_wake *wake = nf_wake_at(tid);

	if (wake && wake->tid == tid && wake->skb && !wake->run_ns)
		wake->run_ns = bpf_ktime_get_ns();
}

/* ---- transmit ---------------------------------------------------------- */

/* A transmit ends: the driver completed it, or the skb was passed to the peer (lo, veth). */
static __always_inline void nf_journey_transmitted(void *ctx, struct nf_cpu *cpu,
						   enum nf_probe probe, const struct sk_buff *skb,
						   const struct nf_inflight *e, __u64 now)
{
	struct nf_journey_end end = {
		.probe = probe,
		.now = now,
		.freed = probe != NF_PROBE_NETIF_RECEIVE_SKB,
		.outcome = e->journey == NF_JOURNEY_FORWARD ? NF_OUTCOME_FORWARDED
							    : NF_OUTCOME_TRANSMITTED,
	};

	nf_journey_end(ctx, cpu, skb, e, &end);
}

/* The driver is done with a transmit: ends xmit→free. */
static __always_inline void nf_journey_freed(void *ctx, struct nf_cpu *cpu, enum nf_probe probe,
					     const struct sk_buff *skb, struct nf_inflight *path)
{
	struct nf_device_stats *stats = nf_device_stats(path->slot);
	__u64 now = bpf_ktime_get_ns(), xmit = nf_journey_xmit(path);

	if (stats && xmit &&
	    nf_segment_add(stats, NF_SEGMENT_XMIT_TO_FREE, xmit, now, nf_inflight_weight(path)))
		path->flags |= NF_INFLIGHT_SLOW;
	nf_journey_transmitted(ctx, cpu, probe, skb, path, now);
}

static __always_inline enum nf_event nf_journey_tx_event(const struct nf_inflight *e)
{
	return e->journey == NF_JOURNEY_FORWARD ? NF_EVENT_FORWARDED : NF_EVENT_TRANSMITTED;
}

/* Whether this is inside start_xmit with this skb. */
static __always_inline bool nf_journey_in_start_xmit(const struct nf_context *context, __u64 skb)
{
	__u32 inner = context->xmit_depth - 1;

	return inner < NF_XMIT_DEPTH && context->xmit[inner].skb == skb;
}

/*
 * Whether kfree_skb comes from code that also frees skbs without dropping them:
 *
 * - The NET_TX softirq.  net_tx_action() frees the skbs that a driver gave to
 *   dev_kfree_skb_irq() in its interrupt handler, as xen-netfront does with
 *   completed transmits.  They have no reason; skbs of dev_consume_skb_irq() pass
 *   consume_skb instead.
 * - xen-netback, which purges the queue of skbs that it has copied to the guest
 *   (xenvif_rx_copy_flush()).
 */
static __always_inline bool nf_journey_completes(const struct nf_context *context, __u64 location,
						 __u32 reason)
{
	if (location - live.netback < live.netback_bytes)
		return true;
	/* net_tx_action() names itself as the location; where symbols are hidden, the softirq tells. */
	if (location != live.net_tx_action && !nf_serves(context, NET_TX_SOFTIRQ))
		return false;
	return !settings.kfree_skb_reason ||
	       reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NOT_SPECIFIED);
}

/* A device of a driver: neither NULL nor lo, which passes its skbs on. */
static __always_inline bool nf_journey_has_driver(const struct net_device *dev)
{
	return dev && !(dev->flags & IFF_LOOPBACK);
}

/*
 * Whether such a kfree_skb completes a transmit: a driver has taken the skb, has
 * returned from start_xmit, and the skb is still at its device.  lo and veth pass
 * their skbs on, so an skb of theirs that is freed here was never received.
 */
static __always_inline bool nf_journey_is_completion(const struct nf_context *context,
						     const struct sk_buff *skb, __u64 number,
						     const struct nf_inflight *e)
{
	if (e->journey < NF_JOURNEY_TX || !e->start_ns || nf_journey_in_start_xmit(context, number))
		return false;
	return nf_journey_has_driver(skb->dev) && nf_device_slot(skb->dev) == e->slot;
}

/*
 * The same of an skb that was not followed, by the location alone.  What net_tx_action() frees, a driver gave it.  If
 * it has a network header, it came down the stack: a driver's own buffers for reception do not have one yet.
 */
static __always_inline bool nf_journey_was_sent(const struct sk_buff *skb, __u64 location)
{
	const struct net_device *dev = skb->dev;

	if (!settings.governor ||
	    (location != live.net_tx_action && location - live.netback >= live.netback_bytes))
		return false;
	return skb->network_header && nf_device_is_real(dev) && !(dev->flags & IFF_LOOPBACK);
}

/*
 * End a transmit that kfree_skb completes; false: the skb is dropped.  If
 * start_xmit gave the skb a new head (linearized it), the entry does not match
 * and the transmit is not timed, but it is completed.
 */
static __always_inline bool nf_journey_completed(void *ctx, struct nf_cpu *cpu,
						 const struct sk_buff *skb, __u64 location,
						 __u32 reason)
{
	const struct nf_context *context = nf_context(cpu);
	__u64 number = nf_address(skb);
	struct nf_inflight *e = 0, path;
	bool ours;

	if (!context || !nf_journey_completes(context, location, reason))
		return false;
	if (nf_inflight_may_have(number))
		e = nf_inflight_at(number);
	if (!e || e->skb != number) {
		if (!nf_journey_was_sent(skb, location))
			return false;
		nf_count(cpu, NF_PROBE_KFREE_SKB, NF_EVENT_COMPLETED);
		return true;
	}
	path = *e;
	if (!nf_journey_is_completion(context, skb, number, &path))
		return false;
	if (settings.governor && !live.net_tx_action && nf_serves(context, NET_TX_SOFTIRQ))
		live.net_tx_action =
			location; /* symbols are hidden, but this one has shown itself */
	ours = nf_inflight_holds(cpu, NF_PROBE_KFREE_SKB, &path, number, (__u64)skb->head);
	if (nf_inflight_end(cpu, NF_PROBE_KFREE_SKB, e, number,
			    ours ? nf_journey_tx_event(&path) : NF_EVENT_INVALIDATED) &&
	    ours)
		nf_journey_freed(ctx, cpu, NF_PROBE_KFREE_SKB, skb, &path);
	nf_count(cpu, NF_PROBE_KFREE_SKB, NF_EVENT_COMPLETED);
	return true;
}

/* End the total: since queue for an skb sent here, since its first stage for a forwarded one. */
static __always_inline bool nf_journey_xmit_total(struct nf_device_stats *stats,
						  const struct nf_inflight *e, __u64 skb, __u64 now)
{
	struct nf_hops *hops;
	__u64 first;

	if (e->journey == NF_JOURNEY_TX)
		return !(e->flags & NF_INFLIGHT_NO_QUEUE) &&
		       nf_segment_add(stats, NF_SEGMENT_TX_TOTAL, e->begin_ns, now,
				      nf_inflight_weight(e));
	hops = nf_hops_at(skb);
	if (!hops || hops->skb != skb)
		return false;
	first = nf_journey_first(hops->receive_ns, &hops->rx);
	return nf_segment_add(stats, NF_SEGMENT_FORWARD_TOTAL, first, now, nf_inflight_weight(e));
}

/* A clone that did not come ends its journey. */
static __always_inline void nf_journey_lost(struct nf_cpu *cpu, enum nf_probe probe)
{
	nf_count(cpu, probe, NF_EVENT_INVALIDATED);
	cpu->parted.path.skb = 0;
}

/*
 * Whether a clone of a received skb that is freed goes on: then the journey waits for it outside of the table, because
 * another CPU can get the memory of the skb before.  IPv6 forwards a packet that has too little room for the headers of
 * a tunnel as a clone with a head of its own (skb_expand_head(), since 5.15).  It has its route then; what this host
 * consumes itself has one to lo.  It is inlined, because load.c removes exchanges for 5.10 from programs only, not from
 * functions.
 */
static __always_inline bool nf_journey_parts(struct nf_cpu *cpu, const struct sk_buff *skb,
					     __u64 number, struct nf_inflight *e,
					     const struct nf_inflight *path)
{
	const struct dst_entry *dst = (const void *)(skb->_skb_refdst & ~1UL);
	const struct nf_hops *hops = nf_hops_at(number);
	struct nf_parted *parted = &cpu->parted;
	const struct net_device *dev;
	__u64 owner;

	if (!dst || !hops || !BPF_CORE_READ_BITFIELD(skb, cloned))
		return false;
	dev = BPF_CORE_READ(dst, dev);
	if (!dev || BPF_CORE_READ(dev, flags) & IFF_LOOPBACK)
		return false;
	if (unlikely(parted->path.skb))
		nf_journey_lost(cpu, NF_PROBE_CONSUME_SKB);
	parted->path = *path;
	parted->hops = *hops;
	parted->dev = (__u64)dev;
	owner = nf_inflight_release(e, number);
	if (owner == number)
		return true;
	if (owner)
		nf_inflight_overwritten(cpu, NF_PROBE_CONSUME_SKB, e);
	parted->path.skb = 0;
	return true;
}

/*
 * UDP splits what came as one skb for a reader that takes single datagrams (udp_rcv_segment()): it frees the skb, and
 * puts its parts, which are new skbs, into the queue of their socket at once.  Their journeys go on from here, see
 * nf_queued_part().
 */
static __always_inline void nf_journey_split(struct nf_cpu *cpu, const struct sk_buff *skb,
					     __u64 number, const struct nf_inflight *e)
{
	const struct skb_shared_info *info = (const void *)(skb->head + skb->end);
	struct nf_split *split = &cpu->split;

	if (likely(!(BPF_CORE_READ(info, gso_type) & NF_SKB_GSO_UDP_L4)))
		return;
	split->skb = number;
	split->begin_ns = e->begin_ns;
	split->rx = e->rx;
	split->iif = skb->skb_iif;
	split->size = BPF_CORE_READ(info, gso_size);
	split->left = nf_segments(skb);
	split->begun = 0;
	split->slot = e->slot;
	split->share = nf_inflight_share(e);
	split->flags = e->flags & (NF_INFLIGHT_SLOW | NF_INFLIGHT_HOPS | NF_INFLIGHT_POLLED);
	cpu->received = NF_PARTS;
}

/* Segments of a followed skb have not come: what they stand for is missing in the histograms from start_xmit on. */
static __always_inline void nf_journey_miss(struct nf_cpu *cpu, enum nf_probe probe,
					    struct nf_cut *cut)
{
	nf_add(&cpu->events[probe][NF_EVENT_OVERWRITTEN_PACKETS],
	       cut->left * nf_weight_of(cut->share.shift, 0).weight);
	cut->left = 0;
}

/*
 * Software GSO cuts a sent skb, for a device that takes no such skbs (validate_xmit_skb()) or in a qdisc: it frees the
 * skb, and its segments, which are new skbs, come to start_xmit.  They are followed because the skb was.  If others are
 * before them in the qdisc, as many of those are followed, which is the same to the histograms.  Of several that are
 * cut before the first segment comes (validate_xmit_skb_list()), all segments count.
 */
static __always_inline void nf_journey_cut(struct nf_cpu *cpu, const struct sk_buff *skb,
					   const struct nf_inflight *e)
{
	__u16 segments = nf_segments(skb), jiffies = bpf_jiffies64();
	__u64 dev = nf_address(skb->dev);
	struct nf_share share = nf_inflight_share(e);
	struct nf_context *context;
	struct nf_cut *cut;

	if (segments < 2)
		return;
	context = nf_context(cpu);
	if (!context)
		return;
	cut = &context->cut;
	if (cut->dev != dev || cut->jiffies != jiffies || cut->share.shift != share.shift) {
		if (unlikely(cut->left))
			nf_journey_miss(cpu, NF_PROBE_CONSUME_SKB, cut);
		cut->dev = dev;
		cut->jiffies = jiffies;
	}
	if (!cut->left) {
		cut->begun = 0;
		cut->share = share;
	}
	cut->left += segments;
}

/*
 * The first skb that is queued on this CPU after one parted: if it is the clone, give it the entry.  Its length is that
 * of the packet, and no other skb has its new head.  Inlined like nf_journey_parts().
 */
static __always_inline void nf_journey_move(struct nf_cpu *cpu, const struct sk_buff *skb,
					    __u64 number)
{
	const struct nf_parted *parted = &cpu->parted;
	const struct nf_inflight *path = &parted->path;
	struct nf_inflight *e = nf_inflight_at(number);
	struct nf_hops *hops = nf_hops_at(number);
	__u8 flags = path->flags;
	__u64 owner;

	if (!e || !hops || path->journey != NF_JOURNEY_RX || !skb->skb_iif ||
	    !nf_inflight_is_renewed(path, skb, path->skb) ||
	    nf_address(skb->dev) + nf_base(cpu) != parted->dev ||
	    path->len != ((skb->len - (skb->network_header - skb->mac_header)) & 0xffffff)) {
		nf_journey_lost(cpu, NF_PROBE_NET_DEV_QUEUE);
		return;
	}
	nf_inflight_close(e);
	owner = nf_exchange(&e->skb, number);
	if (owner == number)
		nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_INVALIDATED);
	else if (owner)
		nf_inflight_overwritten(cpu, NF_PROBE_NET_DEV_QUEUE, e);
	nf_presence_set(number);
	if (parted->hops.skb != path->skb)
		flags &= ~NF_INFLIGHT_HOPS; /* another skb has taken them */
	if (flags & NF_INFLIGHT_HOPS) {
		*hops = parted->hops;
		hops->skb = number;
	}
	e->head = (__u64)skb->head;
	e->begin_ns = path->begin_ns;
	e->rx = path->rx;
	e->sock_queue = 0;
	e->sk = nf_inflight_no_reader(path->begin_ns);
	e->len = path->len;
	e->rank = path->rank;
	e->slot = path->slot;
	e->journey = NF_JOURNEY_RX;
	e->flags = flags;
	nf_inflight_seal(e, number);
	cpu->parted.path.skb = 0;
}

/* A received skb is queued for transmit: its entry continues as that of a forwarded skb. */
static __always_inline void nf_journey_forward(struct nf_inflight *e, __u64 skb, __u64 head,
					       __u32 slot, __u64 now)
{
	struct nf_device_stats *stats = nf_device_stats(slot);
	__u8 polled = e->flags & NF_INFLIGHT_POLLED;
	bool slow = e->flags & NF_INFLIGHT_SLOW; /* a received skb's */

	nf_hops_add(e, skb);
	if (stats)
		slow |= nf_segment_add(stats, NF_SEGMENT_RECEIVE_TO_QUEUE, e->begin_ns, now,
				       nf_inflight_weight(e));
	nf_inflight_fill_tx(e, skb, head, slot, now, 0,
			    NF_INFLIGHT_HOPS | polled | (slow ? NF_INFLIGHT_SLOW : 0),
			    nf_inflight_share(e));
	e->journey = NF_JOURNEY_FORWARD;
	nf_inflight_seal(e, skb);
}

#endif
