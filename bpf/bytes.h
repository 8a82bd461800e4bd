/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts that all records share: the header, the packet's first bytes and the current task. */
#ifndef NF_BYTES_H
#define NF_BYTES_H

#include "compat.h"

/* `size`: bytes of the whole record; `now`: its time, CLOCK_MONOTONIC ns. */
static __always_inline void nf_header_fill(struct nf_record *header, enum nf_record_type type,
					   __u32 size, __u64 now)
{
	header->type = type;
	header->cpu = bpf_get_smp_processor_id();
	header->size = size;
	header->time_ns = now;
}

/* Bytes from the network header to the end of the linear part; 0 if the header is not set. */
static __always_inline __u32 nf_net_bytes(const struct sk_buff *skb)
{
	__u64 start, end;

	if (!skb->network_header) /* __alloc_skb() leaves it 0 */
		return 0;
	start = (__u64)skb->head + skb->network_header;
	end = (__u64)skb->data + (skb->len - skb->data_len);
	return end > start && end - start < 1 << 16 ? end - start : 0;
}

#define NF_SKB_GSO_UDP_L4 (1U << 17)

/*
 * The bytes of a GSO skb that each of its segments has: its headers.  The kernel itself
 * computes them so (qdisc_pkt_len_init()).
 */
static __always_inline __u32 nf_gso_header_bytes(const struct sk_buff *skb, __u32 gso_type)
{
	enum { SKB_GSO_TCPV4 = 1 << 0, SKB_GSO_TCPV6 = 1 << 4 };
	const __u32 tcp_offset = 12, udp_bytes = 8; /* of the data offset, in words of 32 bits */
	__u64 before = (__u64)skb->head + skb->transport_header - (__u64)skb->data;
	__u8 words = 0;

	/* The verifier allows only arithmetic of 64 bits on the two pointers. */
	barrier_var(before);
	if (skb->transport_header == 0xffff || before >= 1 << 16)
		return 0;
	if (gso_type & NF_SKB_GSO_UDP_L4)
		return before + udp_bytes;
	if (!(gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)))
		return before;
	bpf_probe_read_kernel(&words, 1, skb->head + skb->transport_header + tcp_offset);
	return before + (words >> 4) * 4;
}

/*
 * The packets on the wire that an skb is: the segments into which GSO cuts it, or from which
 * GRO made it.  An skb that comes from a guest or a tun device has only their size.
 */
static __always_inline __u32 nf_segments(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = (const void *)(skb->head + skb->end);
	__u32 size = BPF_CORE_READ(info, gso_size), segments, header;

	if (!size)
		return 1;
	segments = BPF_CORE_READ(info, gso_segs);
	if (segments)
		return segments;
	header = nf_gso_header_bytes(skb, BPF_CORE_READ(info, gso_type));
	if (skb->len <= header)
		return 1;
	return (skb->len - header + size - 1) / size;
}

static __always_inline void nf_bytes_fill(struct nf_bytes *b, const struct sk_buff *skb)
{
	unsigned char *head = skb->head;
	__u32 net = skb->network_header, mac = skb->mac_header;
	__u32 bytes = nf_net_bytes(skb);

	b->len = skb->len;
	b->protocol = bpf_ntohs(skb->protocol);
	b->vlan_proto = b->vlan_tci = 0;
	b->flags = b->l2_len = b->net_len = b->reserved = 0;
	b->segments = nf_segments(skb);
	if (mac < net && net - mac <= NF_L2_MAX) {
		__u32 l2 = net - mac;

		if (l2 <= NF_L2_MAX && bpf_probe_read_kernel(b->l2, l2, head + mac) == 0)
			b->l2_len = l2;
	}
	if (bytes > NF_NET_MAX)
		bytes = NF_NET_MAX;
	if (bytes && bpf_probe_read_kernel(b->net, bytes, head + net) == 0)
		b->net_len = bytes;
	if (nf_skb_has_vlan(skb)) {
		b->vlan_proto = bpf_ntohs(skb->vlan_proto);
		b->vlan_tci = skb->vlan_tci;
		b->flags |= NF_BYTES_VLAN;
	}
}

static __always_inline void nf_task_fill(struct nf_task *task)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	task->pid = pid_tgid >> 32;
	task->tid = pid_tgid;
	bpf_get_current_comm(task->comm, sizeof(task->comm));
}

#endif
