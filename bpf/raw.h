/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The raw socket of a received packet, found as raw_local_deliver() and raw6_local_deliver() find it.
 * Since 6.12 they pass over a socket whose queue is full, and the kernel then says IP_NOPROTO.
 * Before 6.2 raw_rcv() or rawv6_rcv() drops the packet without a reason.
 *
 * The tables have 256 chains.  Of a longer chain than NF_CHAIN_MAX the rest is not looked at, and the
 * result is "not known".  All reads can fail: nothing here holds a lock.
 */
#ifndef NF_RAW_H
#define NF_RAW_H

#include "udp.h"

#define NF_GOLDEN_RATIO 0x61C88647U /* GOLDEN_RATIO_32 of include/linux/hash.h */

/* The sockets of a chain so far, without branches: the verifier would follow each of them for each socket. */
struct nf_raw_found {
	__u64 sock;  /* the first that fits */
	__u32 count; /* of those that fit */
	__u32 room;  /* not 0: the queue of one of them is not full */
};

/*
 * All ones if the packet is for the socket: as raw_v4_match() and raw_v6_match(), without what they know of multicast
 * and of VRFs.  `device`: the index of that which received the packet.
 */
static __always_inline __u32 nf_raw_fits(const struct sock_common *sk,
					 const struct nf_connection *c, __u32 device)
{
	__u32 local = 0, remote = 0, bound = BPF_CORE_READ(sk, skc_bound_dev_if);
	__u64 net = (__u64)BPF_CORE_READ(sk, skc_net.net) ^ c->net;

	bpf_probe_read_kernel(&local, sizeof(local), (const char *)sk + c->local_offset);
	bpf_probe_read_kernel(&remote, sizeof(remote), (const char *)sk + c->remote_offset);
	return ~nf_mask_of(
		(BPF_CORE_READ(sk, skc_num) ^ c->number) | (nf_mask_of(bound) & (bound ^ device)) |
		(nf_mask_of(local) & (local ^ c->local_word)) |
		(nf_mask_of(remote) & (remote ^ c->remote_word)) | (__u32)net | (__u32)(net >> 32));
}

static __always_inline void nf_raw_consider(const struct sock *sk, __u32 fits,
					    struct nf_raw_found *found)
{
	__u32 full =
		BPF_CORE_READ(sk, sk_rcvbuf) - BPF_CORE_READ(sk, sk_backlog.rmem_alloc.counter) - 1;
	__u32 first = fits & ~nf_mask_of(found->count);

	/* Negative if the queue is full. */
	barrier_var(full);
	full >>= 31;
	barrier_var(full);
	found->room |= fits & ~full & 1;
	found->sock |= (__u64)sk & (__u64)(__s64)(__s32)first;
	found->count += fits & 1;
}

/*
 * The number of the chain of a protocol in a namespace.  6.3 (6579f5bacc2c) made raw_hashfunc() of it, and
 * aligned the chains to cache lines.
 */
static __always_inline __u32 nf_raw_chain(__u32 protocol, __u32 mix)
{
	if (bpf_core_field_offset(struct raw_hashinfo, ht) % NF_CACHE_LINE)
		return protocol;
	return (mix ^ protocol) * NF_GOLDEN_RATIO >> 24;
}

/* Whether the protocol is an extension header of IPv6, so not the packet's last, or not known. */
static __always_inline bool nf_is_extension(__u32 protocol)
{
	enum { HOP_BY_HOP = 0, ROUTING = 43, FRAGMENT = 44, DESTINATION = 60 };
	const __u64 extensions =
		1ULL << HOP_BY_HOP | 1ULL << ROUTING | 1ULL << FRAGMENT | 1ULL << DESTINATION;

	return protocol < 64 && extensions >> (protocol & 63) & 1;
}

/*
 * The address of the first socket that fits, or NF_FOUND_*: each socket that fits gets a copy of the packet, so several
 * say something only if all of them are full.  `c`: what nf_connection_read() has found;
 * its number becomes the protocol.
 */
static __always_inline __u64 nf_find_raw(struct nf_connection *c, __u32 protocol, __u32 device)
{
	__u64 six = c->words >> 2 & 1, first, node = 0;
	struct nf_raw_found found = {};

	barrier_var(six);
	first = settings.raw_table + six * (settings.raw6_table - settings.raw_table);
	if (!first || nf_is_extension(protocol))
		return NF_FOUND_NOT_KNOWN;
	c->number = protocol;
	first += bpf_core_field_offset(struct raw_hashinfo, ht);
	first += (__u64)nf_raw_chain(protocol, c->mix) * sizeof(node);
	if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)first))
		return NF_FOUND_NOT_KNOWN;
	/* From 5.19 to 6.2 the end of a chain is an odd number. */
	for (int i = 0; i < NF_CHAIN_MAX && node && !(node & 1); i++) {
		const void *sk = (const void *)(node - bpf_core_field_offset(struct sock_common,
									     skc_nulls_node));

		nf_raw_consider(sk, nf_raw_fits(sk, c, device), &found);
		if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)node))
			return NF_FOUND_NOT_KNOWN;
	}
	if ((node && !(node & 1)) || (found.count > 1 && found.room))
		return NF_FOUND_NOT_KNOWN;
	return found.count ? found.sock : NF_FOUND_NONE;
}

#endif
