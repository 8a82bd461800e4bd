/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a CPU is doing: interrupts, softirqs and transmits in progress.  bpf/softirq.h and bpf/context.h have the
 * rules.
 *
 * Each task has a context of its own on a CPU.  Only with PREEMPT_RT can one task preempt another in a softirq; a
 * recording does not say which kernel it is of, and on all others this makes no difference.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/correlator/internal.h"

enum {
	NET_TX_SOFTIRQ = 2, /* include/linux/interrupt.h */
	NET_RX_SOFTIRQ = 3,
};

#define unlikely(condition) __builtin_expect(!!(condition), 0)

static __always_inline struct cpu *cpu_of(const struct nf_cpu *state)
{
	return (struct cpu *)((char *)state - offsetof(struct cpu, state));
}

static __always_inline uint64_t nf_clock(const struct nf_cpu *state)
{
	return cpu_of(state)->now;
}

static __always_inline struct nf_context *nf_context(struct nf_cpu *state)
{
	return cpu_of(state)->current;
}

static __always_inline bool nf_in_net_rx(const struct nf_context *context)
{
	return context->softirq == 1 + NET_RX_SOFTIRQ;
}

/* The correlator follows all runs. */
static __always_inline void nf_gate_next_run(struct nf_cpu *state, const struct nf_context *context)
{
	(void)state;
	(void)context;
}

static __always_inline void nf_gate_end_run(struct nf_gate *gate, __u32 ranks)
{
	(void)gate;
	(void)ranks;
}

#include "bpf/context.h"
#include "bpf/softirq.h"

static struct nf_context *context_of(struct cpu *cpu, uint32_t tid)
{
	struct nf_context *first = &cpu->context[nf_context_first(tid)];
	struct nf_context *second = &cpu->context[nf_context_second(tid)];
	struct nf_context *context = nf_context_is_second(first, second, tid) ? second : first;

	nf_context_give(context, tid);
	return context;
}

int context_enter(struct correlator *c, const struct event *event, struct cpu **cpu)
{
	if (!c->cpu[event->cpu]) {
		c->cpu[event->cpu] = calloc(1, sizeof(**c->cpu));
		if (!c->cpu[event->cpu])
			return -ENOMEM;
	}
	*cpu = c->cpu[event->cpu];
	(*cpu)->now = event->time_ns;
	(*cpu)->current = context_of(*cpu, event->tid);
	return 0;
}

void context_event(struct correlator *c, struct cpu *cpu, const struct event *event)
{
	switch (event->probe) {
	case NF_PROBE_IRQ_HANDLER_ENTRY:
		/* Without its end, the handler would seem to run for ever. */
		if (c->settings.has[NF_PROBE_IRQ_HANDLER_EXIT])
			nf_irq_enter(&cpu->state);
		break;
	case NF_PROBE_IRQ_HANDLER_EXIT:
		nf_irq_exit(&cpu->state, event->number);
		break;
	case NF_PROBE_SOFTIRQ_RAISE:
		if (event->number == NET_RX_SOFTIRQ)
			nf_net_rx_raise(&cpu->state);
		break;
	case NF_PROBE_SOFTIRQ_ENTRY:
		nf_softirq_enter(&cpu->state, event->number);
		cpu->run[cpu->current - cpu->context] = cpu->state.runs;
		break;
	case NF_PROBE_SOFTIRQ_EXIT:
		nf_softirq_leave(&cpu->state, event->number);
		break;
	default:
		break;
	}
}

void context_forget(struct cpu *cpu)
{
	cpu->state = (struct nf_cpu){.rx_lines = cpu->state.rx_lines, .runs = cpu->state.runs};
	for (int i = 0; i < NF_CONTEXTS; i++)
		cpu->context[i] = (struct nf_context){.tid = cpu->context[i].tid};
	cpu->received_count = 0;
	cpu->enqueued = 0;
	cpu->unshown = 0;
	cpu->receiving = false;
}

bool context_in_net_rx(const struct cpu *cpu)
{
	return nf_in_net_rx(cpu->current);
}

bool context_serves(const struct cpu *cpu, uint32_t vector)
{
	return cpu->current->softirq == 1 + vector;
}

bool context_is_task(const struct cpu *cpu, const struct event *event)
{
	return !event->softirq && !event->irq && !cpu->current->softirq;
}

uint64_t context_run(const struct cpu *cpu, const struct event *event)
{
	enum { IN_TASK = 1, IN_SOFTIRQ, IN_NET_RX };

	if (context_in_net_rx(cpu))
		return (uint64_t)IN_NET_RX << 62 | (uint64_t)event->cpu << 16 |
		       cpu->run[cpu->current - cpu->context];
	if (!context_is_task(cpu, event))
		return (uint64_t)IN_SOFTIRQ << 62 | event->cpu;
	return (uint64_t)IN_TASK << 62 | event->tid;
}

void context_overtaken(struct cpu *cpu)
{
	nf_net_rx_overtaken(&cpu->state, cpu->current);
}
