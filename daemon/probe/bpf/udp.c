/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of UDP sockets, of which a kernel needs only some.
 *
 * No tracepoint of UDP names an skb.  By fentry, udp_enqueue_schedule_skb and
 * skb_attempt_defer_free name it.  Where the kernel runs no fentry programs,
 * sk_data_ready and sock_recv_length name the socket, and the programs look into its
 * queue (bpf/queued.h, bpf/reader.h).
 */
#include <stdio.h>

#include "daemon/probe/bpf/internal.h"

static bool usable(const struct backend_settings *settings, bool fentry, enum nf_probe probe)
{
	return fentry && !settings->disabled[probe];
}

/* Whether readers of this kernel are followed by their socket's queue. */
static bool follows_queue(const struct backend_bpf_state *state,
			  const struct backend_settings *settings)
{
	return state->features.udp_frees_deferred &&
	       !usable(settings, state->features.fentry_defer_free,
		       NF_PROBE_SKB_ATTEMPT_DEFER_FREE);
}

const char *bpf_udp_unneeded(const struct backend_bpf_state *state,
			     const struct backend_settings *settings, enum nf_probe probe)
{
	const struct bpf_features *features = &state->features;

	switch (probe) {
	case NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB:
		if (!features->fentry_udp_enqueue)
			return "this kernel runs no fentry programs: a datagram has no sock_queue if its reader takes it before it is announced";
		return follows_queue(state, settings) ? "sock_recv_length follows the queue" : NULL;
	case NF_PROBE_SKB_ATTEMPT_DEFER_FREE:
		if (!features->udp_frees_deferred)
			return "UDP readers of this kernel free their skbs themselves";
		return features->fentry_defer_free
			       ? NULL
			       : "this kernel runs no fentry programs: sock_recv_length replaces it";
	case NF_PROBE_SOCK_RECV_LENGTH:
		if (!features->udp_frees_deferred)
			return "UDP readers of this kernel free their skbs themselves";
		return follows_queue(state, settings)
			       ? NULL
			       : "skb_attempt_defer_free names the skbs that are read";
	default:
		return NULL;
	}
}

static void set_unneeded(struct backend_bpf_state *state, enum nf_probe probe)
{
	state->probe[probe].state = PROBE_UNNEEDED;
	snprintf(state->probe[probe].reason, sizeof(state->probe[probe].reason),
		 "the kernel refused skb_attempt_defer_free: sock_recv_length replaces it");
}

void bpf_udp_replace(struct backend_bpf_state *state, const struct backend_settings *settings)
{
	if (state->probe[NF_PROBE_SKB_ATTEMPT_DEFER_FREE].state != PROBE_UNAVAILABLE ||
	    state->probe[NF_PROBE_SOCK_RECV_LENGTH].state != PROBE_UNNEEDED ||
	    settings->disabled[NF_PROBE_SOCK_RECV_LENGTH])
		return;
	state->probe[NF_PROBE_SOCK_RECV_LENGTH].state = PROBE_ATTACHED;
	set_unneeded(state, NF_PROBE_SKB_ATTEMPT_DEFER_FREE);
	if (state->probe[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB].state == PROBE_ATTACHED)
		set_unneeded(state, NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB);
}
