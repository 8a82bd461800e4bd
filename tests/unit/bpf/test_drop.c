/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/drop.h: keys, devices and records of drops. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])

enum { LOCATION = 0x81000000, REASON = 3 };

/* The only key of the table. */
static const struct nf_drop_key *key(void)
{
	assert_int_equal(stand_in_keys(&nf_drops), 1);
	return stand_in_key(&nf_drops, 0);
}

static const struct nf_drop_record *record(void)
{
	const struct nf_drop_record *r = stand_in_record(-1, NULL);

	assert_int_equal(r->header.type, NF_RECORD_DROP);
	return r;
}

static struct nf_drop_entry *entry_at(const struct nf_drop_key *k)
{
	return stand_in_value(&nf_drops, k, 0);
}

static struct nf_drop_entry *reason_at(__u32 reason)
{
	return stand_in_value(&nf_drop_reasons, &reason, 0);
}

/* The sum of all shards, as the daemon reads an entry. */
static struct nf_drop_shard sum_of(const struct nf_drop_entry *entry)
{
	struct nf_drop_shard sum = {0};

	for (__u32 i = 0; i < settings.drop_shards; i++) {
		const struct nf_drop_shard *shard = &entry->shard[i];

		sum.packets += shard->packets;
		sum.segments += shard->segments;
		sum.bytes += shard->bytes;
		sum.last_ns = shard->last_ns > sum.last_ns ? shard->last_ns : sum.last_ns;
	}
	return sum;
}

static __u64 packets_of(const struct nf_drop_key *k)
{
	return sum_of(entry_at(k)).packets;
}

/* The drops under all keys with these flags, of those that `mask` has. */
static __u64 packets_with(__u8 mask, __u8 flags)
{
	__u64 packets = 0;

	for (__u32 i = 0; i < stand_in_keys(&nf_drops); i++) {
		const struct nf_drop_key *k = stand_in_key(&nf_drops, i);

		if ((k->flags & mask) == flags)
			packets += packets_of(k);
	}
	return packets;
}

static __u64 packets_by_reason(void)
{
	__u64 packets = 0;

	for (__u32 i = 0; i < stand_in_keys(&nf_drop_reasons); i++)
		packets += sum_of(stand_in_value(&nf_drop_reasons,
						 stand_in_key(&nf_drop_reasons, i), 0))
				   .packets;
	return packets;
}

static void assert_drops_balanced(void)
{
	const __u64 hits = event_of(NF_PROBE_KFREE_SKB, NF_EVENT_HIT);

	assert_int_equal(hits, events(NF_EVENT_COUNTED) + events(NF_EVENT_UNKEYED) +
				       events(NF_EVENT_COMPLETED));
	assert_int_equal(hits, events(NF_EVENT_DROP_RECORDED) + events(NF_EVENT_DROP_THROTTLED) +
				       events(NF_EVENT_DROP_RING_FULL) +
				       events(NF_EVENT_COMPLETED));
	assert_int_equal(packets_with(0, 0), events(NF_EVENT_COUNTED));
	assert_int_equal(packets_by_reason(), events(NF_EVENT_UNKEYED));
	assert_balanced();
}

EACH_TEST(path_begin, path_end);

TEST(test_key_and_record)
{
	struct sk_buff *skb = skb_new(NET_A);
	const struct nf_drop_record *r;
	size_t size;

	at(5000);
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->location, LOCATION);
	assert_int_equal(key()->reason, REASON);
	assert_int_equal(key()->netns, 1);
	assert_int_equal(key()->device, NF_DEVICE_BY_INDEX | 2);
	assert_int_equal(key()->protocol, 0x0800);
	assert_int_equal(key()->l4, IPPROTO_UDP);
	assert_int_equal(key()->flags, NF_KEY_L4);
	r = stand_in_record(-1, &size);
	assert_int_equal(size, NF_DROP_RECORD_PLAIN);
	assert_int_equal(r->header.size, NF_DROP_RECORD_PLAIN);
	assert_int_equal(r->header.time_ns, 5000);
	assert_int_equal(r->location, LOCATION);
	assert_int_equal(r->reason, REASON);
	assert_int_equal(r->netns, 4026531840U);
	assert_int_equal(r->netns_id, 1);
	assert_int_equal(r->ifindex, 2);
	assert_string_equal(r->device, "eth0");
	assert_string_equal(entry_at(key())->device, "eth0");
	assert_int_equal(entry_at(key())->netns, 4026531840U);
	assert_int_equal(r->flags, NF_DROP_REASON | NF_DROP_L4);
	assert_int_equal(r->stack_len, 0);
	assert_int_equal(r->bytes.len, 100);
	assert_int_equal(r->bytes.net_len, 100);
	assert_int_equal(r->bytes.l2_len, 14);
	assert_memory_equal(r->bytes.net, skb->head + MACHINE_NETWORK, 100);
	assert_drops_balanced();
}

/* A renamed device keeps its key, which has the name of its newest drop.  One with its name and ifindex has another. */
TEST(test_device_is_itself)
{
	struct kernfs_node first = {.id = 77}, second = {.id = 78};
	struct net_device dev = *NET_A;
	struct sk_buff *skb = skb_new(&dev);

	dev.dev.kobj.sd = &first;
	drop(skb, LOCATION, REASON);
	strcpy(dev.name, "renamed");
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->device, 77);
	assert_int_equal(packets_of(key()), 2);
	assert_string_equal(entry_at(key())->device, "renamed");
	assert_int_equal(entry_at(key())->ifindex, dev.ifindex);
	assert_int_equal(record()->device_id, 77);
	dev.dev.kobj.sd = &second;
	drop(skb, LOCATION, REASON);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	assert_int_equal(packets_of(stand_in_key(&nf_drops, 0)), 2);
	assert_int_equal(packets_of(stand_in_key(&nf_drops, 1)), 1);
	assert_drops_balanced();
}

/* Each CPU counts in its own shard of one key. */
TEST(test_every_cpu_counts)
{
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		on_cpu(cpu);
		at(5000 + cpu);
		drop(skb_new(NET_A), LOCATION, REASON);
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		const struct nf_drop_shard *shard = &entry_at(key())->shard[cpu];

		assert_int_equal(shard->packets, 2);
		assert_int_equal(shard->segments, 2);
		assert_int_equal(shard->bytes, 200);
		assert_int_equal(shard->last_ns, 5000 + cpu);
	}
	assert_drops_balanced();
}

static int adds;

static void count_adds(enum stand_in_point point)
{
	adds += point == STAND_IN_BEFORE_ADD;
}

/* More CPUs than shards: they share one, with atomic additions. */
TEST(test_shared_shards)
{
	settings.drop_shards = 2;
	settings.drop_shared = true;
	drop(skb_new(NET_A), LOCATION, REASON);
	stand_in.hook = count_adds;
	adds = 0;
	for (__u32 cpu = 1; cpu < MACHINE_CPUS; cpu++) {
		on_cpu(cpu);
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	assert_int_equal(adds, 3 * 3);
	assert_int_equal(entry_at(key())->shard[0].packets, 2);
	assert_int_equal(entry_at(key())->shard[1].packets, 2);
	assert_int_equal(entry_at(key())->shard[1].bytes, 200);
	assert_int_equal(entry_at(key())->shard[2].packets, 0);
	assert_drops_balanced();
}

/* ---- GSO ---- */

static struct skb_shared_info *shared_info(struct sk_buff *skb)
{
	skb->end = MACHINE_HEAD - sizeof(struct skb_shared_info);
	return memset(skb->head + skb->end, 0, sizeof(struct skb_shared_info));
}

/* The packets on the wire: those of the kernel, or as the kernel would cut them. */
TEST(test_segments)
{
	enum { TCPV4 = 1 << 0, UDP_L4 = 1 << 17, SIZE = 1448 };
	struct sk_buff *skb = skb_new(NET_A);
	struct skb_shared_info *info = shared_info(skb);

	assert_int_equal(nf_segments(skb), 1);
	info->gso_size = SIZE;
	info->gso_segs = 7;
	assert_int_equal(nf_segments(skb), 7);
	/* From a guest: only the size. */
	info->gso_segs = 0;
	info->gso_type = TCPV4;
	skb->head[MACHINE_TRANSPORT + 12] = 8 << 4;
	skb->len = 20 + 32 + 2 * SIZE;
	assert_int_equal(nf_segments(skb), 2);
	skb->len++;
	assert_int_equal(nf_segments(skb), 3);
	skb->len = 20 + 32;
	assert_int_equal(nf_segments(skb), 1);
	info->gso_type = UDP_L4;
	skb->len = 20 + 8 + SIZE + 1;
	assert_int_equal(nf_segments(skb), 2);
	skb->len--;
	assert_int_equal(nf_segments(skb), 1);
	info->gso_type = 0;
	skb->len = 20 + 3 * SIZE;
	assert_int_equal(nf_segments(skb), 3);
	/* The place of the transport header is not known, or behind data. */
	skb->transport_header = 0xffff;
	assert_int_equal(nf_segments(skb), 4);
	skb->transport_header = MACHINE_NETWORK - 1;
	assert_int_equal(nf_segments(skb), 4);
	skb->transport_header = MACHINE_TRANSPORT;
	info->gso_segs = 5;
	drop(skb, LOCATION, REASON);
	assert_int_equal(sum_of(entry_at(key())).packets, 1);
	assert_int_equal(sum_of(entry_at(key())).segments, 5);
	assert_int_equal(record()->bytes.segments, 5);
	assert_drops_balanced();
}

/* ---- the socket's cgroup ---- */

TEST(test_cgroup)
{
	struct cgroup cgroup = {.kn = &(struct kernfs_node){.id = 77}};
	struct sock sk = {.sk_cgrp_data.cgroup = &cgroup,
			  .__sk_common.skc_net.net = &machine.net[0]};
	struct sk_buff *skb = skb_new(NET_A);

	stand_in.cgroup = 55;
	in_task(true);
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->cgroup, 0); /* a task that happens to run is no key, */
	assert_int_equal(record()->cgroup, 55);
	in_task(false);
	skb->sk = &sk;
	drop(skb, LOCATION, REASON);
	assert_int_equal(record()->cgroup, 77); /* but a socket is */
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	/* A connection that is being closed has no cgroup. */
	sk.__sk_common.skc_state = 6;
	drop(skb, LOCATION, REASON);
	assert_int_equal(record()->cgroup, 0);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	assert_drops_balanced();
}

/* ---- skb->dev of a queued skb is no device ---- */

/* A queued skb whose `dev` is memory with nd_net at `net`. */
static struct sk_buff *with_dev(struct net_device *no_device, struct net *net)
{
	struct sk_buff *skb = skb_new(NET_A);

	memset(no_device, 0, sizeof(*no_device));
	no_device->ifindex = 0x7777;
	no_device->nd_net.net = net;
	skb->dev = no_device;
	return skb;
}

/*
 * TCP's queue and fq keep the skb in a red-black tree: `dev` is its parent, another skb, and what
 * would be nd_net there points to a third one, and on from there.
 */
TEST(test_dev_is_a_tree_node)
{
	static struct net_device parent, grandparent, loopback;
	static struct net third, fourth;
	struct sk_buff *skb = with_dev(&parent, &third);

	skb->skb_iif = 5;
	third.loopback_dev = &grandparent;
	third.net_cookie = 0x1234;
	grandparent.nd_net.net = &fourth;
	loopback.nd_net.net = NULL;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 0);
	assert_int_equal(key()->device, NF_DEVICE_BY_INDEX | 5);
	assert_int_equal(record()->netns, 0);
	assert_string_equal(record()->device, "");
	third.loopback_dev = &loopback;
	drop(skb, LOCATION, REASON);
	assert_int_equal(packets_of(key()), 2);
	skb->dev = NULL;
	drop(skb, LOCATION, REASON);
	assert_int_equal(packets_of(key()), 3);
	assert_drops_balanced();
}

/* The node's parent is NULL there, or the memory has the cycle but no ifindex. */
TEST(test_dev_is_real)
{
	static struct net_device dev, loopback;
	static struct net net;

	dev = *NET_A;
	assert_true(nf_device_is_real(&dev));
	assert_true(nf_device_is_real(&machine.dev[1][0]));
	dev.ifindex = 0;
	assert_false(nf_device_is_real(&dev));
	dev.ifindex = -5;
	assert_false(nf_device_is_real(&dev));
	dev.ifindex = 2;
	dev.nd_net.net = NULL;
	assert_false(nf_device_is_real(&dev));
	assert_false(nf_device_is_real(NULL));
	dev.nd_net.net = &net;
	net.loopback_dev = &loopback;
	loopback.nd_net.net = &machine.net[0];
	assert_false(nf_device_is_real(&dev));
}

/* netflowd saw the skb before: the device of its last stage. */
TEST(test_device_of_the_last_stage)
{
	static struct net_device parent;
	static struct net third;
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);

	third.loopback_dev = &parent;
	receive(skb);
	skb->skb_iif = 3;
	skb->dev = &parent;
	parent.nd_net.net = &third;
	third.loopback_dev = NET_A;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 2);
	assert_int_equal(key()->device, NF_DEVICE_BY_INDEX | 3);
	assert_string_equal(record()->device, "eth1");
	assert_int_equal(record()->netns, 4026531841U);
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	assert_drops_balanced();
}

/* A packet that is dropped before it has a device, at the address of a received one whose end was not seen. */
TEST(test_new_packet_at_an_old_address)
{
	struct cgroup cgroup = {.kn = &(struct kernfs_node){0}};
	struct sock sk = {.sk_cgrp_data.cgroup = &cgroup,
			  .__sk_common.skc_net.net = &machine.net[2]};
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);

	receive(skb);
	skb->dev = NULL;
	skb->skb_iif = 0;
	skb->sk = &sk;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 3);
	assert_int_equal(key()->device, 0);
	assert_int_equal(record()->netns, 4026531842U);
	assert_string_equal(record()->device, "");
	assert_int_equal(events(NF_EVENT_DROPPED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_drops_balanced();
}

/* A packet of this host that fq keeps in a tree: it has passed a stage of its own. */
TEST(test_queued_packet_of_this_host)
{
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);

	queue(skb);
	skb->dev = NULL;
	skb->skb_iif = 0;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 2);
	assert_string_equal(record()->device, "eth1");
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	assert_drops_balanced();
}

/* The daemon took the slot from the device: nobody knows it any more. */
TEST(test_device_that_lost_its_slot)
{
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);
	struct nf_device_set *set;
	__u32 index;

	receive(skb);
	index = entry_of(skb)->slot / NF_DEVICE_SET;
	set = stand_in_value(&nf_device_sets, &index, 0);
	set->key[entry_of(skb)->slot % NF_DEVICE_SET] = 0;
	skb->skb_iif = 3;
	skb->dev = NULL;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 0);
	assert_int_equal(key()->device, NF_DEVICE_BY_INDEX | 3);
	assert_string_equal(record()->device, "");
}

/* Of a queued skb at least the socket knows the namespace. */
TEST(test_namespace_of_the_socket)
{
	struct cgroup cgroup = {.kn = &(struct kernfs_node){0}};
	struct sock sk = {.sk_cgrp_data.cgroup = &cgroup,
			  .__sk_common.skc_net.net = &machine.net[2]};
	struct sk_buff *skb = skb_new(NET_A);

	skb->dev = NULL;
	skb->sk = &sk;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 3);
	assert_int_equal(record()->netns, 4026531842U);
	skb->sk = NULL;
	RUN(nf_kfree_skb, skb, LOCATION, REASON, &sk);
	assert_int_equal(packets_of(key()), 2);
	/* Before 6.11 the tracepoint has no receiving socket. */
	settings.kfree_skb_rx_sk = false;
	RUN(nf_kfree_skb, skb, LOCATION, REASON, &sk);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	assert_drops_balanced();
}

/* Without cookies (before 5.12) the inode number stands for the namespace. */
TEST(test_namespace_without_cookie)
{
	stand_in.missing[2] = "net_cookie";
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(key()->netns, 4026531840U);
	stand_in.missing[2] = NULL;
	machine.net[0].net_cookie = 0;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(packets_of(key()), 2);
}

/* ---- what is not known of a packet ---- */

TEST(test_no_l4)
{
	struct sk_buff *skb = skb_new(NET_A);

	skb->protocol = bpf_htons(0x0806); /* ARP */
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->flags, 0);
	assert_int_equal(record()->flags & NF_DROP_L4, 0);
}

/* The header is shorter than the protocol's place, not set, or not readable. */
TEST(test_unreadable_l4)
{
	struct sk_buff *skb = skb_new(NET_A);

	skb->len = 9;
	drop(skb, LOCATION, REASON);
	skb->len = 100;
	skb->network_header = 0;
	drop(skb, LOCATION, REASON);
	assert_int_equal(record()->bytes.net_len, 0);
	skb->network_header = MACHINE_NETWORK;
	stand_in.unreadable[0].from = skb->head;
	stand_in.unreadable[0].size = MACHINE_HEAD;
	drop(skb, LOCATION, REASON);
	assert_int_equal(packets_of(key()), 3);
	assert_int_equal(key()->flags, 0);
	assert_int_equal(record()->bytes.net_len, 0);
	assert_int_equal(record()->bytes.l2_len, 0);
	skb->len = 10; /* just long enough */
	stand_in.unreadable[0].size = 0;
	drop(skb, LOCATION, REASON);
	assert_int_equal(record()->l4, IPPROTO_UDP);
}

TEST(test_l4_of_ipv6)
{
	struct sk_buff *skb = skb_new(NET_A);

	skb->protocol = bpf_htons(0x86dd);
	skb->head[MACHINE_NETWORK + 6] = 58;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->l4, 58);
	assert_int_equal(key()->protocol, 0x86dd);
}

TEST(test_no_reason)
{
	settings.kfree_skb_reason = false;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(key()->reason, 0);
	assert_int_equal(record()->flags & NF_DROP_REASON, 0);
}

/* A tag in the skb's metadata; how the kernel shows it depends on the version. */
TEST(test_vlan)
{
	struct sk_buff *skb = skb_new(NET_A);
	struct nf_bytes b;

	skb->vlan_proto = bpf_htons(0x8100);
	skb->vlan_tci = 5;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.flags, NF_BYTES_VLAN);
	assert_int_equal(b.vlan_proto, 0x8100);
	assert_int_equal(b.vlan_tci, 5);
	/* Since 6.2 the tag is there if vlan_all is not 0; the stand-in has it where dev is. */
	stand_in.missing[1] = NULL;
	skb->dev = NULL;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.flags, 0);
	((struct sk_buff___vlan_all *)skb)->vlan_all = 1;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.flags, NF_BYTES_VLAN);
	/* Up to 6.1 a bit says so, and vlan_all is no field. */
	stand_in.missing[0] = NULL;
	((struct sk_buff___vlan_bit *)skb)->vlan_present = 0;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.flags, 0);
	assert_int_equal(b.vlan_tci, 0);
	((struct sk_buff___vlan_bit *)skb)->vlan_present = 1;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.flags, NF_BYTES_VLAN);
}

/* Only the linear part is read, and never more than the record holds. */
TEST(test_bytes)
{
	struct sk_buff *skb = skb_new(NET_A);
	struct nf_bytes b;

	skb->len = 1000;
	skb->data_len = 960;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.len, 1000);
	assert_int_equal(b.net_len, 40);
	skb->len = 200;
	skb->data_len = 0;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.net_len, NF_NET_MAX);
	/* The MAC header is too long, or behind the network header. */
	skb->network_header = 40;
	skb->mac_header = 40 - NF_L2_MAX - 1;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.l2_len, 0);
	skb->mac_header++;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.l2_len, NF_L2_MAX);
	skb->mac_header = 0xffff;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.l2_len, 0);
	/* All data was pulled: data is behind the linear part's end as seen from the header. */
	skb->len = skb->data_len = 500;
	skb->data = skb->head + 20;
	nf_bytes_fill(&b, skb);
	assert_int_equal(b.net_len, 0);
}

/* ---- limits ---- */

/* More keys than the table holds: counted and recorded by their reason. */
TEST(test_full_table)
{
	for (int i = 0; i < PATH_DROP_KEYS + 5; i++)
		drop(skb_new(NET_A), LOCATION + i, i % 2 ? REASON : REASON + 1);
	assert_int_equal(events(NF_EVENT_COUNTED), PATH_DROP_KEYS);
	assert_int_equal(events(NF_EVENT_UNKEYED), 5);
	assert_int_equal(sum_of(reason_at(REASON)).packets, 2);
	assert_int_equal(sum_of(reason_at(REASON)).bytes, 200);
	assert_int_equal(sum_of(reason_at(REASON)).segments, 2);
	assert_int_equal(sum_of(reason_at(REASON + 1)).packets, 3);
	/* The records are as many, and exact. */
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), PATH_DROP_KEYS + 5);
	assert_int_equal(record()->location, LOCATION + PATH_DROP_KEYS + 4);
	assert_string_equal(record()->device, "eth0");
	drop(skb_new(NET_A), LOCATION, REASON + 1);
	assert_int_equal(events(NF_EVENT_COUNTED), PATH_DROP_KEYS + 1);
	assert_drops_balanced();
}

/* More reasons than there is room for: those without a counter have one together. */
TEST(test_full_reasons)
{
	for (int i = 0; i < PATH_DROP_KEYS; i++)
		drop(skb_new(NET_A), LOCATION + i, REASON);
	for (int i = 0; i < 10; i++)
		drop(skb_new(NET_A), LOCATION - 1 - i, 100 + i);
	assert_int_equal(stand_in_keys(&nf_drop_reasons), PATH_DROP_REASONS);
	assert_int_equal(sum_of(reason_at(NF_DROP_REASON_ANY)).packets,
			 10 - (PATH_DROP_REASONS - 1));
	assert_int_equal(sum_of(reason_at(100)).packets, 1);
	assert_int_equal(events(NF_EVENT_UNKEYED), 10);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), PATH_DROP_KEYS + 10);
	assert_int_equal(record()->reason, 109);
	assert_drops_balanced();
}

/* ---- generations ---- */

/* As the daemon begins a generation, see begin_generation() in daemon/probe/bpf/drops.c. */
static void begin_generation(__u32 generation)
{
	for (__u32 i = 0; i < NF_DROP_QUOTAS; i++) {
		__u32 index = generation * NF_DROP_QUOTAS + i;

		*(__u64 *)stand_in_value(&nf_drop_quotas, &index, 0) = 0;
	}
	drop_generations[generation].keys = drop_generations[generation].full = 0;
	live.drop_generation = generation;
}

/* A key has counters in each generation, and its record does not show which. */
TEST(test_generations)
{
	drop(skb_new(NET_A), LOCATION, REASON);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(drop_generations[0].keys, 1);
	begin_generation(1);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	assert_int_equal(packets_with(NF_KEY_GENERATION, 0), 2);
	assert_int_equal(packets_with(NF_KEY_GENERATION, NF_KEY_GENERATION), 1);
	assert_int_equal(drop_generations[0].keys, 1);
	assert_int_equal(drop_generations[1].keys, 1);
	/* The daemon takes the old keys; the next generation has the first one's number again. */
	for (__u32 i = 0; i < stand_in_keys(&nf_drops);) {
		const struct nf_drop_key *k = stand_in_key(&nf_drops, i);

		if (k->flags & NF_KEY_GENERATION)
			i++;
		else
			stand_in_delete(&nf_drops, k);
	}
	begin_generation(0);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(packets_with(NF_KEY_GENERATION, 0), 1);
	assert_int_equal(drop_generations[0].keys, 1);
}

/* A program that read the old generation before it ended inserts its key there. */
static void end_generation(enum stand_in_point point)
{
	if (point != STAND_IN_UPDATE)
		return;
	stand_in.hook = NULL;
	begin_generation(1);
	on_cpu(1);
	drop(skb_new(NET_A), LOCATION, REASON);
	on_cpu(0);
}

TEST(test_generation_ends_during_a_drop)
{
	struct sk_buff *skb = skb_new(NET_A);

	stand_in.hook = end_generation;
	drop(skb, LOCATION, REASON);
	assert_null(stand_in.hook);
	assert_int_equal(packets_with(NF_KEY_GENERATION, 0), 1);
	assert_int_equal(packets_with(NF_KEY_GENERATION, NF_KEY_GENERATION), 1);
	assert_int_equal(drop_generations[0].keys, 1);
	assert_int_equal(drop_generations[1].keys, 1);
	assert_drops_balanced();
}

/* The token bucket of a key goes on in the next generation. */
TEST(test_bucket_of_the_next_generation)
{
	live.drop_interval_ns = 1000000;
	live.drop_burst_ns = 2000000;
	at(10000000);
	for (int i = 0; i < 3; i++)
		drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 3);
	begin_generation(1);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 3);
	assert_int_equal(events(NF_EVENT_DROP_THROTTLED), 1);
	assert_drops_balanced();
}

static __u64 key_reports(void)
{
	__u64 count = 0;

	for (size_t i = 0; i < stand_in_records(); i++) {
		size_t size;
		const struct nf_record *r = stand_in_record((long)i, &size);

		count += r->type == NF_RECORD_DROP_KEYS;
		assert_true(r->type != NF_RECORD_DROP_KEYS ||
			    (size == sizeof(*r) && r->size == size));
	}
	return count;
}

/* The generation reaches its limit: one record wakes the daemon, and the keys go on. */
TEST(test_limit_of_a_generation)
{
	settings.drop_keys = 4;
	for (int i = 0; i < 3; i++)
		drop(skb_new(NET_A), LOCATION + i, REASON);
	assert_int_equal(key_reports(), 0);
	assert_int_equal(drop_generations[0].full, 0);
	stand_in.ring_full = true;
	drop(skb_new(NET_A), LOCATION + 3, REASON);
	stand_in.ring_full = false;
	assert_int_equal(drop_generations[0].full, 0); /* the next one tries again */
	drop(skb_new(NET_A), LOCATION + 4, REASON);
	drop(skb_new(NET_A), LOCATION + 5, REASON);
	assert_int_equal(key_reports(), 1);
	assert_int_equal(drop_generations[0].full, 1);
	assert_int_equal(stand_in_keys(&nf_drops), 6);
	begin_generation(1);
	for (int i = 0; i < 4; i++)
		drop(skb_new(NET_A), LOCATION + i, REASON);
	assert_int_equal(key_reports(), 2);
	assert_drops_balanced();
}

/* ---- quotas ---- */

/* A namespace that has used up its quota gets coarse keys; another one has its own. */
TEST(test_quota)
{
	const struct nf_drop_key *k;
	struct net_device *other = &machine.dev[1][1];

	settings.drop_quota = 3;
	for (int i = 0; i < 3; i++) {
		NET_A->ifindex = 10 + i;
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	assert_int_equal(packets_with(NF_KEY_COARSE, 0), 3);
	for (int i = 3; i < 10; i++) {
		NET_A->ifindex = 10 + i;
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	assert_int_equal(stand_in_keys(&nf_drops), 4);
	assert_int_equal(packets_with(NF_KEY_COARSE, NF_KEY_COARSE), 7);
	k = stand_in_key(&nf_drops, 3);
	assert_int_equal(k->location, LOCATION);
	assert_int_equal(k->reason, REASON);
	assert_int_equal(k->netns, 1);
	assert_int_equal(k->cgroup, 0);
	assert_int_equal(k->device, 0);
	assert_int_equal(k->protocol, 0);
	assert_int_equal(k->l4, 0);
	assert_int_equal(k->flags, NF_KEY_COARSE);
	assert_int_equal(entry_at(k)->ifindex, 0);
	assert_string_equal(entry_at(k)->device, "");
	assert_int_equal(entry_at(k)->netns, 4026531840U);
	/* Its record is exact. */
	assert_int_equal(record()->ifindex, 19);
	assert_int_equal(record()->l4, IPPROTO_UDP);
	assert_string_equal(record()->device, "eth0");
	/* What has a key of its own keeps it. */
	NET_A->ifindex = 11;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(packets_with(NF_KEY_COARSE, 0), 4);
	drop(skb_new(other), LOCATION, REASON);
	assert_int_equal(packets_with(NF_KEY_COARSE, 0), 5);
	assert_drops_balanced();
}

/* Evidence that a sender chooses: beyond a limit it has no keys, and what has one keeps it. */
TEST(test_evidence_is_limited)
{
	enum { ROUNDS = 600, SMALL = 8 };
	__u32 with = 0, without = 0;

	settings.evidence[REASON] = NF_EVIDENCE_ALL;
	settings.drop_quota = SMALL;
	for (__u32 i = 0; i < 2 * ROUNDS; i++) {
		struct sk_buff *skb = skb_new(NET_A);
		__u32 n = i % ROUNDS;

		skb->pkt_type = n & 3;
		skb->skb_iif = n >> 2 & 1;
		skb->ip_summed = n >> 3 & 1;
		skb->active_extensions = n >> 4 & 1;
		skb->head[MACHINE_NETWORK + 8] = 1 + (n >> 5 & 1);
		skb->head[MACHINE_NETWORK + 6] = (n >> 6 & 1) << 5;
		skb->head[MACHINE_NETWORK + 16] = n >> 7 & 1;
		skb->head[MACHINE_NETWORK] = n >> 8 & 1 ? 0x45 : 0x55;
		skb->head[MACHINE_NETWORK + 12] = n >> 9 & 1;
		drop(skb, LOCATION, REASON);
		assert_true(record()->evidence & NF_EVIDENCE_KNOWN); /* a record has its own */
	}
	for (__u32 i = 0; i < stand_in_keys(&nf_drops); i++) {
		const struct nf_drop_key *key = stand_in_key(&nf_drops, i);

		if (key->evidence)
			with++;
		else
			without++;
	}
	assert_int_equal(with, SMALL + NF_DROP_EVIDENCES);
	assert_int_equal(without, 1);
	assert_int_equal(packets_with(0, 0), 2 * ROUNDS);
	assert_drops_balanced();
}

/* The daemon's own namespace has a quota of its own, and each generation begins at 0. */
TEST(test_quota_of_the_host)
{
	settings.drop_quota = 1;
	settings.host_quota = 4;
	settings.host_netns = 4026531840U;
	for (int i = 0; i < 8; i++) {
		NET_A->ifindex = 10 + i;
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	assert_int_equal(packets_with(NF_KEY_COARSE, 0), 4);
	begin_generation(1);
	for (int i = 0; i < 8; i++) {
		NET_A->ifindex = 10 + i;
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	assert_int_equal(packets_with(NF_KEY_COARSE | NF_KEY_GENERATION, NF_KEY_GENERATION), 4);
	assert_int_equal(
		packets_with(NF_KEY_COARSE | NF_KEY_GENERATION, NF_KEY_COARSE | NF_KEY_GENERATION),
		4);
	assert_drops_balanced();
}

/* ---- protocols that strangers choose ---- */

TEST(test_unknown_protocols)
{
	struct sk_buff *skb = skb_new(NET_A);

	for (__u32 protocol = 0x0600; protocol < 0x0700; protocol++) {
		skb->protocol = bpf_htons(protocol);
		drop(skb, LOCATION, REASON);
	}
	assert_int_equal(packets_of(key()), 0x100);
	assert_int_equal(key()->flags, NF_KEY_OTHER_PROTOCOL);
	assert_int_equal(key()->protocol, 0);
	assert_int_equal(record()->bytes.protocol, 0x06ff);
	skb->protocol = bpf_htons(0x05ff); /* a length */
	drop(skb, LOCATION, REASON);
	skb->protocol = bpf_htons(0x0001);
	drop(skb, LOCATION, REASON);
	assert_int_equal(stand_in_keys(&nf_drops), 2);
	skb->protocol = 0;
	drop(skb, LOCATION, REASON);
	assert_int_equal(stand_in_keys(&nf_drops), 3);
	assert_drops_balanced();
}

TEST(test_unknown_l4)
{
	static const __u8 known[] = {0,	 1,  2,	 4,  6,	  17,  33,  41,	 43,  44,  47,	50, 51,
				     58, 59, 60, 89, 103, 108, 112, 115, 132, 135, 136, 137};
	struct sk_buff *skb = skb_new(NET_A);

	for (__u32 l4 = 0; l4 < 256; l4++) {
		skb->head[MACHINE_NETWORK + 9] = l4;
		drop(skb, LOCATION, REASON);
		assert_int_equal(record()->l4, l4);
		assert_true(record()->flags & NF_DROP_L4);
	}
	assert_int_equal(stand_in_keys(&nf_drops), 1 + sizeof(known));
	assert_int_equal(packets_with(NF_KEY_OTHER_L4, NF_KEY_OTHER_L4), 256 - sizeof(known));
	for (size_t i = 0; i < sizeof(known); i++) {
		skb->head[MACHINE_NETWORK + 9] = known[i];
		drop(skb, LOCATION, REASON);
	}
	assert_int_equal(packets_with(NF_KEY_L4, NF_KEY_L4), 2 * sizeof(known));
	assert_drops_balanced();
}

/* A flood of one key does not hide the drops of another. */
TEST(test_bucket_of_each_key)
{
	live.drop_interval_ns = 1000000;
	live.drop_burst_ns = 2000000;
	at(10000000);
	for (int i = 0; i < 10; i++)
		drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 3);
	assert_int_equal(events(NF_EVENT_DROP_THROTTLED), 7);
	drop(skb_new(NET_A), LOCATION + 1, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 4);
	at(11000000);
	drop(skb_new(NET_A), LOCATION, REASON);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 5);
	assert_int_equal(events(NF_EVENT_DROP_THROTTLED), 8);
	assert_drops_balanced();
}

TEST(test_ring_full)
{
	stand_in.ring_full = true;
	drop(skb_new(NET_A), LOCATION, REASON);
	live.drop_stack = 1;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RING_FULL), 2);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 0);
	assert_int_equal(packets_of(key()), 2);
	assert_drops_balanced();
}

TEST(test_stack)
{
	const struct nf_drop_record *r;

	live.drop_stack = 1;
	for (int i = 0; i < STAND_IN_STACK; i++)
		stand_in.stack[i] = LOCATION + i;
	stand_in.stack_len = 3;
	drop(skb_new(NET_A), LOCATION, REASON);
	r = record();
	assert_int_equal(r->header.size, sizeof(*r));
	assert_int_equal(r->stack_len, 3);
	assert_int_equal(r->stack[2], LOCATION + 2);
	stand_in.stack_len = STAND_IN_STACK;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(record()->stack_len, NF_DROP_STACK_MAX);
	stand_in.stack_len = 0; /* the helper fails */
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(record()->stack_len, 0);
}

TEST(test_task)
{
	in_task(true);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_true(record()->flags & NF_DROP_TASK);
	assert_int_equal(record()->task.pid, 100);
	assert_string_equal(record()->task.comm, "reader");
	softirq_entry(NET_RX_SOFTIRQ);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_false(record()->flags & NF_DROP_TASK);
}

/* Another CPU inserts the key while this one is about to. */
static void insert_first(enum stand_in_point point)
{
	if (point != STAND_IN_UPDATE)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	drop(skb_new(NET_A), LOCATION, REASON);
	on_cpu(0);
}

TEST(test_two_cpus_insert_a_key)
{
	struct sk_buff *skb = skb_new(NET_A);

	stand_in.hook = insert_first;
	drop(skb, LOCATION, REASON);
	assert_null(stand_in.hook);
	assert_int_equal(packets_of(key()), 2);
	assert_int_equal(events(NF_EVENT_COUNTED), 2);
	assert_int_equal(stand_in_keys(&nf_drops), 1);
	assert_drops_balanced();
}
