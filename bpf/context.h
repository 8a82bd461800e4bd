/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a CPU's contexts is that of a task.  A task in a softirq or in start_xmit stays on its CPU, so only tasks
 * that this CPU preempted there need theirs at the same time.  Like softirq.h, this is also for daemon/correlator.
 */
#ifndef NF_CONTEXT_H
#define NF_CONTEXT_H

/* The two contexts that a task can have, never the same one: from 0 to NF_CONTEXTS - 1. */
static __always_inline __u32 nf_context_first(__u32 tid)
{
	return tid & (NF_CONTEXTS - 1);
}

static __always_inline __u32 nf_context_second(__u32 tid)
{
	return nf_context_first(tid) ^ ((tid / NF_CONTEXTS | 1) & (NF_CONTEXTS - 1));
}

static __always_inline bool nf_context_is_needed(const struct nf_context *context)
{
	return context->softirq || context->xmit_depth;
}

/*
 * Whether the task has its second context: it keeps the one that it has, and otherwise takes one that no task needs.
 * If others need both, it takes the first one, whose task loses what it was doing.
 */
static __always_inline bool nf_context_is_second(const struct nf_context *first,
						 const struct nf_context *second, __u32 tid)
{
	if (first->tid == tid)
		return false;
	return second->tid == tid || (nf_context_is_needed(first) && !nf_context_is_needed(second));
}

static __always_inline void nf_context_give(struct nf_context *context, __u32 tid)
{
	if (context->tid == tid)
		return;
	context->softirq = 0;
	context->xmit_depth = 0;
	context->tid = tid;
}

#endif
