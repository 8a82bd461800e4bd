/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State per CPU: the event counters, and the interrupt and softirq that bring
 * the next received packet (the model of perf's netdev-times script).
 */
#ifndef NF_CPU_H
#define NF_CPU_H

#include "context.h"
#include "follow.h"
#include "maps.h"

static __always_inline struct nf_cpu *nf_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&nf_cpus, &cpu);
}

/*
 * Count an event of one program.  Each row of the counters has one writer, see
 * nf_add().  Where the event is not a constant, the verifier needs the mask.
 */
static __always_inline void nf_count(struct nf_cpu *cpu, enum nf_probe probe, enum nf_event event)
{
	nf_add(&cpu->events[probe][event & (NF_EVENT_ROOM - 1)], 1);
}

/*
 * Begin a program: count its call and return the state of this CPU, NULL if there is none.  One call
 * in NF_TIMED_ONE_IN is timed, see nf_end().
 */
#ifndef NF_TIMED_ONE_IN /* tests/unit/bpf: more, because each reading of the clock moves it */
#define NF_TIMED_ONE_IN 256
#endif

static __always_inline struct nf_cpu *nf_begin(enum nf_probe probe)
{
	struct nf_cpu *cpu = nf_this_cpu();
	__u64 before;

	if (unlikely(!cpu))
		return 0;
	nf_add(&cpu->calls[probe], 1);
	if (likely(cpu->calls[probe] & (NF_TIMED_ONE_IN - 1)))
		return cpu;
	before = bpf_ktime_get_ns();
	cpu->timing[probe].begin_ns = bpf_ktime_get_ns();
	cpu->timing[probe].clock_ns = cpu->timing[probe].begin_ns - before;
	cpu->timed |= 1U << probe;
	return cpu;
}

/*
 * End a program.  The clock itself takes longer than most programs, so what a reading took just
 * before is subtracted.  An interrupt in between counts, too: the mean is slightly too high.
 */
static __always_inline void nf_end(struct nf_cpu *cpu, enum nf_probe probe)
{
	struct nf_timing *timing = &cpu->timing[probe];
	__u64 ns;

	if (likely(!(cpu->timed & 1U << probe)))
		return;
	cpu->timed &= ~(1U << probe);
	ns = bpf_ktime_get_ns() - timing->begin_ns;
	timing->ns += ns > timing->clock_ns ? ns - timing->clock_ns : 0;
	timing->runs++;
}

/* A program around `statement`, which has `cpu` and `ctx`. */
#define NF_PROGRAM(section, name, type, probe, statement) \
	SEC(section)                                      \
	int name(type *ctx)                               \
	{                                                 \
		struct nf_cpu *cpu = nf_begin(probe);     \
                                                          \
		if (unlikely(!cpu))                       \
			return 0;                         \
		statement;                                \
		nf_end(cpu, probe);                       \
		return 0;                                 \
	}

/* Only the address of this variable is used, see nf_address(). */
__u64 nf_anchor;

/*
 * A kernel pointer as a number: its distance from a base that is fixed while
 * the programs are loaded.  The only arithmetic that the verifier allows on a
 * trusted pointer is the difference of two pointers, which it takes for a
 * number.
 */
static __always_inline __u64 nf_address(const void *pointer)
{
	__u64 number = (__u64)pointer - (__u64)&nf_anchor;

	/* Without it, the compiler moves other arithmetic before the difference. */
	barrier_var(number);
	return number;
}

/*
 * A pointer as a number, its address.  The verifier forgets the type of a
 * pointer that is written to a map value or a record (`scratch`) and read back.
 */
static __always_inline __u64 nf_number(volatile __u64 *scratch, const void *pointer)
{
	*scratch = (__u64)pointer;
	return *scratch;
}

/* The base of nf_address(). */
static __always_inline __u64 nf_base(struct nf_cpu *cpu)
{
	return nf_number(&cpu->base, &nf_anchor);
}

/*
 * The index of a number in a table of 2^(64 - shift) entries, by Fibonacci
 * hashing: the addresses of slab objects differ mainly in their middle bits.
 */
static __always_inline __u32 nf_hash(__u64 number, __u32 shift)
{
	return number * 0x9e3779b97f4a7c15ULL >> shift;
}

/* A context of this CPU. */
static __always_inline struct nf_context *nf_context_at(__u32 number)
{
	__u32 index = bpf_get_smp_processor_id() * NF_CONTEXTS + number;

	return bpf_map_lookup_elem(&nf_contexts, &index);
}

/*
 * The context of the current task, on a kernel that preempts softirqs.  It is looked up by its number once more: for
 * the verifier, two ways to a pointer never become one again, and two ways to a number do.
 */
static __always_inline struct nf_context *nf_task_context(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), number = nf_context_first(tid);
	const struct nf_context *first = nf_context_at(number);
	const struct nf_context *second = nf_context_at(nf_context_second(tid));
	struct nf_context *context;

	if (first && second && nf_context_is_second(first, second, tid))
		number = nf_context_second(tid);
	context = nf_context_at(number);
	if (context)
		nf_context_give(context, tid);
	return context;
}

/*
 * The context of what runs now.  Softirqs do not preempt each other, and a task in start_xmit has
 * softirqs disabled, so a CPU has one context.  With PREEMPT_RT, a task can preempt another one in
 * both places, and can then do the same; so there each task has its own.
 */
static __always_inline struct nf_context *nf_context(struct nf_cpu *cpu)
{
	return settings.preempt_rt ? nf_task_context() : &cpu->context;
}

/*
 * Softirqs do not nest, so softirq_entry and softirq_exit are enough to know
 * whether this CPU serves one.  An interrupt handler on top of the softirq
 * makes no difference: no skb is received, read or completed in a handler.
 */
static __always_inline bool nf_in_softirq(const struct nf_cpu *cpu)
{
	return settings.preempt_rt ? nf_task_in_softirq() : cpu->context.softirq != 0;
}

/*
 * Whether a softirq of this vector is being served.  With PREEMPT_RT, the kernel can have skipped
 * the program that saw its end, because a preempted task was in it.
 */
static __always_inline bool nf_serves(const struct nf_context *context, __u32 vec)
{
	return context->softirq == 1 + vec && (!settings.preempt_rt || nf_task_in_softirq());
}

/*
 * Whether this CPU serves NET_RX.  netif_receive_skb also runs in process
 * context (the writer of a tun device) and in threaded NAPI; there the last
 * softirq did not bring the skb.
 */
static __always_inline bool nf_in_net_rx(const struct nf_context *context)
{
	return settings.softirq_exit && nf_serves(context, NET_RX_SOFTIRQ);
}

/* The programs read the clock where the rules need it. */
static __always_inline __u64 nf_clock(const struct nf_cpu *cpu)
{
	(void)cpu;
	return bpf_ktime_get_ns();
}

#include "softirq.h"

/*
 * Whether the programs know what this CPU does: stages are attached, and on this CPU a softirq has
 * begun or ended since, so that it is not in one that began before.
 */
static __always_inline bool nf_task_is_known(const struct nf_cpu *cpu)
{
	return cpu->known && !cpu->closed;
}

/*
 * Whether this is process context: on the stack of the current task, but in
 * neither a softirq nor an interrupt handler, which may use that stack too.
 * `scratch` is memory of the caller, see nf_number().
 */
static __always_inline bool nf_in_task(const struct nf_cpu *cpu, const void *ctx,
				       volatile __u64 *scratch)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);

	return settings.irq_exit && nf_task_is_known(cpu) &&
	       nf_number(scratch, ctx) - stack < settings.stack_size && !cpu->irq_ns &&
	       !nf_in_softirq(cpu);
}

#endif
