/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The levels of attachment.  While stages are detached, the kernel frees skbs that have an entry and gives
 * their memory to others; CPUs leave softirqs and transmits that the programs saw the beginning of.  So
 * when stages are attached again, the programs have forgotten what they knew.
 */
#include <string.h>

#include "build/bpf/netflowd.skel.h"
#include "common/time.h"
#include "daemon/probe/bpf/internal.h"

static bool has_stages(enum backend_level level)
{
	return level < BACKEND_DROPS;
}

static void forget_context(struct nf_context *context)
{
	memset(context, 0, sizeof(*context));
}

/* No program writes these words now, apart from one that is ending. */
static void forget_cpu(struct nf_cpu *cpu)
{
	cpu->irq_ns = cpu->raise_ns = cpu->raise_irq_ns = cpu->again_ns = 0;
	cpu->raise_polled = cpu->irq_raised = cpu->wants_entry = cpu->known = 0;
	cpu->ready = cpu->received = 0;
	cpu->enqueue.skb = 0;
	forget_context(&cpu->context);
}

static void forget(const struct backend_bpf_state *state)
{
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++) {
		forget_cpu(&state->cpu[cpu]);
		for (uint32_t i = 0; state->context && i < NF_CONTEXTS; i++)
			forget_context(&state->context[(size_t)cpu * NF_CONTEXTS + i]);
	}
}

/* While it is 1, no drop says whether its task was involved. */
static void set_closed(const struct backend_bpf_state *state, __u32 closed)
{
	for (uint32_t cpu = 0; cpu < state->cpus; cpu++)
		__atomic_store_n(&state->cpu[cpu].closed, closed, __ATOMIC_SEQ_CST);
}

void bpf_set_level(struct backend *backend, enum backend_level level)
{
	struct backend_bpf_state *state = (struct backend_bpf_state *)backend;
	typeof(state->skel->bss->live) *live = &state->skel->bss->live;
	enum backend_level before = state->level;

	if (level == before)
		return;
	if (has_stages(before) && !has_stages(level))
		set_closed(state, 1);
	if (!has_stages(before) && has_stages(level))
		forget(state);
	bpf_attach_level(state, level);
	/* No entry is younger until all are attached, and programs that must stay attached do nothing. */
	if (!has_stages(level))
		__atomic_store_n(&live->since_ns, UINT64_MAX, __ATOMIC_SEQ_CST);
	if (!has_stages(before) && has_stages(level)) {
		__atomic_store_n(&live->since_ns, time_monotonic(), __ATOMIC_SEQ_CST);
		set_closed(state, 0);
	}
	if ((level == BACKEND_NOTHING) != (before == BACKEND_NOTHING))
		bpf_ring_slots_set(state, level != BACKEND_NOTHING);
	state->level = level;
}

void bpf_follow(struct backend *backend, const struct backend_following *following)
{
	const struct backend_bpf_state *state = bpf_state(backend);
	typeof(state->skel->bss->live) *live = &state->skel->bss->live;

	if (live->window_shift != following->window_shift ||
	    (following->window_shift && live->hold))
		live->window = following->window_shift ? live->window + 1 : 0;
	live->window_shift = following->window_shift;
	live->interval_ns = following->interval_ns;
	live->busy_shift = following->busy_shift;
	__atomic_store_n(&live->hold, !following->begin, __ATOMIC_SEQ_CST);
}
