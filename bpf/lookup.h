/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of the evidence as global functions, because the verifier checks them once and not once for each way to their
 * calls.  So they take no pointers, but addresses or the number of the CPU, whose nf_cpu.evidence has the
 * packet.
 */
#ifndef NF_LOOKUP_H
#define NF_LOOKUP_H

#include "raw.h"

#define NF_ETH_IPV4 0x0800
#define NF_ND_OPTIONS 8 /* of a message of neighbour discovery, that are looked at */

/* Sets nf_cpu.evidence.sock to the socket of a received TCP segment or UDP datagram, or to NF_FOUND_*. */
__u32 nf_find_socket(__u32 number, __u32 words);
__noinline __u32 nf_find_socket(__u32 number, __u32 words)
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
	if (!bpf_core_field_exists(net->hash_mix) || !nf_connection_read(e, words, &c))
		return 0;
	/* The setting is a constant to the verifier. */
	if (settings.udp_table && e->bits & NF_EVIDENCE_UDP)
		nf_find_datagram(&c, e);
	else if (bpf_core_field_exists(net->ipv4.tcp_death_row.hashinfo))
		e->sock = nf_find_stream(&c);
	return 0;
}

/* Sets it to the packet's raw socket, or to NF_FOUND_*.  `device`: the index of that which received the packet. */
__u32 nf_find_raw_socket(__u32 number, __u32 words, __u32 device);
__noinline __u32 nf_find_raw_socket(__u32 number, __u32 words, __u32 device)
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
	if (bpf_core_field_exists(net->hash_mix) && nf_connection_read(e, words, &c))
		e->sock = nf_find_raw(&c, e->next, device);
	return 0;
}

/*
 * Whether the packet is for a raw socket.  raw_rcv_skb() and rawv6_rcv_skb() have dropped the route before a queue is
 * full; of IPv4 they pass the packet with its IP header.
 */
static __always_inline bool nf_is_raw(__u32 reason, __u32 pulled, __u64 bits)
{
	if (settings.noproto_reason && reason == settings.noproto_reason)
		return true;
	return !settings.kfree_skb_rx_sk && !(bits & NF_EVIDENCE_ROUTE) &&
	       (!(bits & (NF_EVIDENCE_TCP | NF_EVIDENCE_UDP)) || !pulled);
}

/*
 * A kernel that does not pass the socket: whether to look for it as tcp_v4_rcv() and __udp4_lib_rcv() do.
 * What all readers of a group get has no socket of its own.
 */
static __always_inline bool nf_is_findable(__u64 bits)
{
	__u64 which = NF_EVIDENCE_TCP;

	if (settings.udp_table && !(bits & (NF_EVIDENCE_MULTICAST | NF_EVIDENCE_BROADCAST)))
		which |= NF_EVIDENCE_UDP;
	return bits & which && !settings.kfree_skb_rx_sk;
}

/*
 * For kernels that do not pass the socket to kfree_skb: sets nf_cpu.evidence.sock to the socket of a received
 * packet, or to NF_FOUND_*, or leaves it if it is not to be looked for.  `device`: the index of that which received the
 * packet; `pulled`: bytes from the network header to skb->data.  Returns nothing of use.
 */
__u32 nf_find_receiver(__u32 number, __u32 device, __u32 pulled, __u32 protocol);
__noinline __u32 nf_find_receiver(__u32 number, __u32 device, __u32 pulled, __u32 protocol)
{
	struct nf_cpu *cpu = bpf_map_lookup_elem(&nf_cpus, &number);
	__u32 words;
	__u64 bits;

	if (!cpu)
		return 0;
	bits = cpu->evidence.bits;
	if (cpu->evidence.sock || !(bits & NF_EVIDENCE_RECEIVED))
		return 0;
	words = protocol == bpf_htons(NF_ETH_IPV4) ? 1 : 4;
	if (nf_is_raw(cpu->evidence.reason, pulled, bits))
		nf_find_raw_socket(number, words, device);
	else if (nf_is_findable(bits))
		nf_find_socket(number, words);
	return 0;
}

/*
 * 1: the socket `address` has a filter, or its cgroup a program for all that it receives: sk_filter_trim_cap()
 * runs both; 0: not.  Before 5.15 a socket has its cgroup in a number that can also have a class of net_cls or
 * net_prio.  Then sock_cgroup_ptr() takes the root of all cgroups, whose programs are not known here: 1.
 */
__u32 nf_has_filter(__u64 address);
__noinline __u32 nf_has_filter(__u64 address)
{
	const struct sock *sk = (const void *)address;
	const struct bpf_prog_array *programs;
	const struct cgroup *cgroup = 0;
	__u64 number;

	if (BPF_CORE_READ(sk, sk_filter))
		return 1;
	if (!bpf_core_field_exists(cgroup->bpf.effective))
		return 0;
	if (bpf_core_field_exists(sk->sk_cgrp_data.cgroup)) {
		cgroup = BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	} else if (bpf_core_field_exists(sk->sk_cgrp_data.val)) {
		number = BPF_CORE_READ(sk, sk_cgrp_data.val);
		if (number & 3)
			return 1;
		cgroup = (const void *)number;
	}
	programs = BPF_CORE_READ(cgroup, bpf.effective[0]);
	return BPF_CORE_READ(programs, items[0].prog) != 0;
}

/*
 * As ndisc_parse_options(): each option begins with its type and its length in units of 8 bytes.  `at`: the address of
 * the first, `left`: bytes from there on.  False: a length is 0 or goes past the end; true: none does of the first
 * NF_ND_OPTIONS, or they cannot be read.
 */
static __always_inline bool nf_nd_options_fit(__u64 at, __u32 left)
{
	for (int i = 0; i < NF_ND_OPTIONS && left; i++) {
		__u8 option[2] = {};
		__u32 bytes;

		if (bpf_probe_read_kernel(option, sizeof(option), (const void *)at))
			return true;
		bytes = option[1] * 8;
		if (!bytes || bytes > left)
			return false;
		at += bytes;
		left -= bytes;
	}
	return true;
}

/*
 * The evidence of an ICMPv6 message at `address`, as ndisc_rcv(): a message of neighbour discovery that another link
 * sent, with a code, or whose options or fixed part do not fit.  `length`: of the message; `linear`: its bytes in the
 * linear part.
 */
__u64 nf_nd_evidence(__u64 address, __u32 hop_limit, __u32 length, __u32 linear);
__noinline __u64 nf_nd_evidence(__u64 address, __u32 hop_limit, __u32 length, __u32 linear)
{
	enum { SOLICITATION = 133, ADVERTISEMENT = 134, REDIRECT = 137 }; /* first, second, last */
	__u32 fixed = 24;
	__u8 icmp[2];
	__u64 bits = 0;

	if (bpf_probe_read_kernel(icmp, sizeof(icmp), (const void *)address) ||
	    icmp[0] < SOLICITATION || icmp[0] > REDIRECT)
		return 0;
	if (hop_limit != 255)
		bits |= NF_EVIDENCE_ND_FAR;
	if (icmp[1])
		bits |= NF_EVIDENCE_ND_CODE;
	if (icmp[0] <= ADVERTISEMENT)
		fixed = icmp[0] == ADVERTISEMENT ? 16 : 8;
	if (icmp[0] == REDIRECT)
		fixed = 40;
	if (length < fixed)
		bits |= NF_EVIDENCE_SHORT;
	else if (length <= linear && !nf_nd_options_fit(address + fixed, length - fixed))
		bits |= NF_EVIDENCE_ND_OPTIONS;
	return bits;
}

#endif
