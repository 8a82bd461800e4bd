/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hook costs by itself: the way from the tracepoint into a program and back.
 *
 * Three programs read the clock at the same hit, and NF_HOOK_COPIES empty ones run between the second
 * and the third.  So the difference of the two times is that of the empty ones, and neither the system
 * call that made the hit nor the clock is in it.  An interrupt makes a time longer, never shorter: the
 * shortest of each was not disturbed.
 */
#ifndef NF_COST_H
#define NF_COST_H

#include "cpu.h"

static __always_inline void nf_hook_begin(struct nf_hook *hook)
{
	hook->last_ns = bpf_ktime_get_ns();
}

/* Keep the time since the last clock in *least if it is shorter. */
static __always_inline void nf_hook_least(struct nf_hook *hook, __u64 *least)
{
	__u64 now = bpf_ktime_get_ns(), ns = now - hook->last_ns;

	if (!*least || ns < *least)
		*least = ns;
	hook->last_ns = now;
}

#endif
