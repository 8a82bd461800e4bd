/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of a received TCP segment, found as tcp_v4_rcv() and tcp_v6_rcv() find it.  Only for
 * kernels before 6.11, which do not pass it to kfree_skb: a last ACK in TIME_WAIT and one that a
 * full accept queue refuses do not differ in any other way.
 *
 * The connections are in hash tables of chains (__inet_lookup_established(), inet_lhash2_lookup() of
 * 5.10 to 6.10).  Chains are short; of a longer one than NF_CHAIN_MAX the rest is not looked at, and
 * the result is "not known".  All reads can fail: nothing here holds a lock.
 */
#ifndef NF_TCP_H
#define NF_TCP_H

#include "cpu.h"

#define NF_CHAIN_MAX 8
#define NF_JHASH_INITIAL 0xdeadbeef /* JHASH_INITVAL of include/linux/jhash.h */

/*
 * A segment's connection, seen from this host.  The members from number on are what a socket is compared with:
 * without branches, because the verifier follows each way through each link of a chain.
 */
struct nf_connection {
	__u32 remote[4], local[4]; /* network byte order; of IPv4 only the first */
	__u32 ports;		   /* as inet_ehashfn() combines them */
	__u32 words;		   /* of an address: 1 or 4 */
	__u32 mix;		   /* of the namespace, added to each hash */
	__u32 number;		   /* the local port, host byte order */
	__u64 net;		   /* the address of the namespace */
	/* The last word of the addresses, and its offset in struct sock_common. */
	__u32 remote_word, remote_offset, local_word, local_offset;
	__u16 family_mask;   /* bits of the family that must be those of AF_INET6 */
	__u16 ipv6only_mask; /* bits of skc_ipv6only that must be 0 */
};

/* ---- Bob Jenkins' hash of up to three words, as in include/linux/jhash.h ------------ */

static __always_inline __u32 nf_rotate(__u32 word, __u32 by)
{
	return word << by | word >> (32 - by);
}

static __always_inline __u32 nf_jhash_end(__u32 a, __u32 b, __u32 c)
{
	c = (c ^ b) - nf_rotate(b, 14);
	a = (a ^ c) - nf_rotate(c, 11);
	b = (b ^ a) - nf_rotate(a, 25);
	c = (c ^ b) - nf_rotate(b, 16);
	a = (a ^ c) - nf_rotate(c, 4);
	b = (b ^ a) - nf_rotate(a, 14);
	return (c ^ b) - nf_rotate(b, 24);
}

/* jhash_3words(), and with 0 for the others jhash_1word(); `words`: 3 or 1. */
static __always_inline __u32 nf_jhash(__u32 a, __u32 b, __u32 c, __u32 words, __u32 initial)
{
	initial += NF_JHASH_INITIAL + (words << 2);
	return nf_jhash_end(a + initial, b + initial, c + initial);
}

/* jhash2() of the four words of an address. */
static __always_inline __u32 nf_jhash_address(const __u32 address[4], __u32 initial)
{
	__u32 a, b, c;

	a = b = c = initial + NF_JHASH_INITIAL + (4 << 2);
	a += address[0];
	b += address[1];
	c += address[2];
	a = (a - c) ^ nf_rotate(c, 4);
	c += b;
	b = (b - a) ^ nf_rotate(a, 6);
	a += c;
	c = (c - b) ^ nf_rotate(b, 8);
	b += a;
	a = (a - c) ^ nf_rotate(c, 16);
	c += b;
	b = (b - a) ^ nf_rotate(a, 19);
	a += c;
	c = (c - b) ^ nf_rotate(b, 4);
	b += a;
	return nf_jhash_end(a + address[3], b, c);
}

/* A secret of the kernel, which it makes when it first needs it; false: not known. */
static __always_inline bool nf_secret(__u64 address, __u32 *secret)
{
	return address && !bpf_probe_read_kernel(secret, sizeof(*secret), (const void *)address) &&
	       *secret;
}

/* inet_ehashfn() and inet6_ehashfn(). */
static __always_inline bool nf_connection_hash(const struct nf_connection *c, __u32 *hash)
{
	__u32 secret, address_secret;

	if (c->words == 1) {
		if (!nf_secret(settings.ehash_secret, &secret))
			return false;
		*hash = nf_jhash(c->local[0], c->remote[0], c->ports, 3, secret + c->mix);
		return true;
	}
	if (!nf_secret(settings.ehash6_secret, &secret) ||
	    !nf_secret(settings.ehash6_address_secret, &address_secret))
		return false;
	*hash = nf_jhash(c->local[3], nf_jhash_address(c->remote, address_secret), c->ports, 3,
			 secret + c->mix);
	return true;
}

/* ---- the tables ----------------------------------------------------------------- */

/* The result of a search: the address of a socket, or one of these. */
#define NF_FOUND_NONE 1ULL
#define NF_FOUND_NOT_KNOWN 2ULL

/* 0 if the socket is the connection. */
static __always_inline __u64 nf_connection_differs(const struct sock_common *sk,
						   const struct nf_connection *c, __u32 hash)
{
	__u32 remote = 0;

	bpf_probe_read_kernel(&remote, sizeof(remote), (const char *)sk + c->remote_offset);
	return (remote ^ c->remote_word) | (BPF_CORE_READ(sk, skc_hash) ^ hash) |
	       (((__u32)BPF_CORE_READ(sk, skc_num) << 16 | BPF_CORE_READ(sk, skc_dport)) ^
		c->ports) |
	       ((__u64)BPF_CORE_READ(sk, skc_net.net) ^ c->net);
}

/* 0 if the socket listens for the connection at `address`: its own or none. */
static __always_inline __u64 nf_listener_differs(const struct sock_common *sk,
						 const struct nf_connection *c, __u32 address)
{
	__u32 local = 0;

	bpf_probe_read_kernel(&local, sizeof(local), (const char *)sk + c->local_offset);
	return (local ^ address) | (BPF_CORE_READ(sk, skc_num) ^ c->number) |
	       ((BPF_CORE_READ(sk, skc_family) ^ AF_INET6) & c->family_mask) |
	       (BPF_CORE_READ_BITFIELD_PROBED(sk, skc_ipv6only) & c->ipv6only_mask) |
	       ((__u64)BPF_CORE_READ(sk, skc_net.net) ^ c->net);
}

/*
 * The first matching socket of a chain.  `offset`: of the node in the socket; `wanted`: the hash of a connection, or
 * the address of a listening socket.
 */
static __always_inline __u64 nf_chain_find(__u64 first, __u32 offset, const struct nf_connection *c,
					   bool listener, __u32 wanted)
{
	__u64 node = 0;

	if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)first))
		return NF_FOUND_NOT_KNOWN;
	for (int i = 0; i < NF_CHAIN_MAX; i++) {
		const struct sock_common *sk = (const void *)(node - offset);

		if (!node || node & 1)
			return NF_FOUND_NONE;
		if (!(listener ? nf_listener_differs(sk, c, wanted)
			       : nf_connection_differs(sk, c, wanted)))
			return (__u64)sk;
		if (bpf_probe_read_kernel(&node, sizeof(node), (const void *)node))
			return NF_FOUND_NOT_KNOWN;
	}
	/* Without a branch: the end of the chain, NF_FOUND_NONE, or more of it, NF_FOUND_NOT_KNOWN. */
	return NF_FOUND_NONE + ((node | -node) >> 63 & ~node & 1);
}

static __always_inline const struct inet_hashinfo *nf_hashinfo(const struct nf_connection *c)
{
	const struct net *net = (const void *)c->net;

	return BPF_CORE_READ(net, ipv4.tcp_death_row.hashinfo);
}

/* As __inet_lookup_established(). */
static __always_inline __u64 nf_find_established(const struct nf_connection *c)
{
	const struct inet_hashinfo *info = nf_hashinfo(c);
	__u64 table = (__u64)BPF_CORE_READ(info, ehash);
	__u32 hash = 0;

	if (!table || !nf_connection_hash(c, &hash))
		return NF_FOUND_NOT_KNOWN;
	table += (__u64)(hash & BPF_CORE_READ(info, ehash_mask)) *
		 bpf_core_type_size(struct inet_ehash_bucket);
	return nf_chain_find(table + bpf_core_field_offset(struct inet_ehash_bucket, chain),
			     bpf_core_field_offset(struct sock_common, skc_nulls_node), c, false,
			     hash);
}

/*
 * As inet_lhash2_lookup().  Since 5.19 (cae3873c5b3a) listening sockets stand in the table by their
 * ordinary node, before by one of their own.  `hash`: of the address, ipv4_portaddr_hash().
 */
static __always_inline __u64 nf_find_listener(const struct nf_connection *c, __u32 hash,
					      __u32 address)
{
	const struct inet_hashinfo *info = nf_hashinfo(c);
	const struct inet_connection_sock *icsk = 0;
	__u64 table = (__u64)BPF_CORE_READ(info, lhash2);
	__u32 offset;

	(void)icsk;
	if (!table)
		return NF_FOUND_NOT_KNOWN;
	if (bpf_core_field_exists(icsk->icsk_listen_portaddr_node))
		offset = bpf_core_field_offset(struct inet_connection_sock,
					       icsk_listen_portaddr_node);
	else
		offset = bpf_core_field_offset(struct sock_common, skc_nulls_node);
	table += (__u64)((hash ^ c->number) & BPF_CORE_READ(info, lhash2_mask)) *
		 bpf_core_type_size(struct inet_listen_hashbucket);
	return nf_chain_find(
		table + bpf_core_field_offset(struct inet_listen_hashbucket, nulls_head), offset, c,
		true, address);
}

/* ---- the packet ------------------------------------------------------------------ */

/*
 * The addresses and ports of a TCP or UDP packet; false: its namespace is not known.  `words`: of an address.  Without
 * branches: the verifier would follow each search once for IPv4 and once for IPv6.
 */
static __always_inline bool nf_connection_read(const volatile struct nf_evidence_state *e,
					       __u32 words, struct nf_connection *c)
{
	const __u32 remote4 = bpf_core_field_offset(struct sock_common, skc_daddr);
	const __u32 local4 = bpf_core_field_offset(struct sock_common, skc_rcv_saddr);
	const __u32 remote6 =
		bpf_core_field_offset(struct sock_common, skc_v6_daddr.in6_u.u6_addr32[3]);
	const __u32 local6 =
		bpf_core_field_offset(struct sock_common, skc_v6_rcv_saddr.in6_u.u6_addr32[3]);
	const unsigned char *ip = (const void *)e->ip;
	const struct net *net = (const void *)e->net;
	__u32 six = words >> 2 & 1; /* IPv6 */
	__u16 ports[2] = {};

	bpf_probe_read_kernel(ports, sizeof(ports), ip + e->header);
	c->number = bpf_ntohs(ports[1]);
	c->ports = c->number << 16 | ports[0];
	c->net = (__u64)net;
	c->mix = BPF_CORE_READ(net, hash_mix);
	c->words = words;
	bpf_probe_read_kernel(c->remote, 4 + six * 12, ip + 12 - six * 4);
	bpf_probe_read_kernel(c->local, 4 + six * 12, ip + 16 + six * 8);
	bpf_probe_read_kernel(&c->remote_word, 4, ip + 12 + six * 8);
	bpf_probe_read_kernel(&c->local_word, 4, ip + 16 + six * 20);
	c->remote_offset = remote4 + six * (remote6 - remote4);
	c->local_offset = local4 + six * (local6 - local4);
	c->ipv6only_mask = 1 - six;
	c->family_mask = six * 0xffff;
	return c->net;
}

/* As __inet_lookup(): the connection's socket, or the one that listens for it. */
static __always_inline __u64 nf_find_stream(const struct nf_connection *c)
{
	__u64 sock = nf_find_established(c);

	if (sock == NF_FOUND_NONE)
		sock = nf_find_listener(c,
					c->words == 1 ? nf_jhash(c->local[0], 0, 0, 1, c->mix)
						      : nf_jhash_address(c->local, c->mix),
					c->local_word);
	if (sock == NF_FOUND_NONE)
		sock = nf_find_listener(c, nf_jhash(0, 0, 0, 1, c->mix), 0);
	return sock;
}

#endif
