/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket of a received packet, for kernels that do not pass it to kfree_skb. */
#ifndef NF_LOOKUP_H
#define NF_LOOKUP_H

#include "udp.h"

/*
 * Set nf_cpu.evidence.sock to the socket of a received TCP segment or UDP datagram, or to NF_FOUND_*.  A
 * global function, because the verifier checks it once and not once for each way to its call.  So it takes
 * no pointers.  Returns nothing of use.
 */
__u32 nf_find_socket(__u32 number);
__noinline __u32 nf_find_socket(__u32 number)
{
	struct nf_cpu *cpu = bpf_map_lookup_elem(&nf_cpus, &number);
	volatile struct nf_evidence_state *e;
	struct nf_connection c = {};
	const struct net *net = 0;

	(void)net;
	if (!cpu)
		return 0;
	e = &cpu->evidence;
	e->sock = NF_FOUND_NOT_KNOWN;
	if (!bpf_core_field_exists(net->hash_mix) || !nf_connection_read(e, &c))
		return 0;
	/* The setting is a constant to the verifier. */
	if (settings.udp_table && e->bits & NF_EVIDENCE_UDP)
		nf_find_datagram(&c, e);
	else if (bpf_core_field_exists(net->ipv4.tcp_death_row.hashinfo))
		e->sock = nf_find_stream(&c);
	return 0;
}

#endif
