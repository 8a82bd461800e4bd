/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which interrupt and which run of NET_RX bring a received skb.  These rules have no other home: the programs in the
 * kernel follow them, and so does user space for trace events (daemon/correlator).
 *
 * Who includes this has defined before what differs: nf_clock(), the time in ns of what happens now; nf_context() and
 * nf_in_net_rx(); nf_gate_next_run(), which draws whether the next run is followed; and nf_gate_end_run(), which takes
 * the number of journeys that have begun in a run.
 */
#ifndef NF_SOFTIRQ_H
#define NF_SOFTIRQ_H

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
	cpu->irq_ns = cpu->untimed ? NF_UNTIMED : nf_clock(cpu);
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
			cpu->raise_ns = cpu->untimed ? NF_UNTIMED : nf_clock(cpu);
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
	context->xmit_depth = 0; /* it never runs inside start_xmit: an end was not seen */
	if (vec != NET_RX_SOFTIRQ)
		return;
	context->followed = cpu->next_run != NF_PASSES;
	context->shift = cpu->next_run;
	cpu->runs++;
	context->ranks = 0;
	context->entry_ns = context->followed || cpu->wants_entry ? nf_clock(cpu) : 0;
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
	nf_gate_end_run(&cpu->gate[NF_GATE_RX], context->ranks);
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

#endif
