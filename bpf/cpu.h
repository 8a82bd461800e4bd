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

/* The same for a pointer that was read from memory, which is a number already. */
static __always_inline __u64 nf_address_of_value(__u64 pointer)
{
	/* A pointer stored in a map and read back is a number; every store is of the same. */
	*(volatile __u64 *)&nf_anchor = (__u64)&nf_anchor;
	return pointer - *(volatile __u64 *)&nf_anchor;
}

/*
 * Only a raise from inside an interrupt handler ties that interrupt to what
 * the softirq will receive: loopback raises NET_RX from process context, a
 * softirq that used up its budget raises it again.  The clock is not read
 * here, no segment ends at a raise.
 */
static __always_inline void nf_net_rx_raise(struct nf_cpu *cpu)
{
	if (cpu->irq_ns && !cpu->raise_irq_ns)
		cpu->raise_irq_ns = cpu->irq_ns;
}

static __always_inline void nf_softirq_enter(struct nf_cpu *cpu, const void *ctx, __u32 vec)
{
	cpu->softirq_vec = vec;
	cpu->softirq_stack = nf_address(ctx);
	if (vec != NET_RX_SOFTIRQ)
		return;
	cpu->entry_ns = bpf_ktime_get_ns();
	cpu->entry_irq_ns = cpu->raise_irq_ns;
	cpu->raise_irq_ns = 0;
}

/*
 * Whether a program runs in the softirq last entered on this CPU.
 *
 * The program's context lies on the kernel stack in use.  A softirq has a
 * stack to itself (the CPU's interrupt stack, or ksoftirqd's own), begins near
 * its top, and everything it calls lies below: so a context a little below
 * that of softirq_entry is in that softirq, and one on the stack of a task is
 * not.  This spares a hook on softirq_exit.  It does not hold where softirqs
 * borrow the stack of the task they interrupt (PREEMPT_RT).
 */
static __always_inline bool nf_in_softirq(const struct nf_cpu *cpu, const void *ctx)
{
	/* Three quarters: what lies on a neighbouring stack is further away. */
	return cpu->softirq_stack - nf_address(ctx) < settings.stack_size / 4 * 3;
}

/*
 * netif_receive_skb also runs in process context (a tun device's writer) and
 * in threaded NAPI, where the last softirq has nothing to do with the skb.
 */
static __always_inline bool nf_in_net_rx(const struct nf_cpu *cpu, const void *ctx)
{
	return cpu->softirq_vec == NET_RX_SOFTIRQ && nf_in_softirq(cpu, ctx);
}

/*
 * On its task's own stack, and not in a softirq as ksoftirqd is.  `scratch` is
 * any memory of the caller's: a pointer stored there is read back as a number.
 */
static __always_inline bool nf_in_task(const struct nf_cpu *cpu, const void *ctx,
				       volatile __u64 *scratch)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);

	*scratch = (__u64)ctx;
	return *scratch - stack < settings.stack_size && !nf_in_softirq(cpu, ctx);
}

#endif
