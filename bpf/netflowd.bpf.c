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
SEC("tp_btf/irq_handler_entry")
int nf_irq_handler_entry(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_hit(NF_PROBE_IRQ_HANDLER_ENTRY);

	/* Without its end, the handler would seem to run for ever. */
	if (!cpu || !settings.irq_exit)
		return 0;
	cpu->irq_ns = bpf_ktime_get_ns();
	return 0;
}

/* irq_handler_exit(int irq, struct irqaction *action, int ret) */
SEC("tp_btf/irq_handler_exit")
int nf_irq_handler_exit(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_hit(NF_PROBE_IRQ_HANDLER_EXIT);

	if (!cpu)
		return 0;
	nf_irq_exit(cpu, ctx[0]);
	return 0;
}

/* softirq_raise(unsigned int vec) */
SEC("tp_btf/softirq_raise")
int nf_softirq_raise(__u64 *ctx)
{
	struct nf_cpu *cpu;

	if ((__u32)ctx[0] != NET_RX_SOFTIRQ)
		return 0;
	cpu = nf_hit(NF_PROBE_SOFTIRQ_RAISE);
	if (!cpu)
		return 0;
	nf_net_rx_raise(cpu);
	return 0;
}

/* softirq_entry(unsigned int vec) */
SEC("tp_btf/softirq_entry")
int nf_softirq_entry(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SOFTIRQ_ENTRY);

	if (!cpu)
		return 0;
	nf_softirq_enter(cpu, ctx[0]);
	return 0;
}

/* softirq_exit(unsigned int vec) */
SEC("tp_btf/softirq_exit")
int nf_softirq_exit(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SOFTIRQ_EXIT);

	if (!cpu)
		return 0;
	nf_softirq_leave(cpu, ctx[0]);
	return 0;
}

/* napi_poll(struct napi_struct *napi, int work, int budget) */
SEC("tp_btf/napi_poll")
int nf_napi_poll(__u64 *ctx)
{
	const struct napi_struct *napi = (const void *)ctx[0];
	__s32 work = ctx[1], budget = ctx[2];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_NAPI_POLL);
	const struct net_device *dev;
	struct nf_device_stats *stats;

	if (!cpu)
		return 0;
	dev = napi->dev;
	stats = nf_device_stats(dev ? nf_device_slot(dev) : NF_SLOT_BACKLOG);
	if (!stats)
		return 0;
	nf_add(&stats->polls, 1);
	nf_add(&stats->poll_packets, work > 0 ? work : 0);
	if (work >= budget)
		nf_add(&stats->full_budgets, 1);
	return 0;
}

/*
 * netif_receive_skb(struct sk_buff *skb): ends the segments up to receive.  The
 * simple program, for a kernel that refuses the usual one, only keeps their times.
 *
 * The tracepoint fires again for an skb that goes up to a bridge.  A device has
 * received this skb before (skb_iif), and its journey continues.  It does not
 * fire for an skb that goes up to a VLAN device (another_round in
 * __netif_receive_skb_core()).
 */
static __always_inline int nf_receive(__u64 *ctx, bool simple)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns();
	struct nf_cpu *cpu = nf_hit(NF_PROBE_NETIF_RECEIVE_SKB);
	struct nf_context *context;
	struct nf_inflight *e;
	__u64 joined = 0;
	__u32 slot;
	bool known;

	if (!cpu)
		return 0;
	context = nf_context(cpu);
	if (!context)
		return 0;
	e = nf_inflight_at(number);
	if (!e)
		return 0;
	slot = nf_device_slot(skb->dev);
	known = e->skb == number;
	if (known) {
		if (!nf_inflight_holds(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number, head)) {
			nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_INVALIDATED);
		} else if (e->journey == NF_JOURNEY_RX && skb->skb_iif) {
			nf_hops_add(e, number);
			e->slot = slot;
			nf_inflight_seal(e, number);
			return 0;
		} else if (e->journey != NF_JOURNEY_RX && e->start_ns) {
			/* lo or veth passed it to the peer. */
			joined = e->start_ns;
			nf_journey_transmitted(ctx, cpu, NF_PROBE_NETIF_RECEIVE_SKB, skb, e, now);
			nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, nf_journey_tx_event(e));
		} else {
			nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_INVALIDATED);
		}
	}
	nf_inflight_take(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number, known);
	nf_journey_received(cpu, context, e, skb, number, head, slot, joined, now, simple);
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int nf_netif_receive_skb(__u64 *ctx)
{
	return nf_receive(ctx, false);
}

SEC("tp_btf/netif_receive_skb")
int nf_netif_receive_skb_simple(__u64 *ctx)
{
	return nf_receive(ctx, true);
}

/*
 * __udp_enqueue_schedule_skb(struct sock *sk, struct sk_buff *skb): a datagram is put into the
 * queue of its socket, see queued.h.
 */
SEC("fentry/__udp_enqueue_schedule_skb")
int nf_udp_enqueue_schedule_skb_fentry(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	const struct sk_buff *skb = (const void *)ctx[1];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB);

	if (cpu)
		nf_queued_enqueue(cpu, sk, skb);
	return 0;
}

/* sk_data_ready(const struct sock *sk): ends receive→sock_queue, see queued.h; for UDP see reader.h. */
SEC("tp_btf/sk_data_ready")
int nf_sk_data_ready(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SK_DATA_READY);

	if (!cpu)
		return 0;
	nf_queued(cpu, sk);
	if (settings.udp_reader && nf_reader_is_udp(sk))
		nf_reader_data_ready(sk);
	return 0;
}

/* Before 6.3 (40e0b0908142) without the tracepoint: the default sk->sk_data_ready itself. */
SEC("fentry/sock_def_readable")
int nf_sk_data_ready_fentry(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SK_DATA_READY);

	if (!cpu)
		return 0;
	nf_queued(cpu, sk);
	return 0;
}

/* The same function, for kernels that refuse fentry. */
SEC("kprobe/sock_def_readable")
int nf_sk_data_ready_kprobe(struct pt_regs *ctx)
{
	const struct sock *sk = (const void *)PT_REGS_PARM1(ctx);
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SK_DATA_READY);

	if (!cpu)
		return 0;
	nf_queued_untyped(cpu, sk);
	return 0;
}

/* sched_waking(struct task_struct *p): the reader is woken, if an skb was queued just before. */
SEC("tp_btf/sched_waking")
int nf_sched_waking(__u64 *ctx)
{
	const struct task_struct *task = (const void *)ctx[0];
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu || !cpu->ready)
		return 0;
	nf_count(cpu, NF_PROBE_SCHED_WAKING, NF_EVENT_HIT);
	nf_journey_waking(cpu, task->pid);
	return 0;
}

/*
 * sched_switch(bool preempt, struct task_struct *prev, struct task_struct *next, …):
 * the woken reader gets on a CPU.
 */
SEC("tp_btf/sched_switch")
int nf_sched_switch(__u64 *ctx)
{
	const struct task_struct *next = (const void *)ctx[2];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SCHED_SWITCH);

	if (!cpu)
		return 0;
	cpu->ready = 0;
	nf_journey_running(next->pid);
	return 0;
}

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
SEC("tp_btf/skb_copy_datagram_iovec")
int nf_skb_copy_datagram_iovec(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb);
	struct nf_cpu *cpu = nf_hit(NF_PROBE_SKB_COPY_DATAGRAM_IOVEC);
	struct nf_inflight *e;
	struct nf_inflight path;
	bool delivered = false;
	__u32 merged;

	if (!cpu)
		return 0;
	e = nf_inflight_at(number);
	if (!e)
		return 0;
	if (e->skb == number) {
		path = *e;
		delivered = nf_copied(cpu, e, &path, skb, number);
	}
	merged = nf_stream_copied(cpu, skb, ctx[1], delivered ? &path : 0);
	if (delivered)
		nf_journey_delivered(ctx, cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, skb, &path, 0,
				     merged, NF_READER_IN_TASK);
	return 0;
}

/* sock_recv_length(struct sock *sk, int ret, int flags): ends receive→copy of UDP, see reader.h. */
SEC("tp_btf/sock_recv_length")
int nf_sock_recv_length(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	__s32 length = ctx[1], flags = ctx[2];
	struct nf_cpu *cpu;

	if (length < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || !nf_reader_is_udp(sk))
		return 0;
	cpu = nf_hit(NF_PROBE_SOCK_RECV_LENGTH);
	if (!cpu)
		return 0;
	nf_reader_has_read(ctx, cpu, sk);
	return 0;
}

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
static __always_inline int nf_deferred(void *ctx, const struct sk_buff *skb,
				       enum nf_reader_context context)
{
	__u64 number = nf_address(skb);
	struct nf_inflight *e = nf_inflight_at(number), path;
	struct nf_cpu *cpu;
	bool udp, read;

	if (!e || e->skb != number || e->journey != NF_JOURNEY_RX)
		return 0;
	cpu = nf_hit(NF_PROBE_SKB_ATTEMPT_DEFER_FREE);
	if (!cpu)
		return 0;
	path = *e;
	udp = nf_queued_udp(skb);
	read = udp || skb->len;
	if (!path.sock_queue && !udp)
		return 0;
	if (!nf_inflight_holds(cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, &path, number,
			       (__u64)skb->head) ||
	    !nf_inflight_end(cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, e, number,
			     read ? NF_EVENT_DELIVERED : NF_EVENT_CONSUMED))
		return 0;
	if (read && !nf_in_softirq(cpu))
		nf_journey_delivered(ctx, cpu, NF_PROBE_SKB_ATTEMPT_DEFER_FREE, skb, &path, 0, 0,
				     context);
	return 0;
}

SEC("fentry/skb_attempt_defer_free")
int nf_skb_attempt_defer_free_fentry(__u64 *ctx)
{
	return nf_deferred(ctx, (const void *)ctx[0], NF_READER_PREEMPTIBLE);
}

/*
 * The same for kernels with CONFIG_PREEMPTION.  They can preempt a task in a program of fentry,
 * and then skip this program for all other tasks on the CPU.  In a program of a kprobe they cannot.
 */
SEC("kprobe/skb_attempt_defer_free")
int nf_skb_attempt_defer_free_kprobe(struct pt_regs *ctx)
{
	const void *skb = (const void *)PT_REGS_PARM1(ctx);

	return nf_deferred(ctx, nf_rdonly_cast(skb, bpf_core_type_id_kernel(struct sk_buff)),
			   NF_READER_IN_TASK);
}

/* ---- transmit ---------------------------------------------------------- */

/* net_dev_queue(struct sk_buff *skb): ends receive→queue of a forwarded skb. */
SEC("tp_btf/net_dev_queue")
int nf_net_dev_queue(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns();
	struct nf_cpu *cpu = nf_hit(NF_PROBE_NET_DEV_QUEUE);
	struct nf_inflight *e;
	__u32 slot;
	bool known;

	if (!cpu)
		return 0;
	e = nf_inflight_at(number);
	if (!e)
		return 0;
	slot = nf_device_slot(skb->dev);
	known = e->skb == number;
	if (known) {
		if (!nf_inflight_holds(cpu, NF_PROBE_NET_DEV_QUEUE, e, number, head)) {
			nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_INVALIDATED);
		} else if (e->journey == NF_JOURNEY_RX && skb->skb_iif) {
			nf_journey_forward(e, number, head, slot, now);
			return 0;
		} else if (e->journey != NF_JOURNEY_RX && e->start_ns) {
			/* Inside start_xmit of a stacked device: VLAN, bond. */
			nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, nf_journey_tx_event(e));
		} else {
			nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_INVALIDATED);
		}
	}
	nf_inflight_take(cpu, NF_PROBE_NET_DEV_QUEUE, e, number, known);
	nf_inflight_fill_tx(e, number, head, slot, now, 0, 0);
	return 0;
}

/*
 * net_dev_start_xmit(const struct sk_buff *skb, const struct net_device *dev):
 * ends queue→start_xmit.
 */
SEC("tp_btf/net_dev_start_xmit")
int nf_net_dev_start_xmit(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	const struct net_device *dev = (const void *)ctx[1];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns();
	struct nf_cpu *cpu = nf_hit(NF_PROBE_NET_DEV_START_XMIT);
	struct nf_device_stats *stats;
	struct nf_context *context;
	struct nf_inflight *e;
	__u32 slot, depth;
	bool known;

	if (!cpu)
		return 0;
	e = nf_inflight_at(number);
	if (!e)
		return 0;
	if (e->skb == number && e->head == head && e->journey >= NF_JOURNEY_TX && !e->start_ns &&
	    nf_inflight_intact(e, number)) {
		slot = e->slot;
		stats = nf_device_stats(slot);
		if (stats) {
			nf_device_refresh(stats, slot, dev, now);
			if (nf_segment_add(stats, NF_SEGMENT_QUEUE_TO_START, e->begin_ns, now))
				e->flags |= NF_INFLIGHT_SLOW;
		}
		nf_inflight_start(e, number, now);
	} else {
		/* A segment that was cut from a GSO skb after net_dev_queue, or its entry is lost. */
		slot = nf_device_slot(dev);
		known = e->skb == number;
		if (known)
			nf_count(cpu, NF_PROBE_NET_DEV_START_XMIT, NF_EVENT_INVALIDATED);
		nf_inflight_take(cpu, NF_PROBE_NET_DEV_START_XMIT, e, number, known);
		nf_inflight_fill_tx(e, number, head, slot, now, now, NF_INFLIGHT_NO_QUEUE);
	}
	context = nf_context(cpu);
	if (!context)
		return 0;
	depth = context->xmit_depth;
	if (depth < NF_XMIT_DEPTH) {
		context->xmit[depth].skb = number;
		context->xmit[depth].start_ns = now;
		context->xmit[depth].slot = slot;
		context->xmit_depth = depth + 1;
	}
	return 0;
}

/*
 * net_dev_xmit(struct sk_buff *skb, int rc, struct net_device *dev, unsigned int len):
 * ends start_xmit→xmit and the totals.
 *
 * By now the skb may be freed and even reused.  So only its address is used, and
 * its start time is read from the stack of transmits (nf_context.xmit).
 */
SEC("tp_btf/net_dev_xmit")
int nf_net_dev_xmit(__u64 *ctx)
{
	__u64 number = nf_address((const struct sk_buff *)ctx[0]);
	struct nf_cpu *cpu = nf_hit(NF_PROBE_NET_DEV_XMIT);
	struct nf_device_stats *stats;
	struct nf_context *context;
	struct nf_xmit_frame *frame;
	struct nf_inflight *e, path;
	__u64 now, start;
	__u32 depth;
	bool slow;

	if (!cpu)
		return 0;
	context = nf_context(cpu);
	if (!context)
		return 0;
	depth = context->xmit_depth - 1;
	if (depth >= NF_XMIT_DEPTH || context->xmit[depth].skb != number) {
		/* It began before the programs were attached, or the kernel skipped the start. */
		context->xmit_depth = 0;
		return 0;
	}
	context->xmit_depth = depth;
	frame = &context->xmit[depth];
	now = bpf_ktime_get_ns();
	start = frame->start_ns;
	stats = nf_device_stats(frame->slot);
	if (!stats)
		return 0;
	slow = nf_segment_add(stats, NF_SEGMENT_START_TO_XMIT, start, now);
	e = nf_inflight_at(number);
	if (!e || e->skb != number)
		return 0;
	path = *e;
	/* At once: a veth's peer can receive the skb on another CPU, and the entry is its. */
	if (!nf_replace(&e->xmit_ns, NF_XMIT_PENDING(start), now))
		return 0;
	if (slow | nf_journey_xmit_total(stats, &path, number, now))
		nf_replace(&e->xmit_ns, now, now | NF_XMIT_SLOW);
	return 0;
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
SEC("tp_btf/consume_skb")
int nf_consume_skb(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb);
	struct nf_cpu *cpu = nf_hit(NF_PROBE_CONSUME_SKB);
	struct nf_inflight *e, path;
	enum nf_event event;
	bool softirq, udp, timed = false;

	if (!cpu)
		return 0;
	e = nf_inflight_at(number);
	if (!e || e->skb != number)
		return 0;
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
		timed = settings.udp_reader && path.sk;
		timed |= udp && !softirq && !settings.udp_deferred;
		event = timed || udp || path.sock_queue ? NF_EVENT_DELIVERED : NF_EVENT_CONSUMED;
	}
	if (!nf_inflight_end(cpu, NF_PROBE_CONSUME_SKB, e, number, event))
		return 0;
	if (timed)
		nf_journey_delivered(ctx, cpu, NF_PROBE_CONSUME_SKB, skb, &path, 0, 0,
				     softirq ? NF_READER_IN_SOFTIRQ : NF_READER_IN_TASK);
	else if (event == NF_EVENT_TRANSMITTED || event == NF_EVENT_FORWARDED)
		nf_journey_freed(ctx, cpu, NF_PROBE_CONSUME_SKB, skb, &path);
	return 0;
}

/* ---- drop -------------------------------------------------------------- */

/*
 * kfree_skb(struct sk_buff *skb, void *location, enum skb_drop_reason reason,
 * struct sock *rx_sk): counts the drop and records it.
 */
SEC("tp_btf/kfree_skb")
int nf_kfree_skb(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	struct nf_cpu *cpu = nf_hit(NF_PROBE_KFREE_SKB);

	if (!cpu)
		return 0;
	if (!nf_journey_completed(ctx, cpu, skb, ctx[1], NF_KFREE_SKB_REASON(ctx)))
		nf_drop(ctx, cpu, skb, NF_KFREE_SKB_RX_SK(ctx), ctx[1], NF_KFREE_SKB_REASON(ctx));
	return 0;
}

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
