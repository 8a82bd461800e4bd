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
	__u32 index = sk * 0x9e3779b97f4a7c15ULL >> settings.readers_shift;

	return bpf_map_lookup_elem(&nf_streams, &index);
}

/*
 * Of TCP payload, what the skb brought itself, by its headers; 0 = not known.
 * What is longer than 64 KiB (BIG TCP) has no length there.
 */
static __always_inline __u32 nf_stream_own(const struct sk_buff *skb)
{
	__u32 network = skb->network_header, transport = skb->transport_header;
	struct {
		__u8 version;
		__u8 tos;
		__be16 ip4_len;  /* header included */
		__be16 ip6_len;  /* behind the fixed header of 40 bytes */
	} ip;
	__u32 end, payload;
	__u8 offset;

	if (bpf_probe_read_kernel(&ip, sizeof(ip), skb->head + network) ||
	    bpf_probe_read_kernel(&offset, sizeof(offset), skb->head + transport + 12))
		return 0;
	end = ip.version >> 4 == 4 ? bpf_ntohs(ip.ip4_len) : 40 + bpf_ntohs(ip.ip6_len);
	payload = transport - network + (offset >> 4) * 4;
	return end > payload && end - payload <= skb->len ? end - payload : 0;
}

/*
 * `bytes` of a TCP skb are copied to a reader; `begins`: its journey ends here.
 * Returns how many bytes of others it holds, as far as it is known now.
 */
static __always_inline __u32 nf_stream_copied(struct nf_cpu *cpu, const struct sk_buff *skb,
					      __u32 bytes, bool begins)
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
	if (begins) {
		own = nf_stream_own(skb);
		stream->sk = nf_address(sk);
		stream->skb = own ? number : 0;
		stream->own = own;
		stream->copied = 0;
		merged = own ? len - own : 0;
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
