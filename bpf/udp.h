/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of a received UDP datagram, found as __udp4_lib_lookup() and __udp6_lib_lookup() of 5.10
 * find it.  Only for kernels without drop reasons: later ones say what a socket does to a datagram.
 *
 * The table has a chain for each port of a namespace (udp_hashfn()).  Of a longer chain than
 * NF_CHAIN_MAX the rest is not looked at, and the result is "not known", as it is when sockets share the port
 * (SO_REUSEPORT) or are bound to a device.  All reads can fail: nothing here holds a lock.
 */
#ifndef NF_UDP_H
#define NF_UDP_H

#include "tcp.h"

/* How well a socket fits a datagram. */
enum nf_fit {
	NF_FIT_NOT,
	NF_FIT_PORT,
	NF_FIT_ADDRESS,
	NF_FIT_CONNECTED,
};

/* All ones if `word` is not 0.  barrier_var() keeps the compiler from making a branch of it. */
static __always_inline __u32 nf_mask_of(__u32 word)
{
	word |= -word;
	barrier_var(word);
	return -(word >> 31);
}

/* Without branches, because the verifier would follow each of them for each socket of a chain. */
static __always_inline __u32 nf_datagram_fit(const struct sock_common *sk,
					     const struct nf_connection *c)
{
	__u32 local = 0, remote = 0, port = BPF_CORE_READ(sk, skc_dport), connected, differs;

	bpf_probe_read_kernel(&local, sizeof(local), (const char *)sk + c->local_offset);
	bpf_probe_read_kernel(&remote, sizeof(remote), (const char *)sk + c->remote_offset);
	connected = nf_mask_of(port);
	differs = (BPF_CORE_READ(sk, skc_num) ^ c->number) |
		  ((BPF_CORE_READ(sk, skc_family) ^ AF_INET6) & c->family_mask) |
		  (BPF_CORE_READ_BITFIELD_PROBED(sk, skc_ipv6only) & c->ipv6only_mask) |
		  (nf_mask_of(local) & (local ^ c->local_word)) |
		  (connected & ((port ^ (__u16)c->ports) | (remote ^ c->remote_word)));
	if (differs || (__u64)BPF_CORE_READ(sk, skc_net.net) != c->net)
		return NF_FIT_NOT;
	return NF_FIT_PORT + (connected & 2) + (nf_mask_of(local) & ~connected & 1);
}

/*
 * Set e->sock and e->fit to the best socket so far, or to "not known" if it has no better claim than another.  They
 * are in a map, of whose contents the verifier knows nothing, so it does not follow each result by itself.
 */
static __always_inline void nf_datagram_consider(const struct sock_common *sk,
						 const struct nf_connection *c,
						 volatile struct nf_evidence_state *e)
{
	__u32 fit = nf_datagram_fit(sk, c);

	if (!fit || fit < e->fit)
		return;
	if (fit == e->fit || BPF_CORE_READ(sk, skc_bound_dev_if))
		e->sock = NF_FOUND_NOT_KNOWN;
	else
		e->sock = (__u64)sk;
	e->fit = fit;
}

static __always_inline void nf_find_datagram(const struct nf_connection *c,
					     volatile struct nf_evidence_state *e)
{
	const struct udp_table *table = (const void *)settings.udp_table;
	__u64 slot, node = 0;

	slot = (__u64)BPF_CORE_READ(table, hash);
	if (!slot)
		return;
	slot += (__u64)((c->number + c->mix) & BPF_CORE_READ(table, mask)) *
		bpf_core_type_size(struct udp_hslot);
	slot += bpf_core_field_offset(struct udp_hslot, head);
	if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)slot))
		return;
	e->sock = NF_FOUND_NONE;
	e->fit = NF_FIT_NOT;
	for (int i = 0; i < NF_CHAIN_MAX; i++) {
		if (!node)
			return;
		nf_datagram_consider((const void *)(node - bpf_core_field_offset(struct sock_common,
										 skc_nulls_node)),
				     c, e);
		if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)node)) {
			e->sock = NF_FOUND_NOT_KNOWN;
			return;
		}
	}
	if (node)
		e->sock = NF_FOUND_NOT_KNOWN;
}

#endif
