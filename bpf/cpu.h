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

/* This CPU, with the hit of one program counted; NULL: there is nothing to count in. */
static __always_inline struct nf_cpu *nf_hit(enum nf_probe probe)
{
	struct nf_cpu *cpu = nf_this_cpu();

	if (cpu)
		nf_count(cpu, probe, NF_EVENT_HIT);
	return cpu;
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

/* The same from 0: through memory of the caller's, `scratch`, the verifier lets any pointer go. */
static __always_inline __u64 nf_number(volatile __u64 *scratch, const void *pointer)
{
	*scratch = (__u64)pointer;
	return *scratch;
}

/*
 * The index of a number in a table of 2^(64 - shift) entries.  Fibonacci
 * hashing: slab objects differ in their middle bits.
 */
static __always_inline __u32 nf_hash(__u64 number, __u32 shift)
{
	return number * 0x9e3779b97f4a7c15ULL >> shift;
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
 * Which interrupt a packet came by.  It is that of the softirq's run: one run
 * serves all that was raised since the one before, and the first interrupt
 * speaks for all of it, as in netdev-times.  Three ways lead to it:
 *
 * - The handler raises NET_RX, and the next run is its.
 * - The handler finds its device being polled, or waiting to be, and raises
 *   nothing (NAPIF_STATE_MISSED in napi_schedule_prep(); sd->in_net_rx_action
 *   since 6.4, 8b43fd3d1d7d).  The softirq raises itself when that poll is over
 *   (napi_complete_done()), and the next run is that interrupt's.  Handlers of
 *   other devices raise nothing either, so only those count that did before.
 * - The handler raises NET_RX after the softirq was entered, but before it
 *   took its list of devices: see nf_net_rx_overtaken().
 *
 * Else a softirq that raised itself polls on for want of budget, or because
 * the ring was not empty when the poll ended.  What it finds came at any time
 * since that poll, while the device's interrupt was masked: no interrupt is
 * shown for it, and its record says so.  Carrying the first interrupt on would
 * make a packet under steady load seem to have waited for as long as the
 * load lasts.
 */
static __always_inline void nf_irq_exit(struct nf_cpu *cpu, __u32 irq)
{
	__u64 line = 1ULL << (irq & 63);

	if (cpu->irq_raised)
		cpu->rx_lines |= line;
	else if (cpu->rx_lines & line && !cpu->again_ns)
		cpu->again_ns = cpu->irq_ns;
	cpu->irq_raised = 0;
	cpu->irq_ns = 0;
}

/* What is not inside an interrupt handler: a softirq that raises itself, or lo and veth. */
static __always_inline void nf_net_rx_raise_again(struct nf_cpu *cpu)
{
	if (cpu->again_ns && !cpu->raise_irq_ns)
		cpu->raise_irq_ns = cpu->again_ns;
	else if (!cpu->again_ns)
		cpu->raise_polled = 1;
	cpu->again_ns = 0;
}

/* The first raise since the last entry is what the softirq's wait begins with. */
static __always_inline void nf_net_rx_raise(struct nf_cpu *cpu)
{
	__u32 inner = cpu->xmit_depth - 1;

	if (!cpu->raise_ns)
		/* Inside start_xmit (lo, veth) the packet's wait begins with that: no clock is read. */
		cpu->raise_ns = inner < NF_XMIT_DEPTH && !cpu->irq_ns ? cpu->xmit[inner].start_ns
								      : bpf_ktime_get_ns();
	if (cpu->irq_ns) {
		cpu->irq_raised = 1;
		if (!cpu->raise_irq_ns)
			cpu->raise_irq_ns = cpu->irq_ns;
	} else if (inner >= NF_XMIT_DEPTH && nf_in_net_rx(cpu)) {
		nf_net_rx_raise_again(cpu);
	}
}

/* What was raised so far is now served. */
static __always_inline void nf_net_rx_begin(struct nf_cpu *cpu)
{
	cpu->entry_irq_ns = cpu->raise_irq_ns;
	cpu->entry_raise_ns = cpu->raise_ns;
	cpu->entry_polled = cpu->raise_polled;
	cpu->raise_irq_ns = 0;
	cpu->raise_ns = 0;
	cpu->raise_polled = 0;
}

static __always_inline void nf_softirq_enter(struct nf_cpu *cpu, __u32 vec)
{
	cpu->softirq = 1 + vec;
	if (vec != NET_RX_SOFTIRQ)
		return;
	cpu->entry_ns = bpf_ktime_get_ns();
	nf_net_rx_begin(cpu);
}

/*
 * An interrupt that found its device being polled is answered by the end of
 * this run, or by that of the next where it came after its device's poll.
 */
static __always_inline void nf_softirq_leave(struct nf_cpu *cpu, __u32 vec)
{
	cpu->softirq = 0;
	if (vec == NET_RX_SOFTIRQ && cpu->again_ns < cpu->entry_ns)
		cpu->again_ns = 0;
}

/*
 * A run that nothing raised, for the run before had begun to serve it already,
 * finds no device to poll, unless an interrupt came before net_rx_action()
 * took the list.  What this run receives has then waited since that interrupt,
 * and its softirq was there at once.
 */
static __always_inline void nf_net_rx_overtaken(struct nf_cpu *cpu)
{
	if (cpu->entry_raise_ns || !cpu->raise_irq_ns)
		return;
	/* Loopback may have raised before the interrupt did. */
	cpu->entry_ns = cpu->raise_ns > cpu->raise_irq_ns ? cpu->raise_ns : cpu->raise_irq_ns;
	nf_net_rx_begin(cpu);
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

	return nf_number(scratch, ctx) - stack < settings.stack_size && !cpu->irq_ns &&
	       !nf_in_softirq(cpu);
}

#endif
