/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP readers, on kernels where no tracepoint names the skb that they read.
 *
 * The kernel copies a linear UDP skb with copy_linear_skb(), which does not
 * pass skb_copy_datagram_iovec.  Since 6.18 (6471658dc66c) the reader does not
 * free the skb with consume_skb either: skb_attempt_defer_free() leaves that to
 * the CPU that allocated it, later, or frees it without a tracepoint.  Only
 * sock_recv_length remains, which names the socket, and the fact that a UDP
 * socket is read in the order of its queue.
 *
 * So for each socket nf_reader.next is the skb that is next in line.  It is
 * looked up in the queue when data arrives at a socket whose next skb is not
 * known, and after each read.  A read ends the journey of this skb if
 *   - its entry is still in the in-flight table and marked for this socket;
 *   - it is no longer first in the queue.  It still is if two tasks read the
 *     socket and one overtook the other, or if it was freed and its memory is that of
 *     the one that is first now.
 * Otherwise the read is not timed, because its skb is not known.  A CPU can
 * free such an skb before the reader reaches sock_recv_length.  Then
 * nf_consume_skb ends the journey: next in line and freed, it was just read.
 *
 * While not all skbs are followed, `last` is the followed one that was queued last.  Up to it each read is
 * looked at, because the order of the queue is all there is to know; behind it none is.
 *
 * The daemon loads sock_recv_length, and sets settings.udp_reader, only on such
 * kernels.
 */
#ifndef NF_READER_H
#define NF_READER_H

#include "journey.h"

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
 * The kernel function bpf_rdonly_cast() (6.2, a35b9af4ec2c); all kernels that
 * need this file have it.  On a kernel without it, a __ksym makes libbpf search
 * the BTF of every module, which requires CAP_SYS_ADMIN.  So the object calls a
 * helper that does not exist, which load.c replaces by the kernel's function.  Its
 * name is our own, because newer headers of libbpf declare the __ksym.
 */
static void *(*const nf_rdonly_cast)(const void *object,
				     __u32 btf_id) = (void *)NF_CALL_RDONLY_CAST;

/* The first skb of a queue; NULL if the queue is empty: its head points to itself. */
static __always_inline const struct sk_buff *nf_queue_first(const struct sk_buff_head *queue)
{
	const struct sk_buff *first = queue->next;

	return nf_address(first) == nf_address(queue) ? 0 : first;
}

/* udp_recvmsg() reads from reader_queue and refills it from sk_receive_queue. */
static __always_inline const struct sk_buff *nf_reader_first(const struct sock *sk)
{
	const struct udp_sock *up = nf_rdonly_cast(sk, bpf_core_type_id_kernel(struct udp_sock));
	const struct sk_buff *first = nf_queue_first(&up->reader_queue);

	return first ? first : nf_queue_first(&sk->sk_receive_queue);
}

/* Keep the headers of the skb that is next in line, because after the read it is freed. */
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

/* Mark the entry of the skb that is first in the queue of a socket, unless it has been read since. */
static __always_inline bool nf_reader_mark(struct nf_inflight *e, __u64 skb, __u64 sk)
{
	__u64 none = nf_inflight_no_reader(*(volatile __u64 *)&e->begin_ns);

	return e->skb == skb && e->journey == NF_JOURNEY_RX && nf_inflight_intact(e, skb) &&
	       (nf_replace(&e->sk, none, sk) || e->sk == sk);
}

/* Make `first` the next skb of the socket; NULL: not known, the queue is empty. */
static __always_inline void nf_reader_expect(struct nf_reader *r, __u64 sk,
					     const struct sk_buff *first)
{
	__u64 skb = first ? nf_address(first) : 0;
	struct nf_inflight *e = skb ? nf_inflight_at(skb) : 0;

	if (e && nf_reader_mark(e, skb, sk))
		nf_reader_keep(r, first);
	/*
	 * A full barrier: of an skb that arrives now, either the caller sees it in the
	 * queue, or nf_sk_data_ready sees that the next skb is not known.
	 */
	nf_exchange(&r->next, skb);
}

static __always_inline void nf_reader_data_ready(struct nf_cpu *cpu, const struct sock *sk)
{
	__u64 number = nf_address(sk);
	struct nf_reader *r = nf_reader_at(number);

	if (unlikely(!r))
		return;
	if (unlikely(r->sk != number)) {
		r->sk = number;
		r->last = 0;
		nf_exchange(&r->next, 0);
	}
	if (settings.governor && cpu->ready)
		nf_exchange(&r->last, nf_address(sk->sk_receive_queue.prev));
	if (!r->next)
		nf_reader_expect(r, number, nf_reader_first(sk));
}

/*
 * No followed skb is left in the queue: the reads that come need not be looked at.  If one was queued at
 * this moment, they need.
 */
static __always_inline void nf_reader_rest(struct nf_reader *r, __u64 number, const struct sock *sk,
					   __u64 last)
{
	nf_exchange(&r->next, 0);
	if (!nf_replace(&r->last, last, 0))
		nf_reader_expect(r, number, nf_reader_first(sk));
}

/*
 * End the journey of an skb that was read, of which `path` is a copy.  The skb is freed.  Since the copy was made,
 * another CPU can have ended the journey, and given the memory to a new skb with the same number: then the entry is
 * its, and `check` is another one from its first moment on.  If that moment is between the look at `check` and the
 * exchange, the entry is given back, but a stage may have passed without it.
 */
static __always_inline bool nf_reader_end(struct nf_cpu *cpu, struct nf_inflight *e,
					  const struct nf_inflight *path, __u64 skb)
{
	volatile const __u64 *check = &e->check;
	volatile __u8 *present = nf_presence_leave(skb);
	__u64 old = 0;

	if (likely(*check == path->check))
		old = nf_exchange(&e->skb, 0);
	if (likely(old == skb && *check == path->check)) {
		nf_count(cpu, NF_PROBE_SOCK_RECV_LENGTH, NF_EVENT_DELIVERED);
	} else if (old == skb && nf_replace(&e->skb, 0, skb)) {
		nf_inflight_lose(cpu, NF_PROBE_SOCK_RECV_LENGTH, e);
		old = 0;
	} else if (old) {
		nf_inflight_overwritten(cpu, NF_PROBE_SOCK_RECV_LENGTH, e);
		old = 0;
	}
	nf_presence_left(present, skb);
	return old == skb;
}

static __always_inline void nf_reader_has_read(void *ctx, struct nf_cpu *cpu, const struct sock *sk)
{
	__u64 number = nf_address(sk), skb, last;
	struct nf_reader *r = nf_reader_at(number);
	const struct sk_buff *first;
	struct nf_inflight *e, path;

	if (unlikely(!r || r->sk != number))
		return;
	last = r->last;
	if (settings.governor && !last)
		return;
	skb = r->next;
	first = nf_reader_first(sk);
	if (skb && first && skb == nf_address(first)) {
		/* Or it was freed before this program ran, and the next one has got its memory. */
		nf_reader_expect(r, number, first);
		return;
	}
	e = skb ? nf_inflight_at(skb) : 0;
	if (e) {
		path = *e;
		if (path.skb == skb && path.sk == number && path.journey == NF_JOURNEY_RX &&
		    nf_inflight_intact(&path, skb) && nf_reader_end(cpu, e, &path, skb))
			nf_journey_delivered(ctx, cpu, NF_PROBE_SOCK_RECV_LENGTH, 0, &path, r, 0,
					     NF_READER_IN_TASK);
	}
	if (settings.governor && (skb == last || !first)) {
		nf_reader_rest(r, number, sk, last);
		return;
	}
	nf_reader_expect(r, number, first);
	if (!first) {
		first = nf_reader_first(sk);
		if (first)
			nf_reader_expect(r, number, first);
	}
}

#endif
