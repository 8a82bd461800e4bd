/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State per CPU: the event counters, and the interrupt and softirq that bring
 * the next received packet (the model of perf's netdev-times script).
 */
#ifndef NF_CPU_H
#define NF_CPU_H

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
#define NF_TIMED_ONE_IN 4096
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

/*
 * The context of the current task, on a kernel that preempts softirqs.  A task in a softirq or in
 * start_xmit stays on its CPU, so only tasks that this CPU preempted there share its contexts.  If
 * two of them need the same one, the first loses it: its context is empty then.
 */
static __always_inline struct nf_context *nf_task_context(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u32 index = bpf_get_smp_processor_id() * NF_CONTEXTS + (tid & (NF_CONTEXTS - 1));
	struct nf_context *context = bpf_map_lookup_elem(&nf_contexts, &index);

	if (context && context->tid != tid) {
		context->softirq = 0;
		context->xmit_depth = 0;
		context->tid = tid;
	}
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

/*
 * The interrupt that brought a packet is the interrupt of the softirq's run.
 * One run serves everything that was raised since the previous run, and the
 * first interrupt counts for all of it, as in netdev-times.  A run gets its
 * interrupt in one of three ways:
 *
 * - The handler raises NET_RX.  The next run belongs to this interrupt.
 * - The handler finds that its device is being polled or is queued for it, and
 *   does not raise NET_RX (NAPIF_STATE_MISSED in napi_schedule_prep();
 *   sd->in_net_rx_action since 6.4, 8b43fd3d1d7d).  When that poll ends, the
 *   softirq raises itself (napi_complete_done()), and the next run belongs to
 *   this interrupt.  Handlers of devices that are not network cards do not raise
 *   NET_RX either, so this applies only to lines that have raised it before.
 * - The handler raises NET_RX after the softirq was entered, but before
 *   net_rx_action() took its list of devices: see nf_net_rx_overtaken().
 *
 * Otherwise a softirq has raised itself to continue polling, because its budget
 * was used up or the ring was not empty when the poll ended.  The packets that
 * it finds arrived at any time since that poll, while the interrupt of the
 * device was masked.  They get no interrupt, and NF_JOURNEY_POLLED in their records.
 * With the first interrupt instead, a packet under steady load would seem to have
 * waited for as long as the load lasts.
 */
static __always_inline void nf_irq_enter(struct nf_cpu *cpu)
{
	cpu->irq_ns = cpu->untimed ? NF_UNTIMED : bpf_ktime_get_ns();
}

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

/* The NET_RX softirq raises itself, neither in an interrupt handler nor in start_xmit. */
static __always_inline void nf_net_rx_raise_again(struct nf_cpu *cpu)
{
	if (cpu->again_ns && !cpu->raise_irq_ns)
		cpu->raise_irq_ns = cpu->again_ns;
	else if (!cpu->again_ns)
		cpu->raise_polled = 1;
	cpu->again_ns = 0;
}

/* The wait of a softirq begins with the first raise since its last entry. */
static __always_inline void nf_net_rx_raise(struct nf_cpu *cpu)
{
	const struct nf_context *context = nf_context(cpu);
	__u32 inner;

	if (unlikely(!context))
		return;
	inner = context->xmit_depth - 1;
	if (!cpu->raise_ns) {
		/* Inside start_xmit (lo, veth) the wait begins there: no need to read the clock. */
		if (inner < NF_XMIT_DEPTH && !cpu->irq_ns)
			cpu->raise_ns = context->xmit[inner].start_ns;
		if (!cpu->raise_ns)
			cpu->raise_ns = cpu->untimed ? NF_UNTIMED : bpf_ktime_get_ns();
	}
	if (cpu->irq_ns) {
		cpu->irq_raised = 1;
		if (!cpu->raise_irq_ns)
			cpu->raise_irq_ns = cpu->irq_ns;
	} else if (inner >= NF_XMIT_DEPTH && nf_in_net_rx(context)) {
		nf_net_rx_raise_again(cpu);
	}
}

/* The softirq now serves everything that was raised so far. */
static __always_inline void nf_net_rx_begin(struct nf_cpu *cpu, struct nf_context *context)
{
	context->entry_irq_ns = cpu->raise_irq_ns;
	context->entry_raise_ns = cpu->raise_ns;
	context->entry_polled = cpu->raise_polled;
	cpu->raise_irq_ns = 0;
	cpu->raise_ns = 0;
	cpu->raise_polled = 0;
}

static __always_inline void nf_softirq_enter(struct nf_cpu *cpu, __u32 vec)
{
	struct nf_context *context = nf_context(cpu);

	cpu->known = 1;
	if (unlikely(!context))
		return;
	context->softirq = 1 + vec;
	if (vec != NET_RX_SOFTIRQ)
		return;
	context->followed = cpu->next_run != NF_PASSES;
	context->shift = cpu->next_run;
	cpu->runs++;
	context->ranks = 0;
	context->entry_ns = context->followed || cpu->wants_entry ? bpf_ktime_get_ns() : 0;
	cpu->wants_entry = 0;
	nf_net_rx_begin(cpu, context);
	nf_gate_next_run(cpu, context);
}

/*
 * Forget an interrupt that found its device being polled and came before this
 * run: by now it is served.  Keep one that came during the run.  It may have
 * come after the poll of its device; then the next run serves it.  The time
 * of an interrupt that was not timed is of no use to a later run.
 */
static __always_inline void nf_softirq_leave(struct nf_cpu *cpu, __u32 vec)
{
	struct nf_context *context = nf_context(cpu);

	cpu->ready = 0; /* the wake-ups of an announcement are over */
	cpu->received = 0;
	cpu->known = 1;
	if (unlikely(!context))
		return;
	context->softirq = 0;
	if (vec != NET_RX_SOFTIRQ)
		return;
	cpu->untimed = cpu->next_run == NF_PASSES;
	if (cpu->again_ns == NF_UNTIMED || cpu->again_ns < context->entry_ns)
		cpu->again_ns = 0;
}

/*
 * A run without a raise of its own finds no device to poll, because the
 * previous run has already served the raise.  The exception is an interrupt
 * that came after the entry, but before net_rx_action() took the list.  The
 * packets of this run have then waited since that interrupt, and their softirq
 * did not wait.
 */
static __always_inline void nf_net_rx_overtaken(struct nf_cpu *cpu, struct nf_context *context)
{
	if (context->entry_raise_ns || cpu->raise_irq_ns <= NF_UNTIMED)
		return;
	/* Loopback may have raised NET_RX before the interrupt did. */
	context->entry_ns = cpu->raise_ns > cpu->raise_irq_ns ? cpu->raise_ns : cpu->raise_irq_ns;
	nf_net_rx_begin(cpu, context);
}

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
