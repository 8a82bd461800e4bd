/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of TCP streams.
 *
 * TCP appends an skb that arrives to the last one of a socket's queue where it
 * can (tcp_try_coalesce, also in the backlog), and frees what is left of it
 * without a tracepoint: its journey's end is not seen.  Its bytes are: they
 * stand behind the own ones of the skb that took them in, and are read with it.
 * So each copy to a reader is told apart into
 *   - own bytes of an skb that is, or was at its first copy, in the in-flight
 *     table: delivered;
 *   - bytes behind those: merged;
 *   - bytes of an skb that was not in the table: untracked.
 * An skb may be copied in several pieces, and be appended to between them.  A
 * socket is read by one task at a time, so the skb that it is at is kept per
 * socket.
 */
#ifndef NF_STREAM_H
#define NF_STREAM_H

#include "inflight.h"

static __always_inline struct nf_stream *nf_stream_at(__u64 sk)
{
	__u32 index = nf_hash(sk, settings.readers_shift);

	return bpf_map_lookup_elem(&nf_streams, &index);
}

/* More than the padding of a short frame and the tags that a received skb may still carry. */
#define NF_STREAM_SLACK 64

/*
 * Of TCP payload, what the skb brought itself; `len` is its length at receive,
 * from the network header on.  The length in its IP header is without padding
 * and tags, but a sender on this host shares the header with what it sends
 * again, and may have written another length there since.
 */
static __always_inline __u32 nf_stream_own(const struct sk_buff *skb, __u32 len)
{
	__u32 network = skb->network_header, transport = skb->transport_header;
	struct {
		__u8 version;
		__u8 tos;
		__be16 ip4_len; /* header included */
		__be16 ip6_len; /* behind the fixed header of 40 bytes */
	} ip;
	__u32 headers, ip_len;
	__u8 offset;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), skb->head + network) ||
	    bpf_probe_read_kernel(&offset, sizeof(offset), skb->head + transport + 12))
		return skb->len;
	ip_len = ip.version >> 4 == 4 ? bpf_ntohs(ip.ip4_len) : 40 + bpf_ntohs(ip.ip6_len);
	if (len - ip_len < NF_STREAM_SLACK)
		len = ip_len;
	headers = transport - network + (offset >> 4) * 4;
	len -= headers;
	return len < skb->len ? len : skb->len;
}

/*
 * `bytes` of a TCP skb are copied to a reader; `path`: its journey, where that
 * ends here, else NULL.  Returns how many bytes of others it holds now.
 */
static __always_inline __u32 nf_stream_copied(struct nf_cpu *cpu, const struct sk_buff *skb,
					      __u32 bytes, const struct nf_inflight *path)
{
	const struct sock *sk = skb->sk;
	__u32 own, len = skb->len, merged = 0;
	struct nf_stream *stream;
	__u64 number;

	if (!sk || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	number = nf_address(skb);
	stream = nf_stream_at(nf_address(sk));
	if (!stream)
		return 0;
	if (path) {
		own = nf_stream_own(skb, path->len);
		stream->sk = nf_address(sk);
		stream->skb = number;
		stream->own = own;
		stream->copied = 0;
		merged = len - own;
	}
	if (stream->skb != number || stream->sk != nf_address(sk) || stream->copied + bytes > len) {
		nf_add(&cpu->stream_bytes[NF_STREAM_UNTRACKED], bytes);
		return 0;
	}
	own = stream->own < bytes ? stream->own : bytes;
	stream->own -= own;
	stream->copied += bytes;
	if (stream->copied == len)
		stream->skb = 0; /* read to its end: it is freed now */
	nf_add(&cpu->stream_bytes[NF_STREAM_DELIVERED], own);
	nf_add(&cpu->stream_bytes[NF_STREAM_MERGED], bytes - own);
	return merged;
}

#endif
