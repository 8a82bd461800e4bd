/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attach points, in the order in which a packet meets them.  Each says
 * what it reads and which segment ends there; the logic is in the headers.
 *
 * tp_btf programs get the tracepoint's own arguments, typed.
 */
#include "kernel.h"

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
#include "reader.h"
#include "drop.h"

char LICENSE[] SEC("license") = "GPL";

/* ---- receive ----------------------------------------------------------- */

/* irq_handler_entry(int irq, struct irqaction *action) */
SEC("tp_btf/irq_handler_entry")
int nf_irq_handler_entry(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_IRQ_HANDLER_ENTRY, NF_EVENT_HIT);
	cpu->irq_ns = bpf_ktime_get_ns();
	return 0;
}

/* irq_handler_exit(int irq, struct irqaction *action, int ret) */
SEC("tp_btf/irq_handler_exit")
int nf_irq_handler_exit(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_IRQ_HANDLER_EXIT, NF_EVENT_HIT);
	cpu->irq_ns = 0;
	return 0;
}

/* softirq_raise(unsigned int vec) */
SEC("tp_btf/softirq_raise")
int nf_softirq_raise(__u64 *ctx)
{
	struct nf_cpu *cpu;

	if ((__u32)ctx[0] != NET_RX_SOFTIRQ)
		return 0;
	cpu = nf_this_cpu();
	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_SOFTIRQ_RAISE, NF_EVENT_HIT);
	nf_net_rx_raise(cpu);
	return 0;
}

/* softirq_entry(unsigned int vec) */
SEC("tp_btf/softirq_entry")
int nf_softirq_entry(__u64 *ctx)
{
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_SOFTIRQ_ENTRY, NF_EVENT_HIT);
	nf_softirq_enter(cpu, ctx, ctx[0]);
	return 0;
}

/* napi_poll(struct napi_struct *napi, int work, int budget) */
SEC("tp_btf/napi_poll")
int nf_napi_poll(__u64 *ctx)
{
	const struct napi_struct *napi = (const void *)ctx[0];
	__s32 work = ctx[1], budget = ctx[2];
	struct nf_cpu *cpu = nf_this_cpu();
	const struct net_device *dev;
	struct nf_device_stats *stats;

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_NAPI_POLL, NF_EVENT_HIT);
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

/* netif_receive_skb(struct sk_buff *skb): ends irq→softirq and softirq→receive */
SEC("tp_btf/netif_receive_skb")
int nf_netif_receive_skb(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns(), first = now;
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(number);
	struct nf_device_stats *stats;
	__u32 slot;

	if (!cpu || !e)
		return 0;
	nf_count(cpu, NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_HIT);
	slot = nf_device_slot(skb->dev);
	stats = nf_device_stats(slot);
	if (stats && nf_in_net_rx(cpu, ctx)) {
		first = cpu->entry_ns;
		nf_segment_add(stats, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, first, now);
		if (cpu->entry_irq_ns) {
			first = cpu->entry_irq_ns;
			nf_segment_add(stats, NF_SEGMENT_IRQ_TO_SOFTIRQ, first, cpu->entry_ns);
		}
	}
	nf_inflight_begin(cpu, NF_PROBE_NETIF_RECEIVE_SKB, e, number, head, skb->skb_iif != 0);
	nf_inflight_fill(e, number, head, NF_JOURNEY_RX, slot, now, first, 0);
	return 0;
}

/* sk_data_ready(const struct sock *sk): only where UDP readers pass no other probe, see reader.h */
SEC("tp_btf/sk_data_ready")
int nf_sk_data_ready(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	struct nf_cpu *cpu;

	if (!nf_reader_is_udp(sk))
		return 0;
	cpu = nf_this_cpu();
	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_SK_DATA_READY, NF_EVENT_HIT);
	nf_reader_data_ready(sk);
	return 0;
}

/*
 * skb_copy_datagram_iovec(const struct sk_buff *skb, int len): ends
 * receive→copy and the total.  AF_UNIX and netlink skbs come here too; they
 * came in by no device (skb_iif), so a stale entry is not taken for theirs.
 */
SEC("tp_btf/skb_copy_datagram_iovec")
int nf_skb_copy_datagram_iovec(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb);
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(number);
	enum nf_event event = NF_EVENT_INVALIDATED;
	__u64 begin_ns, first_ns;
	__u32 slot;

	if (!cpu || !e)
		return 0;
	nf_count(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, NF_EVENT_HIT);
	if (e->skb != number)
		return 0;
	if (nf_inflight_holds(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, e, number,
			      (__u64)skb->head) &&
	    e->journey == NF_JOURNEY_RX && skb->skb_iif) {
		event = NF_EVENT_DELIVERED;
	}
	slot = e->slot;
	begin_ns = e->begin_ns;
	first_ns = e->first_ns;
	if (nf_inflight_end(cpu, NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, e, number, event) &&
	    event == NF_EVENT_DELIVERED)
		nf_delivered(slot, begin_ns, first_ns, bpf_ktime_get_ns(), false);
	return 0;
}

/* sock_recv_length(struct sock *sk, int ret, int flags): ends receive→copy where reader.h says */
SEC("tp_btf/sock_recv_length")
int nf_sock_recv_length(__u64 *ctx)
{
	const struct sock *sk = (const void *)ctx[0];
	__s32 length = ctx[1], flags = ctx[2];
	struct nf_cpu *cpu;

	if (length < 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || !nf_reader_is_udp(sk))
		return 0;
	cpu = nf_this_cpu();
	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_SOCK_RECV_LENGTH, NF_EVENT_HIT);
	nf_reader_has_read(cpu, sk);
	return 0;
}

/* ---- transmit ---------------------------------------------------------- */

/* net_dev_queue(struct sk_buff *skb) */
SEC("tp_btf/net_dev_queue")
int nf_net_dev_queue(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns();
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(number);

	if (!cpu || !e)
		return 0;
	nf_count(cpu, NF_PROBE_NET_DEV_QUEUE, NF_EVENT_HIT);
	nf_inflight_begin(cpu, NF_PROBE_NET_DEV_QUEUE, e, number, head, skb->skb_iif != 0);
	nf_inflight_fill(e, number, head, NF_JOURNEY_TX, nf_device_slot(skb->dev), now, 0, 0);
	return 0;
}

/* net_dev_start_xmit(const struct sk_buff *skb, const struct net_device *dev): ends queue→start_xmit */
SEC("tp_btf/net_dev_start_xmit")
int nf_net_dev_start_xmit(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb), head = (__u64)skb->head;
	__u64 now = bpf_ktime_get_ns();
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(number);
	struct nf_device_stats *stats;
	__u32 slot, depth;

	if (!cpu || !e)
		return 0;
	nf_count(cpu, NF_PROBE_NET_DEV_START_XMIT, NF_EVENT_HIT);
	if (e->skb == number && e->head == head && e->journey == NF_JOURNEY_TX && !e->first_ns &&
	    nf_inflight_intact(e, number)) {
		slot = e->slot;
		e->first_ns = now;
		e->check = nf_inflight_check(e, number);
		stats = nf_device_stats(slot);
		if (stats)
			nf_segment_add(stats, NF_SEGMENT_QUEUE_TO_START, e->begin_ns, now);
	} else {
		/* A segment cut from a GSO skb after net_dev_queue, or an entry lost. */
		slot = nf_device_slot((const struct net_device *)ctx[1]);
		nf_inflight_begin(cpu, NF_PROBE_NET_DEV_START_XMIT, e, number, head, false);
		nf_inflight_fill(e, number, head, NF_JOURNEY_TX, slot, now, now, NF_MISSING_QUEUE);
	}
	depth = cpu->xmit_depth;
	if (depth < NF_XMIT_DEPTH) {
		cpu->xmit[depth].skb = number;
		cpu->xmit[depth].start_ns = now;
		cpu->xmit[depth].slot = slot;
		cpu->xmit_depth = depth + 1;
	}
	return 0;
}

/*
 * net_dev_xmit(struct sk_buff *skb, int rc, struct net_device *dev, unsigned int len):
 * ends start_xmit→xmit.  The skb may be freed and even reused by now, so it is
 * only a number here, and its start time comes from this CPU's own stack.
 */
SEC("tp_btf/net_dev_xmit")
int nf_net_dev_xmit(__u64 *ctx)
{
	__u64 number = nf_address((const struct sk_buff *)ctx[0]);
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_device_stats *stats;
	struct nf_xmit_frame *frame;
	struct nf_inflight *e;
	__u64 now, start;
	__u32 depth;

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_NET_DEV_XMIT, NF_EVENT_HIT);
	depth = cpu->xmit_depth - 1;
	if (depth >= NF_XMIT_DEPTH || cpu->xmit[depth].skb != number) {
		/* Begun before the programs were attached, or a start was missed. */
		cpu->xmit_depth = 0;
		return 0;
	}
	cpu->xmit_depth = depth;
	frame = &cpu->xmit[depth];
	now = bpf_ktime_get_ns();
	start = frame->start_ns;
	stats = nf_device_stats(frame->slot);
	if (stats)
		nf_segment_add(stats, NF_SEGMENT_START_TO_XMIT, start, now);
	e = nf_inflight_at(number);
	if (e && e->skb == number && e->first_ns == start && e->journey == NF_JOURNEY_TX) {
		e->xmit_ns = now;
		e->check = nf_inflight_check(e, number);
	}
	return 0;
}

/*
 * consume_skb(struct sk_buff *skb, void *location): ends xmit→free.
 *
 * Also stands in for skb_copy_datagram_iovec, which a UDP reader of a linear
 * skb does not pass (copy_linear_skb goes by it): until 6.17 it frees the skb
 * in its own context, right after its copy; for later kernels see reader.h.
 * Consumed in a softirq, a received skb was for the kernel itself (ICMP, ARP).
 */
SEC("tp_btf/consume_skb")
int nf_consume_skb(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	__u64 number = nf_address(skb);
	struct nf_cpu *cpu = nf_this_cpu();
	struct nf_inflight *e = nf_inflight_at(number);
	enum nf_event event = NF_EVENT_INVALIDATED;
	struct nf_device_stats *stats;
	bool softirq = false;
	__u64 begin_ns, first_ns;
	__u32 slot;

	if (!cpu || !e)
		return 0;
	nf_count(cpu, NF_PROBE_CONSUME_SKB, NF_EVENT_HIT);
	if (e->skb != number)
		return 0;
	if (nf_inflight_holds(cpu, NF_PROBE_CONSUME_SKB, e, number, (__u64)skb->head)) {
		softirq = nf_in_softirq(cpu, ctx);
		if (e->journey == NF_JOURNEY_TX) {
			event = NF_EVENT_TRANSMITTED;
			stats = e->xmit_ns ? nf_device_stats(e->slot) : 0;
			if (stats)
				nf_segment_add(stats, NF_SEGMENT_XMIT_TO_FREE, e->xmit_ns,
					       bpf_ktime_get_ns());
		} else if (softirq && !e->sk) {
			event = NF_EVENT_CONSUMED;
		} else {
			event = NF_EVENT_DELIVERED;
		}
	}
	slot = e->slot;
	begin_ns = e->begin_ns;
	first_ns = e->first_ns;
	if (nf_inflight_end(cpu, NF_PROBE_CONSUME_SKB, e, number, event) &&
	    event == NF_EVENT_DELIVERED)
		nf_delivered(slot, begin_ns, first_ns, bpf_ktime_get_ns(), softirq);
	return 0;
}

/* ---- drop -------------------------------------------------------------- */

/* kfree_skb(struct sk_buff *skb, void *location, enum skb_drop_reason reason, struct sock *rx_sk) */
SEC("tp_btf/kfree_skb")
int nf_kfree_skb(__u64 *ctx)
{
	const struct sk_buff *skb = (const void *)ctx[0];
	struct nf_cpu *cpu = nf_this_cpu();

	if (!cpu)
		return 0;
	nf_count(cpu, NF_PROBE_KFREE_SKB, NF_EVENT_HIT);
	nf_drop(ctx, cpu, skb, NF_KFREE_SKB_RX_SK(ctx), ctx[1], NF_KFREE_SKB_REASON(ctx));
	return 0;
}

/* ---- cost -------------------------------------------------------------- */

/*
 * Attached only while the kernel's program statistics are on: what it measures
 * for a program that does nothing is its own reading of the clock.
 */
SEC("tp_btf/softirq_entry")
int nf_empty(__u64 *ctx)
{
	return 0;
}
