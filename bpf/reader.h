/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP readers, on kernels where no tracepoint names the skb they read.
 *
 * A linear UDP skb is copied past skb_copy_datagram_iovec (copy_linear_skb),
 * and since 6.18 (6471658dc66c) it is not freed in the reader's context but
 * deferred to the CPU that allocated it, later and often without a tracepoint.
 * What is left is sock_recv_length, which knows the socket, and that a UDP
 * socket is read in the order of its queue.
 *
 * So per socket we keep the skb that is next in line, looked up in the queue
 * itself: when data arrives at a socket whose next is not known, and after
 * each read.  A read then ended that skb's journey, provided that
 *   - its entry is still in the in-flight table, and marked for this socket;
 *   - it is no longer first in the queue (two readers, one overtook the other).
 * If one of them fails the read is not timed: nothing is guessed.  A CPU that
 * frees such an skb before its reader got to sock_recv_length ends the journey
 * itself (nf_consume_skb): next in line and freed, it has just been read.
 *
 * The daemon loads these two programs only on such kernels.
 */
#ifndef NF_READER_H
#define NF_READER_H

#include "path.h"

static __always_inline bool nf_reader_is_udp(const struct sock *sk)
{
	return sk && sk->sk_protocol == IPPROTO_UDP && sk->sk_type == SOCK_DGRAM;
}

static __always_inline struct nf_reader *nf_reader_at(__u64 sk)
{
	__u32 index = nf_hash(sk, settings.readers_shift);

	return bpf_map_lookup_elem(&nf_readers, &index);
}

/*
 * The kernel function of this name (6.2, a35b9af4ec2c; all kernels that need
 * this file have it).  A __ksym would make libbpf look for it in every module's
 * BTF where it is absent, which takes CAP_SYS_ADMIN; so this calls a helper
 * that does not exist, and the daemon puts in the kernel's function (load.c).
 */
static void *(*const bpf_rdonly_cast)(const void *object,
				      __u32 btf_id) = (void *)NF_CALL_RDONLY_CAST;

/* The skb that stands first in one queue; 0 = the queue is empty, its head points at itself. */
static __always_inline const struct sk_buff *nf_queue_first(const struct sk_buff_head *queue)
{
	const struct sk_buff *first = queue->next;

	return nf_address(first) == nf_address(queue) ? 0 : first;
}

/* udp_recvmsg takes from reader_queue, and refills it from sk_receive_queue. */
static __always_inline const struct sk_buff *nf_reader_first(const struct sock *sk)
{
	const struct udp_sock *up = bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct udp_sock));
	const struct sk_buff *first = nf_queue_first(&up->reader_queue);

	return first ? first : nf_queue_first(&sk->sk_receive_queue);
}

/* Keep the headers of the skb that is next in line: when it has been read it is gone. */
static __always_inline void nf_reader_keep(struct nf_reader *r, const struct sk_buff *skb)
{
	__u32 bytes = nf_net_bytes(skb);

	if (bytes > NF_READER_HEADER)
		bytes = NF_READER_HEADER;
	r->len = skb->len;
	r->protocol = bpf_ntohs(skb->protocol);
	r->net_len = 0;
	if (bytes && !bpf_probe_read_kernel(r->net, bytes, skb->head + skb->network_header))
		r->net_len = bytes;
}

static __always_inline void nf_reader_expect(struct nf_reader *r, __u64 sk,
					     const struct sk_buff *first)
{
	__u64 skb = first ? nf_address(first) : 0;
	struct nf_inflight *e = skb ? nf_inflight_at(skb) : 0;

	if (e && e->skb == skb && e->journey == NF_JOURNEY_RX && nf_inflight_intact(e, skb)) {
		e->sk = sk;
		nf_reader_keep(r, first);
	}
	/* A full barrier: either we see what arrives now, or nf_sk_data_ready sees this. */
	nf_exchange(&r->next, skb);
}

static __always_inline void nf_reader_data_ready(const struct sock *sk)
{
	__u64 number = nf_address(sk);
	struct nf_reader *r = nf_reader_at(number);

	if (!r)
		return;
	if (r->sk != number) {
		r->sk = number;
		nf_exchange(&r->next, 0);
	}
	if (!r->next)
		nf_reader_expect(r, number, nf_reader_first(sk));
}

static __always_inline void nf_reader_has_read(void *ctx, struct nf_cpu *cpu, const struct sock *sk)
{
	__u64 number = nf_address(sk), skb;
	struct nf_reader *r = nf_reader_at(number);
	const struct sk_buff *first;
	struct nf_inflight *e, path;

	if (!r || r->sk != number)
		return;
	skb = r->next;
	first = nf_reader_first(sk);
	if (skb && first && skb == nf_address(first))
		return;
	e = skb ? nf_inflight_at(skb) : 0;
	if (e && e->skb == skb && e->sk == number && e->journey == NF_JOURNEY_RX) {
		path = *e;
		if (nf_inflight_intact(&path, skb) &&
		    nf_inflight_end(cpu, NF_PROBE_SOCK_RECV_LENGTH, e, skb, NF_EVENT_DELIVERED))
			nf_path_delivered(ctx, cpu, NF_PROBE_SOCK_RECV_LENGTH, 0, &path, r, 0,
					  false);
	}
	nf_reader_expect(r, number, first);
	if (!first) {
		first = nf_reader_first(sk);
		if (first)
			nf_reader_expect(r, number, first);
	}
}

#endif
