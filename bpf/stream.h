/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of TCP streams.
 *
 * Where it can, TCP appends an arriving skb to the last one of the socket's
 * queue (tcp_try_coalesce(), also in the backlog) and frees the rest of it
 * without a tracepoint.  The end of its journey is not seen, but its bytes are:
 * they follow the own bytes of the skb that received them, and are read with
 * it.  So the bytes of each copy to a reader are counted separately as
 *   - delivered: own bytes of an skb that is in the in-flight table, or was in
 *     it at its first copy;
 *   - merged: bytes behind the own ones;
 *   - untracked: bytes of an skb that was not in the table.
 * An skb can be copied in several parts, and TCP can append to it between them.
 * One task at a time reads a socket, so nf_stream keeps the current skb of each
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

/* Bytes; more than the padding of a short frame plus VLAN tags that a received skb can contain. */
#define NF_STREAM_SLACK 64

/*
 * The bytes of TCP payload that the skb had at receive, where its length from
 * the network header on was `len`.  The length in the IP header excludes padding
 * and tags.  But a sender on this host shares that header with the data that it
 * sends again, and can have written another length since; then `len` counts.
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
 * Count `bytes` of a TCP skb that are copied to a reader.  `path` is the skb's
 * journey if the copy ends it, otherwise NULL.  Returns the bytes in the skb
 * that were merged into it; 0 unless its journey ends.
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
		stream->skb = 0; /* read to its end, the kernel frees it now */
	nf_add(&cpu->stream_bytes[NF_STREAM_DELIVERED], own);
	nf_add(&cpu->stream_bytes[NF_STREAM_MERGED], bytes - own);
	return merged;
}

#endif
