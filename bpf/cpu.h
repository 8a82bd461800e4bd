/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Per-CPU state: event counters, and the interrupt and softirq that the next
 * received packet came in by (the model of perf's netdev-times script).
 */
#ifndef NF_CPU_H
#define NF_CPU_H

#include "compat.h"
#include "maps.h"

static __always_inline struct nf_cpu *nf_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&nf_cpus, &cpu);
}

/*
 * Count an event of one program.  Each row has one writer, see nf_add(); the
 * mask is for the verifier, where the event is not a constant.
 */
static __always_inline void nf_count(struct nf_cpu *cpu, enum nf_probe probe, enum nf_event event)
{
	nf_add(&cpu->events[probe][event & (NF_EVENT_ROOM - 1)], 1);
}

/* Only its address matters, see nf_address(). */
__u64 nf_anchor;

/*
 * A kernel pointer as a number, counted from a base that is fixed while the
 * programs are loaded.  The verifier lets no arithmetic be done on a trusted
 * pointer but for the difference of two, which it takes for a number.
 */
static __always_inline __u64 nf_address(const void *pointer)
{
	__u64 number = (__u64)pointer - (__u64)&nf_anchor;

	barrier_var(number); /* or the compiler would move other arithmetic before the difference */
	return number;
}

/*
 * The first raise since the last entry is what the softirq's wait begins with.
 * Only a raise from inside an interrupt handler ties that interrupt to what
 * the softirq will receive: loopback raises NET_RX from process context, a
 * softirq that used up its budget raises it again.
 */
static __always_inline void nf_net_rx_raise(struct nf_cpu *cpu)
{
	__u32 inner = cpu->xmit_depth - 1;

	if (!cpu->raise_ns)
		/* Inside start_xmit (lo, veth) the packet's wait begins with that: no clock is read. */
		cpu->raise_ns = inner < NF_XMIT_DEPTH && !cpu->irq_ns ? cpu->xmit[inner].start_ns
								      : bpf_ktime_get_ns();
	if (cpu->irq_ns && !cpu->raise_irq_ns)
		cpu->raise_irq_ns = cpu->irq_ns;
}

static __always_inline void nf_softirq_enter(struct nf_cpu *cpu, __u32 vec)
{
	cpu->softirq = 1 + vec;
	if (vec != NET_RX_SOFTIRQ)
		return;
	cpu->entry_ns = bpf_ktime_get_ns();
	cpu->entry_irq_ns = cpu->raise_irq_ns;
	cpu->entry_raise_ns = cpu->raise_ns;
	cpu->raise_irq_ns = 0;
	cpu->raise_ns = 0;
}

/*
 * Softirqs do not nest, so entry and exit tell whether this CPU serves one.
 * An interrupt on top of it does not matter here: no skb is received, read or
 * completed in a handler.
 */
static __always_inline bool nf_in_softirq(const struct nf_cpu *cpu)
{
	return cpu->softirq != 0;
}

/*
 * netif_receive_skb also runs in process context (a tun device's writer) and
 * in threaded NAPI, where the last softirq has nothing to do with the skb.
 */
static __always_inline bool nf_in_net_rx(const struct nf_cpu *cpu)
{
	return settings.softirq_exit && cpu->softirq == 1 + NET_RX_SOFTIRQ;
}

/*
 * In process context: on its task's own stack, and in no softirq or interrupt
 * handler, which may borrow that stack.  `scratch` is any memory of the
 * caller's: a pointer stored there is read back as a number.
 */
static __always_inline bool nf_in_task(const struct nf_cpu *cpu, const void *ctx,
				       volatile __u64 *scratch)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);

	*scratch = (__u64)ctx;
	return *scratch - stack < settings.stack_size && !cpu->irq_ns && !nf_in_softirq(cpu);
}

#endif
