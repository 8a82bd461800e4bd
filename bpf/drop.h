/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops: exact counters for every kfree_skb, and records that a token bucket
 * per key limits.
 *
 * Unlike at the stages of a path, skb->dev may not be a device here.  In a
 * queued skb it shares its memory with dev_scratch of UDP and with the
 * red-black tree node of TCP, IP fragments and fq.
 */
#ifndef NF_DROP_H
#define NF_DROP_H

#include "bytes.h"
#include "device.h"
#include "inflight.h"
#include "throttle.h"

#define NF_ETH_P_IP 0x0800
#define NF_ETH_P_IPV6 0x86dd

/*
 * Whether `dev` points to a live net_device: the loopback device of its
 * namespace is in that same namespace.  No other memory has this cycle.
 */
static __always_inline bool nf_device_is_real(const struct net_device *dev)
{
	const struct net *net;

	if (!dev)
		return false;
	net = dev->nd_net.net;
	return net && net->loopback_dev->nd_net.net == net && dev->ifindex > 0;
}

/* The device at which a packet was dropped, as its record and the key's info show it. */
struct nf_drop_device {
	__u32 netns; /* inode number */
	char name[NF_DEVICE_NAME];
};

/* The device of the last stage that the skb passed; false if it is not known. */
static __always_inline bool nf_drop_last_device(const struct nf_inflight *e,
						struct nf_drop_key *key,
						struct nf_drop_device *device)
{
	__u64 device_key;
	const struct nf_device_info *info = nf_device_of_slot(e->slot, &device_key);

	if (!info || !device_key)
		return false;
	key->netns = NF_KEY_NETNS_ID(device_key);
	key->ifindex = NF_KEY_IFINDEX(device_key);
	device->netns = info->netns;
	__builtin_memcpy(device->name, info->name, NF_DEVICE_NAME);
	return true;
}

/*
 * The device at which the skb is dropped, and its namespace, into `key` and
 * `device`; members that are not known stay 0.  `rx_sk` is the receiving socket
 * or NULL, `e` the in-flight entry of the skb or NULL.
 */
static __always_inline void nf_drop_find_device(const struct sk_buff *skb, const struct sock *rx_sk,
						const struct nf_inflight *e,
						struct nf_drop_key *key,
						struct nf_drop_device *device)
{
	const struct net_device *dev = skb->dev;
	const struct sock *sk = skb->sk;

	if (nf_device_is_real(dev)) {
		key->netns = nf_netns_id(dev->nd_net.net);
		key->ifindex = dev->ifindex;
		device->netns = dev->nd_net.net->ns.inum;
		bpf_probe_read_kernel_str(device->name, NF_DEVICE_NAME, dev->name);
		return;
	}
	if (e && nf_drop_last_device(e, key, device))
		return;
	/* Of the device that received the skb only the ifindex is known. */
	key->ifindex = skb->skb_iif > 0 ? skb->skb_iif : 0;
	if (!sk)
		sk = rx_sk;
	if (sk) {
		key->netns = nf_netns_id(sk->__sk_common.skc_net.net);
		device->netns = sk->__sk_common.skc_net.net->ns.inum;
	}
}

/* The protocol of the IPv4 header, or the next header of IPv6; false if it cannot be read. */
static __always_inline bool nf_drop_l4(const struct sk_buff *skb, __u16 protocol, __u8 *l4)
{
	__u32 offset = protocol == NF_ETH_P_IP ? 9 : 6; /* iphdr.protocol, ipv6hdr.nexthdr */

	if (protocol != NF_ETH_P_IP && protocol != NF_ETH_P_IPV6)
		return false;
	if (nf_net_bytes(skb) <= offset)
		return false;
	return bpf_probe_read_kernel(l4, 1, skb->head + skb->network_header + offset) == 0;
}

/* Each key has its own bucket, so that a flood of one key does not hide the drops of another. */
static __always_inline bool nf_drop_admit(struct nf_drop_info *info, __u64 now)
{
	return nf_throttle_admit(&info->bucket, now, settings.drop_interval_ns,
				 settings.drop_burst_ns);
}

static __always_inline void nf_drop_fill(const void *ctx, const struct nf_cpu *cpu,
					 const struct sk_buff *skb, const struct nf_drop_key *key,
					 const struct nf_drop_device *device, __u64 now,
					 struct nf_drop_record *r)
{
	r->flags = nf_in_task(cpu, ctx, &r->location) ? NF_DROP_TASK : 0;
	nf_header_fill(&r->header, NF_RECORD_DROP, NF_DROP_RECORD_PLAIN, now);
	r->location = key->location;
	r->reason = key->reason;
	r->netns = device->netns;
	r->netns_id = key->netns;
	r->reserved = 0;
	r->ifindex = key->ifindex;
	r->l4 = key->l4;
	r->stack_len = 0;
	if (key->flags & NF_KEY_L4)
		r->flags |= NF_DROP_L4;
	if (settings.kfree_skb_reason)
		r->flags |= NF_DROP_REASON;
	nf_task_fill(&r->task);
	__builtin_memcpy(r->device, device->name, NF_DEVICE_NAME);
	nf_bytes_fill(&r->bytes, skb);
}

/* Returns the event to count: recorded, or the ring buffer is full. */
static __always_inline enum nf_event nf_drop_send(void *ctx, const struct nf_cpu *cpu,
						  const struct sk_buff *skb,
						  const struct nf_drop_key *key,
						  const struct nf_drop_device *device, __u64 now)
{
	struct nf_drop_record *r;
	long bytes;

	if (!live.drop_stack) {
		r = bpf_ringbuf_reserve(&nf_ring, NF_DROP_RECORD_PLAIN, 0);
		if (!r)
			return NF_EVENT_DROP_RING_FULL;
		nf_drop_fill(ctx, cpu, skb, key, device, now, r);
		bpf_ringbuf_submit(r, 0);
		return NF_EVENT_DROP_RECORDED;
	}
	r = bpf_ringbuf_reserve(&nf_ring, sizeof(*r), 0);
	if (!r)
		return NF_EVENT_DROP_RING_FULL;
	nf_drop_fill(ctx, cpu, skb, key, device, now, r);
	bytes = bpf_get_stack(ctx, r->stack, sizeof(r->stack), 0);
	if (bytes > 0)
		r->stack_len = bytes / sizeof(r->stack[0]);
	r->header.size = sizeof(*r);
	bpf_ringbuf_submit(r, 0);
	return NF_EVENT_DROP_RECORDED;
}

/* Count the drop under its key; false if the key is new and the key table is full. */
static __always_inline bool nf_drop_count(const struct nf_drop_key *key, __u32 bytes, __u64 now)
{
	struct nf_drop_count *count = bpf_map_lookup_elem(&nf_drop_counts, key);

	if (!count) {
		struct nf_drop_count zero = {};

		count = nf_map_insert(&nf_drop_counts, key, &zero);
		if (!count)
			return false;
	}
	nf_add(&count->packets, 1);
	nf_add(&count->bytes, bytes);
	count->last_ns = now;
	return true;
}

/* The info of the key, with its token bucket; NULL if the key is new and the table is full. */
static __always_inline struct nf_drop_info *nf_drop_info(const struct nf_drop_key *key,
							 const struct nf_drop_device *device)
{
	struct nf_drop_info *info = bpf_map_lookup_elem(&nf_drop_infos, key);
	struct nf_drop_info fresh = {.netns = device->netns};

	if (info)
		return info;
	__builtin_memcpy(fresh.device, device->name, NF_DEVICE_NAME);
	return nf_map_insert(&nf_drop_infos, key, &fresh);
}

static __always_inline void nf_drop(void *ctx, struct nf_cpu *cpu, const struct sk_buff *skb,
				    const struct sock *rx_sk, __u64 location, __u32 reason)
{
	__u64 number = nf_address(skb), now = bpf_ktime_get_ns();
	struct nf_inflight *e = nf_inflight_at(number);
	struct nf_drop_key key = {.location = location, .reason = reason};
	bool ours = e && e->skb == number &&
		    nf_inflight_holds(cpu, NF_PROBE_KFREE_SKB, e, number, (__u64)skb->head);
	struct nf_drop_device device = {};
	struct nf_drop_info *info;

	key.protocol = bpf_ntohs(skb->protocol);
	if (nf_drop_l4(skb, key.protocol, &key.l4))
		key.flags = NF_KEY_L4;
	nf_drop_find_device(skb, rx_sk, ours ? e : 0, &key, &device);

	if (e && e->skb == number)
		nf_inflight_end(cpu, NF_PROBE_KFREE_SKB, e, number,
				ours ? NF_EVENT_DROPPED : NF_EVENT_INVALIDATED);

	nf_count(cpu, NF_PROBE_KFREE_SKB,
		 nf_drop_count(&key, skb->len, now) ? NF_EVENT_COUNTED : NF_EVENT_UNKEYED);
	info = nf_drop_info(&key, &device);
	/* A key without a bucket gets no record, because it could flood the ring buffer. */
	nf_count(cpu, NF_PROBE_KFREE_SKB,
		 info && nf_drop_admit(info, now) ? nf_drop_send(ctx, cpu, skb, &key, &device, now)
						  : NF_EVENT_DROP_THROTTLED);
}

#endif
