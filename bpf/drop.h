/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops: exact counters for every kfree_skb, and records that a token bucket
 * per key limits.  No drop is without a counter: if the table of keys is full, its
 * reason has one.
 *
 * Unlike at the stages of a path, skb->dev may not be a device here.  In a
 * queued skb it shares its memory with dev_scratch of UDP and with the
 * red-black tree node of TCP, IP fragments and fq.
 */
#ifndef NF_DROP_H
#define NF_DROP_H

#include "bytes.h"
#include "device.h"
#include "ethertypes.h"
#include "evidence.h"
#include "inflight.h"
#include "throttle.h"

/* The exact values that the record of a drop shows, also where its key is coarser. */
struct nf_dropped {
	__u64 cgroup;	/* of the socket, 0 = not known */
	__u64 evidence; /* NF_EVIDENCE_* */
	__u32 netns;	/* inode number */
	__u32 ifindex;
	__u32 device_id; /* as in nf_drop_key, also of a coarse key */
	__u32 segments;
	__u8 l4;
	__u8 l4_known;
	__u8 reserved[6];
	char device[NF_DEVICE_NAME] __attribute__((aligned(8)));
};

/* ---- the key ------------------------------------------------------------- */

/*
 * A packet of this host that has no device yet, as one that an output rule drops: the entry is of an older skb at its
 * address, whose end was not seen.  A received skb has the index of the device that received it.
 */
static __always_inline bool nf_drop_is_new(const struct sk_buff *skb, const struct net_device *dev,
					   const struct nf_inflight *e)
{
	return e->journey == NF_JOURNEY_RX && !skb->skb_iif && !nf_device_is_real(dev);
}

/* The device of the last stage that the skb passed; false if it is not known. */
static __always_inline bool nf_drop_last_device(const struct nf_inflight *e,
						struct nf_drop_key *key, struct nf_dropped *dropped)
{
	__u64 device_key;
	const struct nf_device_info *info = nf_device_of_slot(e->slot, &device_key);

	if (!info || !device_key)
		return false;
	key->netns = NF_KEY_NETNS_ID(device_key);
	key->device = NF_KEY_DEVICE(device_key);
	dropped->netns = info->netns;
	dropped->ifindex = info->ifindex;
	__builtin_memcpy(dropped->device, info->name, NF_DEVICE_NAME);
	return true;
}

/* The cgroup of the socket, or NULL, and its namespace if `dev` is no device. */
static __always_inline void nf_drop_find_socket(const struct sock *sk, const struct net_device *dev,
						struct nf_drop_key *key, struct nf_dropped *dropped)
{
	const struct net *net;

	key->cgroup = dropped->cgroup = nf_sock_cgroup(sk);
	if (!sk || nf_device_is_real(dev))
		return;
	net = sk->__sk_common.skc_net.net;
	key->netns = nf_netns_id(net);
	dropped->netns = net->ns.inum;
}

/*
 * The device at which the skb is dropped, and its namespace; members that are not known
 * stay as they are.  `dev` is what the skb has in the place of its device; `e` its in-flight entry or NULL.
 */
static __always_inline void nf_drop_find_device(const struct sk_buff *skb,
						const struct net_device *dev,
						const struct nf_inflight *e,
						struct nf_drop_key *key, struct nf_dropped *dropped)
{
	if (nf_device_is_real(dev)) {
		key->netns = nf_netns_id(dev->nd_net.net);
		key->device = nf_device_number(dev);
		dropped->ifindex = dev->ifindex;
		dropped->netns = dev->nd_net.net->ns.inum;
		bpf_probe_read_kernel_str(dropped->device, NF_DEVICE_NAME, dev->name);
		return;
	}
	if (e && nf_drop_last_device(e, key, dropped))
		return;
	/* Of the device that received the skb only the ifindex is known. */
	dropped->ifindex = skb->skb_iif > 0 ? skb->skb_iif : 0;
	key->device = dropped->ifindex ? NF_DEVICE_BY_INDEX | dropped->ifindex : 0;
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

#define NF_BIT(l4) (1ULL << ((l4)&63))

/*
 * The well-known IP protocols, a bit each: hop-by-hop options, ICMP, IGMP, IPIP, TCP, UDP,
 * DCCP, IPv6, its routing and fragment headers, GRE, ESP, AH, ICMPv6, no next header,
 * destination options, OSPF, PIM, IPComp, VRRP, L2TP, SCTP, mobility, UDP-Lite, MPLS.
 */
static const volatile __u64 nf_drop_known_l4[4] = {
	NF_BIT(0) | NF_BIT(1) | NF_BIT(2) | NF_BIT(4) | NF_BIT(6) | NF_BIT(17) | NF_BIT(33) |
		NF_BIT(41) | NF_BIT(43) | NF_BIT(44) | NF_BIT(47) | NF_BIT(50) | NF_BIT(51) |
		NF_BIT(58) | NF_BIT(59) | NF_BIT(60),
	NF_BIT(89) | NF_BIT(103) | NF_BIT(108) | NF_BIT(112) | NF_BIT(115),
	NF_BIT(132) | NF_BIT(135) | NF_BIT(136) | NF_BIT(137),
	0,
};

/*
 * The protocol, as far as the key distinguishes it.  A sender of raw frames chooses
 * EtherType and IP protocol, so only well-known ones have keys of their own.
 */
static __always_inline void nf_drop_find_protocol(const struct sk_buff *skb,
						  struct nf_drop_key *key,
						  struct nf_dropped *dropped)
{
	__u16 protocol = bpf_ntohs(skb->protocol);
	__u8 l4;

	key->protocol = protocol;
	if (protocol != NF_ETH_P_IP && protocol != NF_ETH_P_IPV6) {
		if (protocol && protocol < NF_ETH_P_MIN) {
			key->protocol = NF_PROTOCOL_LENGTH;
		} else if (protocol && !nf_drop_knows_protocol(protocol)) {
			key->protocol = 0;
			key->flags |= NF_KEY_OTHER_PROTOCOL;
		}
		return;
	}
	if (!nf_drop_l4(skb, protocol, &dropped->l4))
		return;
	dropped->l4_known = 1;
	l4 = dropped->l4;
	if (nf_drop_known_l4[l4 >> 6] & NF_BIT(l4)) {
		key->l4 = l4;
		key->flags |= NF_KEY_L4;
	} else {
		key->flags |= NF_KEY_OTHER_L4;
	}
}

/* ---- counting ------------------------------------------------------------ */

static __always_inline void nf_drop_add_to(__u64 *counter, __u64 n)
{
	if (settings.drop_shared)
		__sync_fetch_and_add(counter, n);
	else
		nf_add(counter, n);
}

static __always_inline void nf_drop_add(struct nf_drop_entry *entry, const struct sk_buff *skb,
					__u32 segments, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct nf_drop_shard *shard = &entry->shard[cpu & (settings.drop_shards - 1)];

	nf_drop_add_to(&shard->packets, 1);
	nf_drop_add_to(&shard->segments, segments);
	nf_drop_add_to(&shard->bytes, skb->len);
	shard->last_ns = now;
}

/* A device can be renamed.  CPUs that meet here write the same; a drop of a moment before can have the old name. */
static __always_inline void nf_drop_name(struct nf_drop_entry *entry,
					 const struct nf_dropped *dropped)
{
	const __u64 *from = (const void *)dropped->device;
	__u64 *to = (void *)entry->device;

	if (unlikely(to[0] != from[0] || to[1] != from[1])) {
		to[0] = from[0];
		to[1] = from[1];
	}
}

/* A generation has reached its limit: say so once, so that the daemon begins the next one. */
static __always_inline void nf_drop_report(__u32 generation)
{
	struct nf_record *r;

	if (drop_generations[generation].full)
		return;
	r = bpf_ringbuf_reserve(&nf_ring, sizeof(*r), 0);
	if (!r)
		return; /* the daemon also looks every second */
	drop_generations[generation].full = 1;
	nf_header_fill(r, NF_RECORD_DROP_KEYS, sizeof(*r), bpf_ktime_get_ns());
	bpf_ringbuf_submit(r, 0);
}

/*
 * Limit the keys of one namespace, so that one with thousands of devices or cgroups leaves
 * room for the others: beyond its quota, its drops are counted by reason, location and evidence.
 */
static __always_inline void nf_drop_coarsen(struct nf_drop_key *key)
{
	key->cgroup = 0;
	key->device = 0;
	key->protocol = 0;
	key->l4 = 0;
	key->flags = (key->flags & NF_KEY_GENERATION) | NF_KEY_COARSE;
}

/*
 * The entry of the coarser key, which is in `key` then; NULL: there is none yet.  Strangers choose
 * headers, and so evidence: a namespace with NF_DROP_EVIDENCES keys beyond its quota gets only keys
 * without evidence, at most two for each reason and location.  No evidence contradicts nothing.
 */
static __always_inline struct nf_drop_entry *nf_drop_coarse(struct nf_drop_key *key, __u64 beyond)
{
	struct nf_drop_entry *entry;

	nf_drop_coarsen(key);
	entry = bpf_map_lookup_elem(&nf_drops, key);
	if (entry || beyond < NF_DROP_EVIDENCES)
		return entry;
	key->evidence &= NF_EVIDENCE_MESSAGE;
	return bpf_map_lookup_elem(&nf_drops, key);
}

/* A key continues with the token bucket that it had in the previous generation. */
static __always_inline void nf_drop_keep_bucket(struct nf_drop_entry *entry,
						struct nf_drop_key *key)
{
	const struct nf_drop_entry *before;

	key->flags ^= NF_KEY_GENERATION;
	before = bpf_map_lookup_elem(&nf_drops, key);
	key->flags ^= NF_KEY_GENERATION;
	if (before)
		entry->bucket.full_ns = before->bucket.full_ns;
}

/*
 * Insert a new key, or a coarser one, into `key`.  NULL if the table is full.  Not inlined,
 * because keys are seldom new.
 */
static __noinline struct nf_drop_entry *nf_drop_insert(struct nf_drop_key *key,
						       const struct nf_dropped *dropped)
{
	__u32 generation = key->flags >> NF_KEY_GENERATION_SHIFT, first = 0;
	__u32 index = (generation & 1) * NF_DROP_QUOTAS + (key->netns & (NF_DROP_QUOTAS - 1));
	__u64 *quota = bpf_map_lookup_elem(&nf_drop_quotas, &index);
	const void *zero = bpf_map_lookup_elem(&nf_drop_zero, &first);
	struct nf_drop_entry *entry;
	__u64 limit;

	if (!quota || !zero)
		return 0;
	limit = dropped->netns == settings.host_netns ? settings.host_quota : settings.drop_quota;
	if (*quota >= limit) {
		entry = nf_drop_coarse(key, *quota - limit);
		if (entry)
			return entry;
	}
	entry = nf_map_insert(&nf_drops, key, zero);
	if (!entry) {
		nf_drop_report(generation & 1);
		return 0;
	}
	entry->netns = dropped->netns;
	if (!(key->flags & NF_KEY_COARSE))
		entry->ifindex = dropped->ifindex;
	nf_drop_keep_bucket(entry, key);
	__sync_fetch_and_add(quota, 1);
	__sync_fetch_and_add(&drop_generations[generation & 1].keys, 1);
	if (drop_generations[generation & 1].keys >= settings.drop_keys)
		nf_drop_report(generation & 1);
	return entry;
}

/* The counters of the reason alone, for a drop whose key found no room. */
static __noinline struct nf_drop_entry *nf_drop_by_reason(__u32 reason)
{
	struct nf_drop_entry *entry = bpf_map_lookup_elem(&nf_drop_reasons, &reason);
	__u32 first = 0, any = NF_DROP_REASON_ANY;
	const void *zero;

	if (entry)
		return entry;
	zero = bpf_map_lookup_elem(&nf_drop_zero, &first);
	if (!zero)
		return 0;
	entry = nf_map_insert(&nf_drop_reasons, &reason, zero);
	return entry ? entry : bpf_map_lookup_elem(&nf_drop_reasons, &any);
}

/* ---- records ------------------------------------------------------------- */

/* Each entry has its own bucket, so that a flood of one cause does not hide another. */
static __always_inline bool nf_drop_admit(struct nf_drop_entry *entry, __u64 now)
{
	return nf_throttle_admit(&entry->bucket, now, live.drop_interval_ns, live.drop_burst_ns);
}

static __always_inline void nf_drop_fill(const void *ctx, const struct nf_cpu *cpu,
					 const struct sk_buff *skb, const struct nf_drop_key *key,
					 const struct nf_dropped *dropped, __u64 now,
					 struct nf_drop_record *r)
{
	r->flags = !nf_task_is_known(cpu)		? NF_DROP_TASK_UNKNOWN
		   : nf_in_task(cpu, ctx, &r->location) ? NF_DROP_TASK
							: 0;
	nf_header_fill(&r->header, NF_RECORD_DROP, NF_DROP_RECORD_PLAIN, now);
	r->location = key->location;
	r->reason = key->reason;
	r->netns = dropped->netns;
	r->netns_id = key->netns;
	r->evidence = dropped->evidence;
	r->ifindex = dropped->ifindex;
	r->l4 = dropped->l4;
	r->device_id = dropped->device_id;
	r->stack_len = 0;
	if (dropped->l4_known)
		r->flags |= NF_DROP_L4;
	if (settings.kfree_skb_reason)
		r->flags |= NF_DROP_REASON;
	r->cgroup = dropped->cgroup;
	if (!r->cgroup && r->flags & NF_DROP_TASK)
		r->cgroup = bpf_get_current_cgroup_id();
	nf_task_fill(&r->task);
	__builtin_memcpy(r->device, dropped->device, NF_DEVICE_NAME);
	nf_bytes_fill(&r->bytes, skb);
}

/* Returns the event to count: recorded, or the ring buffer is full. */
static __always_inline enum nf_event nf_drop_send(void *ctx, const struct nf_cpu *cpu,
						  const struct sk_buff *skb,
						  const struct nf_drop_key *key,
						  const struct nf_dropped *dropped, __u64 now)
{
	struct nf_drop_record *r;
	long bytes;

	if (!live.drop_stack) {
		r = bpf_ringbuf_reserve(&nf_ring, NF_DROP_RECORD_PLAIN, 0);
		if (!r)
			return NF_EVENT_DROP_RING_FULL;
		nf_drop_fill(ctx, cpu, skb, key, dropped, now, r);
		bpf_ringbuf_submit(r, 0);
		return NF_EVENT_DROP_RECORDED;
	}
	r = bpf_ringbuf_reserve(&nf_ring, sizeof(*r), 0);
	if (!r)
		return NF_EVENT_DROP_RING_FULL;
	nf_drop_fill(ctx, cpu, skb, key, dropped, now, r);
	bytes = bpf_get_stack(ctx, r->stack, sizeof(r->stack), 0);
	if (bytes > 0)
		r->stack_len = bytes / sizeof(r->stack[0]);
	r->header.size = sizeof(*r);
	bpf_ringbuf_submit(r, 0);
	return NF_EVENT_DROP_RECORDED;
}

/* ---- the drop ------------------------------------------------------------ */

/* Count the drop under its key or, if there is no room, under its reason; the entry that has it. */
static __always_inline struct nf_drop_entry *
nf_drop_count(struct nf_cpu *cpu, const struct sk_buff *skb, struct nf_drop_key *key,
	      const struct nf_dropped *dropped, __u64 now)
{
	struct nf_drop_entry *entry;
	enum nf_event event = NF_EVENT_COUNTED;

	key->flags |= (live.drop_generation & 1) << NF_KEY_GENERATION_SHIFT;
	entry = bpf_map_lookup_elem(&nf_drops, key);
	if (!entry)
		entry = nf_drop_insert(key, dropped);
	if (!entry) {
		event = NF_EVENT_UNKEYED;
		entry = nf_drop_by_reason(key->reason);
	}
	nf_count(cpu, NF_PROBE_KFREE_SKB, event);
	if (entry && key->device && event == NF_EVENT_COUNTED)
		nf_drop_name(entry, dropped);
	if (entry)
		nf_drop_add(entry, skb, dropped->segments, now);
	return entry;
}

/*
 * The last event that this counts, of the record, also shows the daemon that the program has
 * ended, see daemon/probe/bpf/drops.c.
 */
static __always_inline void nf_drop(void *ctx, struct nf_cpu *cpu, const struct sk_buff *skb,
				    const struct sock *rx_sk, __u64 location, __u32 reason)
{
	__u64 number = nf_address(skb), now = bpf_ktime_get_ns();
	struct nf_drop_key key = {.location = location, .reason = reason};
	struct nf_dropped dropped = {.segments = nf_segments(skb)};
	const struct net_device *dev = skb->dev;
	const struct sock *sk = skb->sk;
	struct nf_drop_entry *entry;
	struct nf_inflight *e;
	bool ours;

	if (!sk)
		sk = rx_sk;
	nf_drop_find_socket(sk, dev, &key, &dropped);
	key.evidence = dropped.evidence = nf_evidence_of(cpu, skb, dev, sk, reason);

	e = nf_inflight_may_have(number) ? nf_inflight_at(number) : 0;
	ours = e && e->skb == number &&
	       nf_inflight_holds(cpu, NF_PROBE_KFREE_SKB, e, number, (__u64)skb->head) &&
	       !nf_drop_is_new(skb, dev, e);
	nf_drop_find_protocol(skb, &key, &dropped);
	nf_drop_find_device(skb, dev, ours ? e : 0, &key, &dropped);
	dropped.device_id = key.device;

	if (e && e->skb == number)
		nf_inflight_end(cpu, NF_PROBE_KFREE_SKB, e, number,
				ours ? NF_EVENT_DROPPED : NF_EVENT_INVALIDATED);

	entry = nf_drop_count(cpu, skb, &key, &dropped, now);
	nf_count(cpu, NF_PROBE_KFREE_SKB,
		 entry && nf_drop_admit(entry, now)
			 ? nf_drop_send(ctx, cpu, skb, &key, &dropped, now)
			 : NF_EVENT_DROP_THROTTLED);
}

#endif
