/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hook costs by itself, see bpf/cost.h. */
#include <sys/socket.h>
#include <unistd.h>

#include "build/bpf/netflowd.skel.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/internal.h"

/* A few milliseconds.  One hit that nothing disturbed is enough. */
#define HITS 1000

/* A datagram that is read from a socket pair of AF_UNIX passes consume_skb once. */
static void hit(void)
{
	OWN_FD int first = -1, second = -1;
	char byte = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return;
	first = pair[0];
	second = pair[1];
	for (int i = 0; i < HITS; i++)
		if (send(first, &byte, 1, MSG_DONTWAIT) != 1 ||
		    recv(second, &byte, 1, MSG_DONTWAIT) != 1)
			return;
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/*
 * The time of one empty program, ns; 0: none was hit.  Other tasks hit some CPUs a few times only, and there both
 * times may have been disturbed, so each is the shortest on any CPU.
 */
static double shortest(const struct backend_bpf_state *state)
{
	uint64_t gap_ns = 0, hooks_ns = 0;

	for (uint32_t i = 0; i < state->cpus; i++) {
		gap_ns = shorter(gap_ns, state->cpu[i].hook.gap_ns);
		hooks_ns = shorter(hooks_ns, state->cpu[i].hook.hooks_ns);
	}
	return hooks_ns > gap_ns ? (double)(hooks_ns - gap_ns) / NF_HOOK_COPIES : 0;
}

double bpf_calibrate(const struct backend_bpf_state *state)
{
	struct bpf_program *const programs[] = {
		state->skel->progs.nf_hook_first, state->skel->progs.nf_hook_second,
		state->skel->progs.nf_hook_1,	  state->skel->progs.nf_hook_2,
		state->skel->progs.nf_hook_3,	  state->skel->progs.nf_hook_4,
		state->skel->progs.nf_hook_5,	  state->skel->progs.nf_hook_6,
		state->skel->progs.nf_hook_7,	  state->skel->progs.nf_hook_8,
		state->skel->progs.nf_hook_third,
	};
	struct bpf_link *link[ARRAY_SIZE(programs)] = {};
	bool attached = true;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		link[i] = bpf_program__attach(programs[i]);
		attached = attached && link[i];
	}
	if (attached)
		hit();
	for (size_t i = ARRAY_SIZE(programs); i > 0; i--)
		bpf_link__destroy(link[i - 1]);
	return attached ? shortest(state) : 0;
}
