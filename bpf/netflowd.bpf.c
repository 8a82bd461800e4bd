/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points, in the order in which a packet passes them.  Each comment
 * names the arguments and the segments that end there; the logic is in the
 * headers.
 *
 * tp_btf programs get the arguments of the tracepoint, with their types.
 */
#include "kernel.h"
#include "registers.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_tracing.h>

#include "settings.h"
#include "compat.h"
#include "maps.h"
#include "cpu.h"
#include "cost.h"
#include "device.h"
#include "inflight.h"
#include "journey.h"
#include "queued.h"
#include "reader.h"
#include "stream.h"
#include "drop.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- receive ----------------------------------------------------------- */

/* irq_handler_entry(int irq, struct irqaction *action) */
static __always_inline void nf_on_irq_handler_entry(struct nf_cpu *cpu)
{
	/* Without its end, the handler would seem to run for ever. */
	if (settings.irq_exit)
		nf_irq_enter(cpu);
}

NF_PROGRAM("tp_btf/irq_handler_entry", nf_irq_handler_entry, __u64, NF_PROBE_IRQ_HANDLER_ENTRY,
	   nf_on_irq_handler_entry(cpu))

/* irq_handler_exit(int irq, struct irqaction *action, int ret) */
NF_PROGRAM("tp_btf/irq_handler_exit", nf_irq_handler_exit, __u64, NF_PROBE_IRQ_HANDLER_EXIT,
	   nf_irq_exit(cpu, ctx[0]))

/* softirq_raise(unsigned int vec) */
static __always_inline void nf_on_softirq_raise(struct nf_cpu *cpu, __u32 vec)
{
	if (vec != NET_RX_SOFTIRQ)
		return;
	nf_count(cpu, NF_PROBE_SOFTIRQ_RAISE, NF_EVENT_HIT);
	nf_net_rx_raise(cpu);
}

NF_PROGRAM("tp_btf/softirq_raise", nf_softirq_raise, __u64, NF_PROBE_SOFTIRQ_RAISE,
	   nf_on_softirq_raise(cpu, ctx[0]))

/* softirq_entry(unsigned int vec) */
NF_PROGRAM("tp_btf/softirq_entry", nf_softirq_entry, __u64, NF_PROBE_SOFTIRQ_ENTRY,
	   nf_softirq_enter(cpu, ctx[0]))

/* softirq_exit(unsigned int vec) */
NF_PROGRAM("tp_btf/softirq_exit", nf_softirq_exit, __u64, NF_PROBE_SOFTIRQ_EXIT,
	   nf_softirq_leave(cpu, ctx[0]))

/* napi_poll(struct napi_struct *napi, int work, int budget) */
static __always_inline void nf_on_napi_poll(__u64 *ctx)
{
	const struct napi_struct *napi = (const void *)ctx[0];
	__s32 work = ctx[1], budget = ctx[2];
	const struct net_device *dev = napi->dev;
	struct nf_device_stats *stats =
		nf_device_stats(dev ? nf_device_slot(dev) : NF_SLOT_BACKLOG);
	/* While stages are attached in windows only, each poll stands for several. */
	__u64 weight = settings.governor ? 1ULL << (live.window_shift & 63) : 1;

	/* A window is over when journeys no longer begin. */
	if (!stats || (settings.governor && live.hold))
		return;
	nf_add(&stats->polls, weight);
	nf_add(&stats->poll_packets, work > 0 ? work * weight : 0);
	if (work >= budget)
		nf_add(&stats->full_budgets, weight);
}

NF_PROGRAM("tp_btf/napi_poll", nf_napi_poll, __u64, NF_PROBE_NAPI_POLL, nf_on_napi_poll(ctx))

/*
 * netif_receive_skb(struct sk_buff *skb): ends the segments up to receive.  The
 * simple program, for a kernel that refuses the usual one, only keeps their times.
 *
 * The tracepoint fires again for an skb that goes up to a bridge.  A device has
 * received this skb before (skb_iif), and its journey continues.  It does not
 * fire for an skb that goes up to a VLAN device (another_round in
 * __netif_receive_skb_core()).
 */

/* Draw a received skb, as `share`; false: it is not followed, unless it was before. */
static __always_inline bool nf_receive_draw(struct nf_cpu *cpu, struct nf_context *context,
					    struct nf_share *share)
{
	__u8 shift = 0;

	if (!settings.governor)
		return true;
	if (nf_in_net_rx(context)) {
		cpu->gate[NF_GATE_RX].packets++;
		shift = context->followed ? context->shift : NF_PASSES;
	} else {
		shift = nf_gate_packet(cpu, NF_GATE_DIRECT);
	}
	share->shift = shift & 15;
	return shift != NF_PASSES && !live.hold;
}

/* Whether a device receives only what was sent on this host, or what another device received. */
static __noinline int nf_receive_is_local(__u32 slot)
{
	const struct nf_device_info *info = bpf_map_lookup_elem(&nf_device_infos, &slot);

	return info && info->local;
}

/*
 * Whether a frame that XDP redirected is at the head of the skb, which a veth built around it
 * (__xdp_build_skb_from_frame()).  The frame has lost its pointers (xdp_scrub_frame()), but its headroom fits.
 */
static __noinline int nf_receive_has_frame(__u64 head, __u32 mac_header)
{
	const struct xdp_frame *frame = (const void *)head;

	if (!bpf_core_field_exists(frame->dev_rx))
		return 0;
	return !BPF_CORE_READ(frame, data) && !BPF_CORE_READ(frame, dev_rx) &&
	       BPF_CORE_READ_BITFIELD_PROBED(frame, headroom) +
			       bpf_core_type_size(struct xdp_frame) ==
		       mac_header;
}

/*
 * Whether an skb of a virtual device is one that was not sent: XDP redirected a frame to its peer.  Another skb can
 * have the memory of such a frame, but what has had a route, or was sent to a veth with NAPI, has slow_gro.
 */
static __always_inline bool nf_receive_was_redirected(const struct sk_buff *skb)
{
	return BPF_CORE_READ_BITFIELD(skb, head_frag) && bpf_core_field_exists(skb->slow_gro) &&
	       !BPF_CORE_READ_BITFIELD(skb, slow_gro) &&
	       nf_receive_has_frame((__u64)skb->head, skb->mac_header);
}

/* Whether the driver runs a program of XDP for what the device receives. */
static __always_inline bool nf_receive_has_xdp(const struct net_device *dev)
{
	return bpf_core_field_exists(dev->xdp_state) &&
	       (dev->xdp_state[XDP_MODE_DRV].prog || dev->xdp_state[XDP_MODE_DRV].link);
}

/* How long the stack may take to give a received skb a new head. */
#define NF_RENEWED_NS 1000000000

/* An skb with an entry.  True: its journey goes on. */
static __always_inline bool nf_receive_known(void *ctx, struct nf_cpu *cpu,
					     const struct sk_buff *skb,
					     const struct net_device *dev, struct nf_inflight *e,
					     __u64 number, __u64 head, __u64 now,
					     struct nf_arrival *by)
{
	if (unlikely(!nf_inflight_holds(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number, head) &&
		     !(e->journey == NF_JOURNEY_RX && now - e->begin_ns < NF_RENEWED_NS &&
		       nf_inflight_is_renewed(e, skb, number)))) {
		nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_INVALIDATED);
	} else if (e->journey == NF_JOURNEY_RX && skb->skb_iif) {
		nf_hops_add(e, number);
		e->head = head;
		e->slot = nf_device_slot(dev);
		nf_inflight_seal(e, number);
		return true;
	} else if (e->journey != NF_JOURNEY_RX && e->start_ns) {
		/* lo or veth passed it to the peer. */
		by->joined = e->start_ns;
		by->this_run = e->origin == nf_origin(cpu);
		by->inherits = true;
		by->inherited = nf_inflight_share(e);
		nf_journey_transmitted(ctx, cpu, NF_PROBE_NETIF_RECEIVE_SKB, skb, e, now);
		nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, nf_journey_tx_event(e));
	} else {
		/* A tunnel gives a received skb to its device, maybe with a new head (GSO). */
		by->inherits = e->journey == NF_JOURNEY_RX;
		by->inherited = nf_inflight_share(e);
		nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_INVALIDATED);
	}
	return false;
}

/*
 * Whether the skb is followed; `drawn`: it would be if the device draws.  What a local device receives was drawn
 * before: if that was not followed, neither is this.  But a veth with a program of XDP copies it to another skb, and
 * XDP redirects what a card has received: there, it is not known what was drawn before.
 */
static __always_inline bool nf_receive_begins(const struct sk_buff *skb,
					      const struct net_device *dev, __u32 slot, bool drawn,
					      struct nf_arrival *by)
{
	bool local = nf_receive_is_local(slot), xdp = nf_receive_has_xdp(dev);

	if (local && !by->joined && !by->inherits)
		xdp |= nf_receive_was_redirected(skb);
	by->unknown = xdp && !by->joined;
	if (!settings.governor)
		return true;
	if (!local || xdp) {
		by->inherits = false;
		return drawn;
	}
	by->share = by->inherited;
	return by->inherits && !live.hold;
}

static __always_inline void nf_receive(__u64 *ctx, struct nf_cpu *cpu, bool simple)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head, now;
	struct nf_context *context = nf_context(cpu);
	struct nf_arrival by = {.simple = simple};
	const struct net_device *dev;
	struct nf_inflight *e;
	bool drawn, known;
	__u32 slot;

	if (unlikely(!context))
		return;
	drawn = nf_receive_draw(cpu, context, &by.share);
	if (!drawn && !nf_inflight_may_have(number)) {
		nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_PASSED);
		return;
	}
	e = nf_inflight_at(number);
	if (unlikely(!e))
		return;
	now = bpf_ktime_get_ns();
	dev = skb->dev;
	known = e->skb == number;
	if (known && nf_receive_known(ctx, cpu, skb, dev, e, number, head, now, &by))
		return;
	slot = nf_device_slot(dev);
	if (!nf_receive_begins(skb, dev, slot, drawn, &by)) {
		nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_PASSED);
		if (known)
			nf_inflight_free(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number);
		return;
	}
	if (!by.inherits)
		by.share.rank = nf_rank_next(cpu, &context->ranks);
	nf_inflight_take(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number, known);
	nf_journey_received(cpu, context, e, skb, dev, number, head, slot, &by, now);
	if (settings.governor && !nf_in_net_rx(context))
		nf_gate_clock(&cpu->gate[NF_GATE_DIRECT], now);
}

NF_PROGRAM("tp_btf/netif_receive_skb", nf_netif_receive_skb, __u64, NF_PROBE_NETIF_RECEIVE_SKB,
	   nf_receive(ctx, cpu, false))
NF_PROGRAM("tp_btf/netif_receive_skb", nf_netif_receive_skb_simple, __u64,
	   NF_PROBE_NETIF_RECEIVE_SKB, nf_receive(ctx, cpu, true))

/*
 * __udp_enqueue_schedule_skb(struct sock *sk, struct sk_buff *skb): a datagram is put into the
 * queue of its socket, see queued.h.
 */
static __always_inline void nf_on_udp_enqueue(struct nf_cpu *cpu, const struct sock *sk,
					      const struct sk_buff *skb)
{
	if (!nf_stays_alone())
		nf_queued_enqueue(cpu, sk, skb);
}

NF_PROGRAM("fentry/__udp_enqueue_schedule_skb", nf_udp_enqueue_schedule_skb_fentry, __u64,
	   NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB,
	   nf_on_udp_enqueue(cpu, (const void *)ctx[0], (const void *)ctx[1]))

/* sk_data_ready(const struct sock *sk): ends receive→sock_queue, see queued.h; for UDP see reader.h. */
static __always_inline void nf_on_sk_data_ready(struct nf_cpu *cpu, const struct sock *sk)
{
	bool any = nf_queued(cpu, sk);

	if (settings.udp_reader && any && nf_reader_is_udp(sk))
		nf_reader_data_ready(cpu, sk);
}

NF_PROGRAM("tp_btf/sk_data_ready", nf_sk_data_ready, __u64, NF_PROBE_SK_DATA_READY,
	   nf_on_sk_data_ready(cpu, (const void *)ctx[0]))

/* Before 6.3 (40e0b0908142) without the tracepoint: the default sk->sk_data_ready itself. */
static __always_inline void nf_on_sock_def_readable(struct nf_cpu *cpu, const struct sock *sk)
{
	if (!nf_stays_alone())
		nf_queued(cpu, sk);
}

NF_PROGRAM("fentry/sock_def_readable", nf_sk_data_ready_fentry, __u64, NF_PROBE_SK_DATA_READY,
	   nf_on_sock_def_readable(cpu, (const void *)ctx[0]))

/* The same function, for kernels that refuse fentry. */
NF_PROGRAM("kprobe/sock_def_readable", nf_sk_data_ready_kprobe, struct pt_regs,
	   NF_PROBE_SK_DATA_READY, nf_queued_untyped(cpu, (const void *)PT_REGS_PARM1(ctx)))

/* sched_waking(struct task_struct *p): the reader is woken, if an skb was queued just before. */
static __always_inline void nf_on_sched_waking(struct nf_cpu *cpu, const struct task_struct *task)
{
	if (!cpu->ready)
		return;
	nf_count(cpu, NF_PROBE_SCHED_WAKING, NF_EVENT_HIT);
	nf_journey_waking(cpu, task->pid);
}

NF_PROGRAM("tp_btf/sched_waking", nf_sched_waking, __u64, NF_PROBE_SCHED_WAKING,
	   nf_on_sched_waking(cpu, (const void *)ctx[0]))

/*
 * sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, …):
 * the woken reader gets on a CPU.
 */
static __always_inline void nf_on_sched_switch(struct nf_cpu *cpu, const struct task_struct *next)
{
	cpu->ready = 0;
	nf_journey_running(next->pid);
}

NF_PROGRAM("tp_btf/sched_switch", nf_sched_switch, __u64, NF_PROBE_SCHED_SWITCH,
	   nf_on_sched_switch(cpu, (const void *)ctx[2]))

/* Free the entry of an skb that is copied to a reader; true: this ends a receive journey. */
static __always_inline bool nf_copied(struct nf_cpu *cpu, struct nf_inflight *e,
				      const struct nf_inflight *path, const struct sk_buff *skb,
				      __u64 number)
{
	if (!nf_inflight_holds(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, path, number,
			       (__u64)skb->head) ||
	    (path->journey == NF_JOURNEY_RX && !skb->skb_iif)) {
		nf_inflight_end(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, e, number,
				NF_EVENT_INVALIDATED);
		return false;
	}
	return path->journey == NF_JOURNEY_RX &&
	       nf_inflight_end(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, e, number,
			       NF_EVENT_DELIVERED);
}

/*
 * skb_copy_datagram_iovec(const struct sk_buff *skb, int len): ends
 * receive→copy and the total.
 *
 * AF_UNIX and netlink skbs also pass here and consume_skb.  No device received
 * them (skb_iif), so a stale entry is not taken for theirs.  An skb that the
 * reader of a tun device copies passes here too; its transmit ends when the skb
 * is freed.
 */
static __always_inline void nf_on_skb_copy_datagram_iovec(__u64 *ctx, struct nf_cpu *cpu)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb);
	struct nf_inflight *e;
	struct nf_inflight path;
	bool delivered = false;
	__u32 merged;

	if (!nf_inflight_may_have(number)) {
		nf_stream_copied(cpu, skb, ctx[1], 0);
		return;
	}
	e = nf_inflight_at(number);
	if (unlikely(!e))
		return;
	if (e->skb == number) {
		path = *e;
		delivered = nf_copied(cpu, e, &path, skb, number);
	}
	merged = nf_stream_copied(cpu, skb, ctx[1], delivered ? &path : 0);
	if (delivered)
		nf_journey_delivered(ctx, cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, skb, &path, 0,
				     merged, NF_READER_IN_TASK);
}

NF_PROGRAM("tp_btf/skb_copy_datagram_iovec", nf_skb_copy_datagram_iovec, __u64,
	   NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, nf_on_skb_copy_datagram_iovec(ctx, cpu))

/* sock_recv_length(struct sock *sk, int ret, int flags): ends receive→copy of UDP, see reader.h. */
static __always_inline void nf_on_sock_recv_length(__u64 *ctx, struct nf_cpu *cpu)
{
	const struct sock *sk = (const void *)ctx[0];
	__s32 length = ctx[1], flags = ctx[2];

	if (length < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || !nf_reader_is_udp(sk))
		return;
	nf_count(cpu, NF_PROBE_SOCK_RECV_LENGTH, NF_EVENT_HIT);
	nf_reader_has_read(ctx, cpu, sk);
}

NF_PROGRAM("tp_btf/sock_recv_length", nf_sock_recv_length, __u64, NF_PROBE_SOCK_RECV_LENGTH,
	   nf_on_sock_recv_length(ctx, cpu))

/*
 * skb_attempt_defer_free(struct sk_buff *skb), since 5.17 (68822bdf76f1): ends receive→copy of
 * UDP readers since 6.18 (6471658dc66c), and of TCP readers that do not copy (splice).
 *
 * A reader is done with the skb, and gives it to the CPU that allocated it.  The same function
 * frees completed transmits and other skbs, which have been in no socket's queue.  On 7.3 close()
 * frees the queue of a TCP socket with it: a FIN without data was not read, but unread data look
 * like data that were spliced.  A datagram that a second reader peeks at passes
 * consume_skb instead.  skb_consume_udp() also names the skb, but compilers put it into
 * udp_recvmsg(), and then only IPv6 passes its entry.
 */
static __always_inline void nf_deferred(void *ctx, struct nf_cpu *cpu, const struct sk_buff *skb,
					enum nf_reader_context context)
{
	__u64 number = nf_address(skb);
	struct nf_inflight *e = nf_inflight_may_have(number) ? nf_inflight_at(number) : 0, path;
	bool udp, read;

	if (!e || e->skb != number || e->journey != NF_JOURNEY_RX)
		return;
	nf_count(cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, NF_EVENT_HIT);
	path = *e;
	udp = nf_queued_udp(skb);
	read = udp || skb->len;
	if (!path.sock_queue && !udp)
		return;
	if (!nf_inflight_holds(cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, &path, number,
			       (__u64)skb->head) ||
	    !nf_inflight_end(cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, e, number,
			     read ? NF_EVENT_DELIVERED : NF_EVENT_CONSUMED))
		return;
	if (read && !nf_in_softirq(cpu))
		nf_journey_delivered(ctx, cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, skb, &path, 0, 0,
				     context);
}

NF_PROGRAM("fentry/skb_attempt_defer_free", nf_skb_attempt_defer_free_fentry, __u64,
	   NF_PROBE_SKB_ATTEMPT_DEFER_FREE,
	   nf_deferred(ctx, cpu, (const void *)ctx[0], NF_READER_PREEMPTIBLE))

/*
 * The same for kernels with CONFIG_PREEMPTION.  They can preempt a task in a program of fentry,
 * and then skip this program for all other tasks on the CPU.  In a program of a kprobe they cannot.
 */
NF_PROGRAM("kprobe/skb_attempt_defer_free", nf_skb_attempt_defer_free_kprobe, struct pt_regs,
	   NF_PROBE_SKB_ATTEMPT_DEFER_FREE,
	   nf_deferred(ctx, cpu,
		       nf_rdonly_cast((const void *)PT_REGS_PARM1(ctx),
				      bpf_core_type_id_kernel(struct sk_buff)),
		       NF_READER_IN_TASK))

/* ---- transmit ---------------------------------------------------------- */

/*
 * The copies of an skb that a bridge sends to several ports are clones of the last one that was received: they
 * are followed if it is.
 */
static __always_inline bool nf_queue_draw_copy(const struct nf_cpu *cpu, __u64 head,
					       struct nf_share *share)
{
	__u64 of = cpu->received;
	const struct nf_inflight *e = of ? nf_inflight_at(of) : 0;

	if (!e || e->skb != of || e->head != head)
		return false;
	*share = nf_inflight_share(e);
	return !live.hold;
}

/* Draw an skb that is sent, as `share`; false: it is not followed, unless it was before. */
static __always_inline bool nf_queue_draw(struct nf_cpu *cpu, const struct sk_buff *skb, __u64 head,
					  struct nf_share *share)
{
	const struct nf_context *context = nf_context(cpu);
	__u32 inner = context ? context->xmit_depth - 1 : NF_XMIT_DEPTH;
	__u8 shift;

	if (!settings.governor)
		return true;
	/* Inside start_xmit of another device (VLAN, bond, tunnel): its packet was drawn. */
	if (inner < NF_XMIT_DEPTH) {
		*share = context->xmit[inner].share;
		return context->xmit[inner].start_ns && !live.hold;
	}
	/* A forwarded skb was drawn when it was received. */
	if (skb->skb_iif)
		return nf_queue_draw_copy(cpu, head, share);
	shift = nf_gate_packet(cpu, NF_GATE_TX);
	share->shift = shift & 15;
	return shift != NF_PASSES && !live.hold;
}

/*
 * Whether the entry is that of this skb: it has the same head or, inside start_xmit or since it was received, got a
 * new one.
 */
static __always_inline bool nf_queue_is_same(struct nf_cpu *cpu, const struct nf_inflight *e,
					     const struct sk_buff *skb, __u64 number, __u64 head,
					     __u64 now)
{
	const struct nf_context *context = nf_context(cpu);

	if (likely(nf_inflight_holds(cpu, NF_PROBE_NET_DEV_QUEUE, e, number, head)))
		return true;
	if (e->journey != NF_JOURNEY_RX)
		return context && nf_journey_in_start_xmit(context, number) &&
		       nf_inflight_intact(e, number);
	return skb->skb_iif && now - e->begin_ns < NF_RENEWED_NS &&
	       nf_inflight_is_renewed(e, skb, number);
}

/* The skb is followed, and comes to start_xmit next, unless a qdisc keeps it. */
static __always_inline void nf_queue_keep(struct nf_cpu *cpu, __u64 number)
{
	struct nf_context *context = nf_context(cpu);

	if (likely(context))
		context->queued = number;
}

/* net_dev_queue(struct sk_buff *skb): ends receive→queue of a forwarded skb. */
static __always_inline void nf_on_net_dev_queue(struct nf_cpu *cpu, const struct sk_buff *skb)
{
	__u64 number = nf_address(skb), head = (__u64)skb->head, now;
	struct nf_share share = {};
	struct nf_inflight *e;
	bool drawn, known;
	__u32 slot;

	if (unlikely(cpu->parted.path.skb))
		nf_journey_move(cpu, skb, number);
	drawn = nf_queue_draw(cpu, skb, head, &share);
	if (!drawn && !nf_inflight_may_have(number)) {
		nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_PASSED);
		return;
	}
	e = nf_inflight_at(number);
	if (unlikely(!e))
		return;
	now = bpf_ktime_get_ns();
	slot = nf_device_slot(skb->dev);
	known = e->skb == number;
	if (unlikely(known)) {
		if (!nf_queue_is_same(cpu, e, skb, number, head, now)) {
			/* Its reader may be about to end it, see nf_reader_end(): one of both does. */
			nf_inflight_end(cpu, NF_PROBE_NET_DEV_QUEUE, e, number,
					NF_EVENT_INVALIDATED);
			known = false;
		} else if (e->journey == NF_JOURNEY_RX && skb->skb_iif) {
			nf_journey_forward(e, number, head, slot, now);
			nf_queue_keep(cpu, number);
			return;
		} else if (e->journey != NF_JOURNEY_RX && e->start_ns) {
			/* Inside start_xmit of a stacked device: VLAN, bond. */
			nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, nf_journey_tx_event(e));
		} else {
			nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_INVALIDATED);
		}
	}
	if (unlikely(!drawn)) {
		nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_PASSED);
		if (known)
			nf_inflight_free(cpu, NF_PROBE_NET_DEV_QUEUE, e, number);
		return;
	}
	nf_inflight_take(cpu, NF_PROBE_NET_DEV_QUEUE, e, number, known);
	if (settings.governor) {
		__u32 alone = 0;

		share.rank = nf_rank_next(cpu, &alone);
		nf_gate_clock(&cpu->gate[NF_GATE_TX], now);
	}
	nf_inflight_fill_tx(e, number, head, slot, now, 0, 0, share);
	nf_queue_keep(cpu, number);
}

NF_PROGRAM("tp_btf/net_dev_queue", nf_net_dev_queue, __u64, NF_PROBE_NET_DEV_QUEUE,
	   nf_on_net_dev_queue(cpu, (const void *)ctx[0]))

/* Keep the transmit until start_xmit returns; `start_ns` is 0 if it is not followed. */
static __always_inline void nf_start_push(struct nf_context *context, __u64 number, __u64 start_ns,
					  __u32 slot, struct nf_share share)
{
	__u32 depth;

	if (unlikely(!context))
		return;
	context->queued = 0;
	depth = context->xmit_depth;
	if (likely(depth < NF_XMIT_DEPTH)) {
		context->xmit[depth].skb = number;
		context->xmit[depth].start_ns = start_ns;
		context->xmit[depth].slot = slot;
		context->xmit[depth].share = share;
		context->xmit_depth = depth + 1;
	}
}

/* Whether the next skb at start_xmit of this device is a segment of a followed skb.  Most come within a jiffy. */
static __always_inline bool nf_start_is_segment(struct nf_cpu *cpu, struct nf_context *context,
						const struct net_device *dev)
{
	struct nf_cut *cut;

	if (!context || likely(!context->cut.left))
		return false;
	cut = &context->cut;
	/* The qdisc keeps them, or the driver's queue was full and the kernel has put them back. */
	if ((__u16)((__u16)bpf_jiffies64() - cut->jiffies) > 1)
		nf_journey_miss(cpu, NF_PROBE_NET_DEV_START_XMIT, cut);
	return cut->left && cut->dev == nf_address(dev) && !live.hold;
}

/*
 * The share of a segment.  It can be one of several segments itself, which the device takes (partial GSO), or a copy of
 * all of them.
 */
static __always_inline struct nf_share nf_start_take_segment(struct nf_cut *cut,
							     const struct sk_buff *skb)
{
	__u32 segments = nf_segments(skb);

	cut->left = cut->left > segments ? cut->left - segments : 0;
	return nf_share_of_part(cut->share, &cut->begun);
}

/*
 * Begin a journey at start_xmit of an skb that was not cut just now: its entry is lost, or the qdisc has kept it since.
 * While not all are followed, this skb may as well have been passed over at net_dev_queue, and must not be drawn again.
 */
static __always_inline bool nf_start_begins(const struct nf_cpu *cpu)
{
	return !settings.governor ||
	       (!live.hold && !live.window_shift && nf_gate_is_open(&cpu->gate[NF_GATE_TX]));
}

/* Whether this skb was followed at net_dev_queue, just now on this CPU. */
static __always_inline bool nf_start_was_queued(const struct nf_context *context, __u64 number)
{
	return context && context->queued == number;
}

/*
 * Whether the entry is that of this skb, which may have got a new head since net_dev_queue: for a VLAN tag, or
 * linearized.  A segment of GSO has not passed net_dev_queue.
 */
static __always_inline bool nf_start_is_same(const struct nf_context *context,
					     const struct nf_inflight *e, const struct sk_buff *skb,
					     __u64 number, __u64 head)
{
	if (likely(e->head == head))
		return nf_inflight_intact(e, number);
	return nf_start_was_queued(context, number) && nf_inflight_is_renewed(e, skb, number);
}

/*
 * net_dev_start_xmit(const struct sk_buff *skb, const struct net_device *dev):
 * ends queue→start_xmit.
 */
static __always_inline void nf_on_net_dev_start_xmit(struct nf_cpu *cpu, const struct sk_buff *skb,
						     const struct net_device *dev)
{
	__u64 number = nf_address(skb), head = (__u64)skb->head, now = 0;
	struct nf_context *context = nf_context(cpu);
	struct nf_device_stats *stats;
	struct nf_share share = {};
	struct nf_inflight *e = 0;
	bool known, segment;
	__u32 slot = 0;

	segment = nf_start_is_segment(cpu, context, dev);
	if (nf_inflight_may_have(number) || segment || nf_start_begins(cpu))
		e = nf_inflight_at(number);
	known = e && e->skb == number;
	if (likely(known && e->journey >= NF_JOURNEY_TX && !e->start_ns &&
		   nf_start_is_same(context, e, skb, number, head))) {
		e->head = head;
		now = bpf_ktime_get_ns();
		slot = e->slot;
		share = nf_inflight_share(e);
		stats = nf_device_stats(slot);
		if (likely(stats)) {
			nf_device_refresh(stats, slot, dev, now);
			if (nf_segment_add(stats, NF_SEGMENT_QUEUE_TO_START, e->begin_ns, now,
					   nf_inflight_weight(e)))
				e->flags |= NF_INFLIGHT_SLOW;
		}
		e->origin = nf_origin(cpu);
		nf_inflight_start(e, number, now);
		cpu->wants_entry = 1;
	} else if (e && (segment || nf_start_begins(cpu))) {
		now = bpf_ktime_get_ns();
		slot = nf_device_slot(dev);
		if (segment)
			share = nf_start_take_segment(&context->cut, skb);
		if (known)
			nf_count(cpu, NF_PROBE_NET_DEV_START_XMIT, NF_EVENT_INVALIDATED);
		/* Its entry is gone: this journey lacks queue→start_xmit and the total. */
		if (unlikely(nf_start_was_queued(context, number)))
			nf_count(cpu, NF_PROBE_NET_DEV_START_XMIT, NF_EVENT_OVERWRITTEN_PACKETS);
		nf_inflight_take(cpu, NF_PROBE_NET_DEV_START_XMIT, e, number, known);
		nf_inflight_fill_tx(e, number, head, slot, now, now, NF_INFLIGHT_NO_QUEUE, share);
		e->origin = nf_origin(cpu);
		cpu->wants_entry = 1;
	} else if (known) {
		nf_inflight_end(cpu, NF_PROBE_NET_DEV_START_XMIT, e, number, NF_EVENT_INVALIDATED);
	}
	nf_start_push(context, number, now, slot, share);
}

NF_PROGRAM("tp_btf/net_dev_start_xmit", nf_net_dev_start_xmit, __u64, NF_PROBE_NET_DEV_START_XMIT,
	   nf_on_net_dev_start_xmit(cpu, (const void *)ctx[0], (const void *)ctx[1]))

/*
 * net_dev_xmit(struct sk_buff *skb, int rc, struct net_device *dev, unsigned int len):
 * ends start_xmit→xmit and the totals.
 *
 * By now the skb may be freed and even reused.  So only its address is used, and
 * its start time is read from the stack of transmits (nf_context.xmit).
 */
static __always_inline void nf_on_net_dev_xmit(struct nf_cpu *cpu, const struct sk_buff *skb)
{
	struct nf_context *context = nf_context(cpu);
	__u64 number = nf_address(skb), now, start;
	struct nf_device_stats *stats;
	struct nf_xmit_frame *frame;
	struct nf_inflight *e, path;
	__u32 depth;
	bool slow;

	if (unlikely(!context))
		return;
	depth = context->xmit_depth - 1;
	if (unlikely(depth >= NF_XMIT_DEPTH || context->xmit[depth].skb != number)) {
		/* It began before the programs were attached, or the kernel skipped the start. */
		context->xmit_depth = 0;
		return;
	}
	context->xmit_depth = depth;
	frame = &context->xmit[depth];
	start = frame->start_ns;
	if (!start)
		return;
	now = bpf_ktime_get_ns();
	stats = nf_device_stats(frame->slot);
	if (unlikely(!stats))
		return;
	slow = nf_segment_add(stats, NF_SEGMENT_START_TO_XMIT, start, now,
			      nf_weight_of(frame->share.shift, frame->share.rank));
	e = nf_inflight_at(number);
	if (!e || e->skb != number)
		return;
	path = *e;
	/* At once: a veth's peer can receive the skb on another CPU, and the entry is its. */
	if (!nf_replace(&e->xmit_ns, NF_XMIT_PENDING(start), now))
		return;
	if (unlikely(slow | nf_journey_xmit_total(stats, &path, number, now)))
		nf_replace(&e->xmit_ns, now, now | NF_XMIT_SLOW);
}

NF_PROGRAM("tp_btf/net_dev_xmit", nf_net_dev_xmit, __u64, NF_PROBE_NET_DEV_XMIT,
	   nf_on_net_dev_xmit(cpu, (const void *)ctx[0]))

/* An skb that was sent: its driver is done with it, or software GSO has cut it before. */
static __always_inline void nf_consume_sent(void *ctx, struct nf_cpu *cpu,
					    const struct sk_buff *skb, struct nf_inflight *path)
{
	if (settings.governor && unlikely(!path->start_ns))
		nf_journey_cut(cpu, skb, path);
	nf_journey_freed(ctx, cpu, NF_PROBE_CONSUME_SKB, skb, path);
}

/*
 * consume_skb(struct sk_buff *skb, void *location): ends xmit→free.
 *
 * It also ends receive→copy of a UDP reader of a linear skb, which does not pass
 * skb_copy_datagram_iovec (copy_linear_skb()).  Up to 6.17 the reader frees the
 * skb in its own context, right after its copy; for later kernels see reader.h.
 * A received skb that was in no socket's queue was for the kernel itself (ICMP,
 * ARP), in whatever context: threaded NAPI, busy polling and the writer of a tun
 * device serve packets outside a softirq.
 */
static __always_inline void nf_on_consume_skb(void *ctx, struct nf_cpu *cpu,
					      const struct sk_buff *skb)
{
	__u64 number = nf_address(skb);
	struct nf_inflight *e, path;
	enum nf_event event;
	bool softirq, udp, timed = false;

	if (!nf_inflight_may_have(number))
		return;
	e = nf_inflight_at(number);
	if (!e || e->skb != number)
		return;
	path = *e;
	softirq = nf_in_softirq(cpu);
	if (!nf_inflight_holds(cpu, NF_PROBE_CONSUME_SKB, &path, number, (__u64)skb->head)) {
		event = NF_EVENT_INVALIDATED;
	} else if (path.journey >= NF_JOURNEY_TX) {
		event = nf_journey_tx_event(&path);
	} else if (!skb->skb_iif) {
		event = NF_EVENT_INVALIDATED;
	} else {
		udp = nf_queued_udp(skb);
		timed = settings.udp_reader && path.sk != nf_inflight_no_reader(path.begin_ns) &&
			!(path.flags & NF_INFLIGHT_GAP);
		timed |= udp && !softirq && !settings.udp_deferred;
		event = timed || udp || path.sock_queue ? NF_EVENT_DELIVERED : NF_EVENT_CONSUMED;
		if (event == NF_EVENT_CONSUMED && nf_journey_parts(cpu, skb, number, e, &path))
			return;
	}
	if (!nf_inflight_end(cpu, NF_PROBE_CONSUME_SKB, e, number, event))
		return;
	if (event == NF_EVENT_CONSUMED)
		nf_journey_split(cpu, skb, number, &path);
	if (timed)
		nf_journey_delivered(ctx, cpu, NF_PROBE_CONSUME_SKB, skb, &path, 0, 0,
				     softirq ? NF_READER_IN_SOFTIRQ : NF_READER_IN_TASK);
	else if (event == NF_EVENT_TRANSMITTED || event == NF_EVENT_FORWARDED)
		nf_consume_sent(ctx, cpu, skb, &path);
}

NF_PROGRAM("tp_btf/consume_skb", nf_consume_skb, __u64, NF_PROBE_CONSUME_SKB,
	   nf_on_consume_skb(ctx, cpu, (const void *)ctx[0]))

/* ---- drop -------------------------------------------------------------- */

/*
 * kfree_skb(struct sk_buff *skb, void *location, enum skb_drop_reason reason,
 * struct sock *rx_sk): counts the drop and records it.
 */
static __always_inline void nf_on_kfree_skb(__u64 *ctx, struct nf_cpu *cpu)
{
	const struct sk_buff *skb = (const void *)ctx[0];

	if (unlikely(cpu->received == NF_PARTS))
		nf_queued_part_dropped(cpu, skb);
	if (!nf_journey_completed(ctx, cpu, skb, ctx[1], NF_KFREE_SKB_REASON(ctx)))
		nf_drop(ctx, cpu, skb, NF_KFREE_SKB_RX_SK(ctx), ctx[1], NF_KFREE_SKB_REASON(ctx));
}

NF_PROGRAM("tp_btf/kfree_skb", nf_kfree_skb, __u64, NF_PROBE_KFREE_SKB, nf_on_kfree_skb(ctx, cpu))

/* ---- cost -------------------------------------------------------------- */

/*
 * An empty program, attached only while the kernel's program statistics are on.
 * The time that they show for it is the cost of reading the clock for them.
 */
SEC("tp_btf/softirq_entry")
int nf_empty(__u64 *ctx)
{
	return 0;
}

/*
 * What a hook costs, see bpf/cost.h.  They are attached in this order for a few milliseconds when the
 * daemon starts, and run in this order at each hit.
 */
#define NF_HOOK(name, statement)                    \
	SEC("tp_btf/consume_skb")                   \
	int name(__u64 *ctx)                        \
	{                                           \
		struct nf_cpu *cpu = nf_this_cpu(); \
                                                    \
		if (cpu)                            \
			statement;                  \
		return 0;                           \
	}

#define NF_HOOK_EMPTY(name)       \
	SEC("tp_btf/consume_skb") \
	int name(__u64 *ctx)      \
	{                         \
		return 0;         \
	}

NF_HOOK(nf_hook_first, nf_hook_begin(&cpu->hook))
NF_HOOK(nf_hook_second, nf_hook_least(&cpu->hook, &cpu->hook.gap_ns))
NF_HOOK_EMPTY(nf_hook_1)
NF_HOOK_EMPTY(nf_hook_2)
NF_HOOK_EMPTY(nf_hook_3)
NF_HOOK_EMPTY(nf_hook_4)
NF_HOOK_EMPTY(nf_hook_5)
NF_HOOK_EMPTY(nf_hook_6)
NF_HOOK_EMPTY(nf_hook_7)
NF_HOOK_EMPTY(nf_hook_8)
NF_HOOK(nf_hook_third, nf_hook_least(&cpu->hook, &cpu->hook.hooks_ns))
