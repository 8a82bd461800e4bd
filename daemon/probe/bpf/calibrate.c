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

/* The least time of one empty program among the CPUs that were hit, ns; 0: none was. */
static double least(const struct backend_bpf_state *state)
{
	double found = 0;

	for (uint32_t i = 0; i < state->cpus; i++) {
		const struct nf_hook *hook = &state->cpu[i].hook;
		double ns;

		if (!hook->gap_ns || hook->hooks_ns <= hook->gap_ns)
			continue;
		ns = (double)(hook->hooks_ns - hook->gap_ns) / NF_HOOK_COPIES;
		if (!found || ns < found)
			found = ns;
	}
	return found;
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
	return attached ? least(state) : 0;
}
