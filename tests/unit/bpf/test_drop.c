/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/drop.h: keys, devices and records of drops. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])

enum { LOCATION = 0x81000000, REASON = 3 };

/* The only key of the table. */
static const struct nf_drop_key *key(void)
{
	assert_int_equal(stand_in_keys(&nf_drop_counts), 1);
	return stand_in_key(&nf_drop_counts, 0);
}

static const struct nf_drop_record *record(void)
{
	const struct nf_drop_record *r = stand_in_record(-1, NULL);

	assert_int_equal(r->header.type, NF_RECORD_DROP);
	return r;
}

static __u64 packets_of(const struct nf_drop_key *k)
{
	__u64 sum = 0;

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		sum += ((struct nf_drop_count *)stand_in_value(&nf_drop_counts, k, cpu))->packets;
	return sum;
}

static void assert_drops_balanced(void)
{
	const __u64 hits = event_of(NF_PROBE_KFREE_SKB, NF_EVENT_HIT);

	assert_int_equal(hits, events(NF_EVENT_COUNTED) + events(NF_EVENT_UNKEYED) +
				       events(NF_EVENT_COMPLETED));
	assert_int_equal(hits, events(NF_EVENT_DROP_RECORDED) + events(NF_EVENT_DROP_THROTTLED) +
				       events(NF_EVENT_DROP_RING_FULL) +
				       events(NF_EVENT_COMPLETED));
	assert_balanced();
}

static void test_key_and_record(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);
	const struct nf_drop_record *r;
	size_t size;

	(void)state;
	at(5000);
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->location, LOCATION);
	assert_int_equal(key()->reason, REASON);
	assert_int_equal(key()->netns, 1);
	assert_int_equal(key()->ifindex, 2);
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
	assert_int_equal(r->ifindex, 2);
	assert_string_equal(r->device, "eth0");
	assert_int_equal(r->flags, NF_DROP_REASON | NF_DROP_L4);
	assert_int_equal(r->stack_len, 0);
	assert_int_equal(r->bytes.len, 100);
	assert_int_equal(r->bytes.net_len, 100);
	assert_int_equal(r->bytes.l2_len, 14);
	assert_memory_equal(r->bytes.net, skb->head + MACHINE_NETWORK, 100);
	assert_drops_balanced();
}

/* Each CPU counts for itself, under one key. */
static void test_every_cpu_counts(void **state)
{
	struct nf_drop_count *count;

	(void)state;
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		on_cpu(cpu);
		at(5000 + cpu);
		drop(skb_new(NET_A), LOCATION, REASON);
		drop(skb_new(NET_A), LOCATION, REASON);
	}
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		count = stand_in_value(&nf_drop_counts, key(), cpu);
		assert_int_equal(count->packets, 2);
		assert_int_equal(count->bytes, 200);
		assert_int_equal(count->last_ns, 5000 + cpu);
	}
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
static void test_dev_is_a_tree_node(void **state)
{
	static struct net_device parent, grandparent, loopback;
	static struct net third, fourth;
	struct sk_buff *skb = with_dev(&parent, &third);

	(void)state;
	skb->skb_iif = 5;
	third.loopback_dev = &grandparent;
	third.net_cookie = 0x1234;
	grandparent.nd_net.net = &fourth;
	loopback.nd_net.net = NULL;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 0);
	assert_int_equal(key()->ifindex, 5);
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
static void test_dev_is_real(void **state)
{
	static struct net_device dev, loopback;
	static struct net net;

	(void)state;
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
static void test_device_of_the_last_stage(void **state)
{
	static struct net_device parent;
	static struct net third;
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);

	(void)state;
	third.loopback_dev = &parent;
	receive(skb);
	skb->skb_iif = 3;
	skb->dev = &parent;
	parent.nd_net.net = &third;
	third.loopback_dev = NET_A;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 2);
	assert_int_equal(key()->ifindex, 3);
	assert_string_equal(record()->device, "eth1");
	assert_int_equal(record()->netns, 4026531841U);
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	assert_drops_balanced();
}

/* The daemon took the slot from the device: nobody knows it any more. */
static void test_device_that_lost_its_slot(void **state)
{
	struct sk_buff *skb = skb_new(&machine.dev[1][2]);
	struct nf_device_set *set;
	__u32 index;

	(void)state;
	receive(skb);
	index = entry_of(skb)->slot / NF_DEVICE_SET;
	set = stand_in_value(&nf_device_sets, &index, 0);
	set->key[entry_of(skb)->slot % NF_DEVICE_SET] = 0;
	skb->skb_iif = 3;
	skb->dev = NULL;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->netns, 0);
	assert_int_equal(key()->ifindex, 3);
	assert_string_equal(record()->device, "");
}

/* Of a queued skb at least the socket knows the namespace. */
static void test_namespace_of_the_socket(void **state)
{
	struct sock sk = {.__sk_common.skc_net.net = &machine.net[2]};
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
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
	assert_int_equal(stand_in_keys(&nf_drop_counts), 2);
	assert_drops_balanced();
}

/* Without cookies (before 5.12) the inode number stands for the namespace. */
static void test_namespace_without_cookie(void **state)
{
	(void)state;
	stand_in.missing[2] = "net_cookie";
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(key()->netns, 4026531840U);
	stand_in.missing[2] = NULL;
	machine.net[0].net_cookie = 0;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(packets_of(key()), 2);
}

/* ---- what is not known of a packet ---- */

static void test_no_l4(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
	skb->protocol = bpf_htons(0x0806); /* ARP */
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->flags, 0);
	assert_int_equal(record()->flags & NF_DROP_L4, 0);
}

/* The header is shorter than the protocol's place, not set, or not readable. */
static void test_unreadable_l4(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
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

static void test_l4_of_ipv6(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
	skb->protocol = bpf_htons(0x86dd);
	skb->head[MACHINE_NETWORK + 6] = 58;
	drop(skb, LOCATION, REASON);
	assert_int_equal(key()->l4, 58);
	assert_int_equal(key()->protocol, 0x86dd);
}

static void test_no_reason(void **state)
{
	(void)state;
	settings.kfree_skb_reason = false;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(key()->reason, 0);
	assert_int_equal(record()->flags & NF_DROP_REASON, 0);
}

/* A tag in the skb's metadata; how the kernel shows it depends on the version. */
static void test_vlan(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);
	struct nf_bytes b;

	(void)state;
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
static void test_bytes(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);
	struct nf_bytes b;

	(void)state;
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

/* More keys than the table holds: counted, but under no key, and without a record. */
static void test_full_table(void **state)
{
	(void)state;
	for (int i = 0; i < PATH_DROP_KEYS + 5; i++)
		drop(skb_new(NET_A), LOCATION + i, REASON);
	assert_int_equal(events(NF_EVENT_COUNTED), PATH_DROP_KEYS);
	assert_int_equal(events(NF_EVENT_UNKEYED), 5);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), PATH_DROP_KEYS);
	assert_int_equal(events(NF_EVENT_DROP_THROTTLED), 5);
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_COUNTED), PATH_DROP_KEYS + 1);
	assert_drops_balanced();
}

/* A flood of one key does not hide the drops of another. */
static void test_bucket_of_each_key(void **state)
{
	(void)state;
	settings.drop_interval_ns = 1000000;
	settings.drop_burst_ns = 2000000;
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

static void test_ring_full(void **state)
{
	(void)state;
	stand_in.ring_full = true;
	drop(skb_new(NET_A), LOCATION, REASON);
	live.drop_stack = 1;
	drop(skb_new(NET_A), LOCATION, REASON);
	assert_int_equal(events(NF_EVENT_DROP_RING_FULL), 2);
	assert_int_equal(events(NF_EVENT_DROP_RECORDED), 0);
	assert_int_equal(packets_of(key()), 2);
	assert_drops_balanced();
}

static void test_stack(void **state)
{
	const struct nf_drop_record *r;

	(void)state;
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

static void test_task(void **state)
{
	(void)state;
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

static void test_two_cpus_insert_a_key(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
	stand_in.hook = insert_first;
	drop(skb, LOCATION, REASON);
	assert_null(stand_in.hook);
	assert_int_equal(packets_of(key()), 2);
	assert_int_equal(events(NF_EVENT_COUNTED), 2);
	assert_int_equal(stand_in_keys(&nf_drop_infos), 1);
	assert_drops_balanced();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PATH_TEST(test_key_and_record),
		PATH_TEST(test_every_cpu_counts),
		PATH_TEST(test_dev_is_a_tree_node),
		PATH_TEST(test_dev_is_real),
		PATH_TEST(test_device_of_the_last_stage),
		PATH_TEST(test_device_that_lost_its_slot),
		PATH_TEST(test_namespace_of_the_socket),
		PATH_TEST(test_namespace_without_cookie),
		PATH_TEST(test_no_l4),
		PATH_TEST(test_unreadable_l4),
		PATH_TEST(test_l4_of_ipv6),
		PATH_TEST(test_no_reason),
		PATH_TEST(test_vlan),
		PATH_TEST(test_bytes),
		PATH_TEST(test_full_table),
		PATH_TEST(test_bucket_of_each_key),
		PATH_TEST(test_ring_full),
		PATH_TEST(test_stack),
		PATH_TEST(test_task),
		PATH_TEST(test_two_cpus_insert_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
