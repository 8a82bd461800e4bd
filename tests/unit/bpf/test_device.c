/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/device.h and bpf/throttle.h: slots, names, blocks and groups of devices; token buckets. */
#include <stdio.h>

#include "tests/unit/bpf/path.h"

static const struct nf_weight one = {.weight = 1};

#define NET_A (&machine.dev[0][1])

static struct nf_device_info *info_of(__u32 slot)
{
	return stand_in_value(&nf_device_infos, &slot, 0);
}

static __u64 *key_of(__u32 slot)
{
	__u32 index = slot / NF_DEVICE_SET;
	struct nf_device_set *set = stand_in_value(&nf_device_sets, &index, 0);

	return &set->key[slot % NF_DEVICE_SET];
}

EACH_TEST(path_begin, path_end);

/* The directory in sysfs is the device: a rename keeps it, and a successor with the same ifindex has another one. */
TEST(test_number_of_a_device)
{
	struct kernfs_node first = {.id = 1ULL << 32 | 77}, second = {.id = 2ULL << 32 | 78};
	struct net_device dev = *NET_A;
	__u32 slot;

	assert_int_equal(nf_device_number(&dev), NF_DEVICE_BY_INDEX | dev.ifindex);
	dev.dev.kobj.sd = &first;
	assert_int_equal(nf_device_number(&dev), 77);
	slot = nf_device_slot(&dev);
	assert_int_equal(info_of(slot)->ifindex, dev.ifindex);
	strcpy(dev.name, "renamed");
	assert_int_equal(nf_device_slot(&dev), slot);
	dev.dev.kobj.sd = &second;
	assert_int_not_equal(nf_device_slot(&dev), slot);
}

/* (namespace, number) is the device, not its address or its name. */
TEST(test_slot_of_a_device)
{
	struct net_device copy_of_a = *NET_A;
	__u32 slot = nf_device_slot(NET_A);

	assert_true(slot >= NF_SLOT_RESERVED);
	assert_int_equal(nf_device_slot(&copy_of_a), slot);
	assert_string_equal(info_of(slot)->name, "eth0");
	assert_int_equal(info_of(slot)->netns, 4026531840U);
	for (int n = 1; n < MACHINE_NETS; n++)
		assert_int_not_equal(nf_device_slot(&machine.dev[n][1]), slot);
	copy_of_a.ifindex = 99;
	assert_int_not_equal(nf_device_slot(&copy_of_a), slot);
}

/* A device of the kind `ops` with this ifindex. */
static struct net_device device(int ifindex, const struct rtnl_link_ops *ops)
{
	struct net_device dev = *NET_A;

	dev.ifindex = ifindex;
	dev.rtnl_link_ops = ops;
	return dev;
}

/*
 * More devices than slots share the slot of all others, and the reserved ones stay reserved.  A
 * device has two sets to be in, so only full pairs of sets turn one away.
 */
TEST(test_no_free_slot)
{
	bool used[PATH_SLOTS] = {false};
	__u32 slots = 0;
	__u32 slot;

	for (int i = 1; i <= 400; i++) {
		struct net_device dev = device(i, NULL);

		slot = nf_device_slot(&dev);
		assert_int_equal(nf_device_slot(&dev), slot);
		if (slot == NF_SLOT_OTHER)
			continue;
		assert_true(slot < PATH_DEVICE_SETS * NF_DEVICE_SET);
		assert_false(used[slot]);
		assert_int_equal(*key_of(slot), nf_device_key(&dev));
		used[slot] = true;
		slots++;
	}
	assert_int_equal(slots, PATH_DEVICE_SETS * NF_DEVICE_SET - NF_SLOT_RESERVED);
	assert_false(used[NF_SLOT_OTHER]);
	assert_false(used[NF_SLOT_BACKLOG]);
	assert_int_equal(nf_block_counts.unslotted, 1);
	/* What shares the slot is counted nevertheless. */
	napi_poll(&(struct napi_struct){.dev = &(struct net_device){.ifindex = 401,
								    .nd_net = NET_A->nd_net}},
		  3, 64);
	assert_int_equal(nf_device_stats(NF_SLOT_OTHER)->poll_packets, 3);
}

/* The second set is for devices that find the first one full; both are always different. */
TEST(test_two_sets)
{
	struct net_device dev;
	__u32 first, slot;
	int i = 1;

	for (__u64 key = 1; key < 5000; key += 7)
		assert_int_not_equal(nf_device_first_set(key << 32 | key),
				     nf_device_second_set(key << 32 | key));
	dev = device(i, NULL);
	first = nf_device_first_set(nf_device_key(&dev));
	for (int position = 0; position < NF_DEVICE_SET; position++)
		*key_of(first * NF_DEVICE_SET + position) = NF_KEY_RESERVED;
	slot = nf_device_slot(&dev);
	assert_int_equal(slot / NF_DEVICE_SET, nf_device_second_set(nf_device_key(&dev)));
	/* It is found there, though the first one has room again. */
	*key_of(first * NF_DEVICE_SET) = 0;
	assert_int_equal(nf_device_slot(&dev), slot);
	assert_int_equal(nf_block_counts.unslotted, 0);
}

static struct net_device other_device;
static __u32 other_slot;

static void claim_another(enum stand_in_point point)
{
	if (point != STAND_IN_UPDATE)
		return;
	stand_in.hook = NULL;
	other_slot = nf_device_slot(&other_device);
}

/* Two CPUs see the same device for the first time: one slot. */
TEST(test_two_cpus_claim_one_device)
{
	__u32 slot;

	other_device = *NET_A;
	stand_in.hook = claim_another;
	slot = nf_device_slot(NET_A);
	assert_null(stand_in.hook);
	assert_int_equal(slot, other_slot);
	assert_int_equal(*key_of(slot), nf_device_key(NET_A));
	assert_int_equal(stand_in_keys(&nf_device_claims), 2); /* and that of its group */
}

/* Two CPUs see two devices of one set at the same time: two slots. */
TEST(test_two_cpus_claim_two_devices)
{
	__u32 slot;

	other_device = *NET_A;
	do
		other_device.ifindex++;
	while (nf_device_first_set(nf_device_key(&other_device)) !=
	       nf_device_first_set(nf_device_key(NET_A)));
	stand_in.hook = claim_another;
	slot = nf_device_slot(NET_A);
	assert_int_not_equal(slot, other_slot);
	assert_int_equal(*key_of(slot), nf_device_key(NET_A));
	assert_int_equal(*key_of(other_slot), nf_device_key(&other_device));
}

/* A record that is made while a CPU gives the slot to its device leaves the device out. */
TEST(test_record_during_claim)
{
	struct sk_buff *skb = skb_new(NET_A);

	receive(skb);
	skb->skb_iif = 2;
	*key_of(nf_device_slot(NET_A)) = 0;
	copy(skb, 10);
	assert_int_equal(journey()->devices, 0);
}

/* A device can be renamed: each CPU reads its name again after a millisecond. */
TEST(test_renamed)
{
	__u32 slot = nf_device_slot(NET_A);

	at(5000000);
	receive(skb_new(NET_A));
	strcpy(NET_A->name, "wan0");
	at(5999999);
	receive(skb_new(NET_A));
	assert_string_equal(info_of(slot)->name, "eth0");
	at(6000000);
	receive(skb_new(NET_A));
	assert_string_equal(info_of(slot)->name, "wan0");
}

TEST(test_napi)
{
	struct napi_struct napi = {.dev = NET_A};
	struct nf_device_stats *stats;

	napi_poll(&napi, 10, 64);
	napi_poll(&napi, 64, 64);
	napi_poll(&napi, 0, 64);
	stats = nf_device_stats(nf_device_slot(NET_A));
	assert_int_equal(stats->polls, 3);
	assert_int_equal(stats->poll_packets, 74);
	assert_int_equal(stats->full_budgets, 1);
	napi.dev = NULL; /* the backlog */
	napi_poll(&napi, -1, 64);
	assert_int_equal(nf_device_stats(NF_SLOT_BACKLOG)->polls, 1);
	assert_int_equal(nf_device_stats(NF_SLOT_BACKLOG)->poll_packets, 0);
	/* Each CPU has counters of its own. */
	on_cpu(1);
	assert_int_equal(nf_device_stats(nf_device_slot(NET_A))->polls, 0);
}

/* Clocks of two CPUs differ by a few ns; a duration is never negative. */
TEST(test_durations)
{
	struct nf_device_stats *stats = nf_device_stats(nf_device_slot(NET_A));

	live.threshold_ns[NF_SEGMENT_RX_TOTAL] = 100;
	assert_false(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 200, 100, one));
	assert_false(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 100, 200, one));
	assert_true(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 100, 201, one));
	/* A segment that ends in a softirq has the threshold of its segment. */
	assert_true(nf_segment_add(stats, NF_HIST_SOFTIRQ_RX_TOTAL, 100, 201, one));
	live.threshold_ns[NF_SEGMENT_RECEIVE_TO_COPY] = 100;
	assert_true(nf_segment_add(stats, NF_HIST_SOFTIRQ_RECEIVE_TO_COPY, 100, 201, one));
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 3, 201);
	assert_int_equal(stats->hist[NF_SEGMENT_RX_TOTAL].max_ns, 101);
	assert_int_equal(stats->hist[NF_SEGMENT_RX_TOTAL].bucket[0], 1);
	nf_segment_add(stats, NF_SEGMENT_TX_TOTAL, 0, INT64_MAX, one);
	assert_int_equal(stats->hist[NF_SEGMENT_TX_TOTAL].bucket[NF_HIST_BUCKETS - 1], 1);
}

/* ---- groups ---- */

static const struct rtnl_link_ops veth = {.kind = "veth"}, vxlan = {.kind = "vxlan"};

/* The devices of a kind have one group, whose slot is behind those of devices. */
TEST(test_group_of_a_kind)
{
	struct net_device a = device(10, &veth), b = device(11, &veth), c = device(12, &vxlan);
	__u32 group;

	group = info_of(nf_device_slot(&a))->group;
	assert_true(group >= PATH_DEVICE_SETS * NF_DEVICE_SET);
	assert_int_equal(info_of(nf_device_slot(&b))->group, group);
	assert_int_equal(info_of(group)->group, group);
	assert_string_equal(info_of(group)->kind, "veth");
	assert_string_equal(info_of(group)->name, "");
	assert_int_not_equal(info_of(nf_device_slot(&c))->group, group);
	assert_string_equal(info_of(nf_device_slot(&c))->kind, "vxlan");
	assert_string_equal(info_of(nf_device_slot(NET_A))->kind, "physical");
	assert_string_equal(info_of(nf_device_slot(&machine.dev[0][0]))->kind, "loopback");
	/* A group is no device. */
	assert_null(nf_device_of_slot(group, &(__u64){0}));
}

/* More kinds than groups: they share that of all others. */
TEST(test_more_kinds_than_groups)
{
	char kind[16];
	const struct rtnl_link_ops ops = {.kind = kind};
	__u32 others = 0;

	settings.device_sets = 1; /* the sets of groups are the next ones */
	for (int i = 0; i < 40; i++) {
		struct nf_device_info info = {.netns = 1};
		__u32 group;

		snprintf(kind, sizeof(kind), "kind%d", i);
		strcpy(info.kind, ops.kind);
		group = nf_group_slot(&info);
		assert_true(group == NF_SLOT_OTHER ||
			    (group >= NF_DEVICE_SET && group < NF_DEVICE_SET + NF_GROUP_SLOTS));
		others += group == NF_SLOT_OTHER;
		assert_int_equal(nf_group_slot(&info), group);
	}
	assert_int_equal(others, 40 - NF_GROUP_SLOTS);
}

/* ---- blocks ---- */

static struct net_device first_veth, second_veth;

static int blocks_begin(void **state)
{
	path_begin(state);
	first_veth = device(10, &veth);
	second_veth = device(11, &veth);
	return 0;
}

/* Each CPU that uses a device takes a block of its own, and only then. */
TEST_WITH(test_block_of_each_cpu, blocks_begin, path_end)
{
	__u32 slot = nf_device_slot(&first_veth);
	const struct nf_device_stats *found;

	assert_int_equal(nf_block_counts.taken, 0);
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		on_cpu(cpu);
		nf_segment_add(nf_device_stats(slot), NF_SEGMENT_RX_TOTAL, 0, 100 + cpu, one);
		nf_segment_add(nf_device_stats(slot), NF_SEGMENT_RX_TOTAL, 0, 200, one);
	}
	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++) {
		assert_int_equal(blocks_of(slot, cpu, &found), 1);
		assert_int_equal(found->hist[NF_SEGMENT_RX_TOTAL].sum_ns, 300 + cpu);
		assert_ptr_equal(found, block(*block_at(slot, cpu)));
		assert_int_equal(NF_BLOCK_SLOT(found->owner), slot);
		assert_int_equal(NF_BLOCK_CPU(found->owner), cpu);
	}
	assert_int_equal(nf_block_counts.taken, MACHINE_CPUS);
	assert_int_equal(nf_block_counts.group_taken, 0);
	assert_int_equal(stand_in_queued(&nf_free_blocks), PATH_FREE_BLOCKS - MACHINE_CPUS);
	assert_false(info_of(slot)->shared);
}

/* No free block: what the devices of a kind count is in the block of their group. */
TEST_WITH(test_no_free_block, blocks_begin, path_end)
{
	__u32 a = nf_device_slot(&first_veth), b = nf_device_slot(&second_veth);
	const struct nf_device_stats *found;

	path_blocks(4, 1);
	nf_segment_add(nf_device_stats(a), NF_SEGMENT_RX_TOTAL, 0, 100, one);
	assert_int_equal(blocks_of(a, 0, &found), 1);
	assert_false(info_of(a)->shared);
	on_cpu(1);
	nf_segment_add(nf_device_stats(a), NF_SEGMENT_RX_TOTAL, 0, 1000, one);
	nf_segment_add(nf_device_stats(b), NF_SEGMENT_RX_TOTAL, 0, 2000, one);
	assert_int_equal(blocks_of(a, 1, &found), 0);
	assert_int_equal(blocks_of(b, 1, &found), 0);
	assert_int_equal(blocks_of(info_of(a)->group, 1, &found), 1);
	assert_int_equal(found->hist[NF_SEGMENT_RX_TOTAL].sum_ns, 3000);
	assert_true(info_of(a)->shared);
	assert_true(info_of(b)->shared);
	assert_int_equal(nf_block_counts.taken, 1);
	assert_int_equal(nf_block_counts.group_taken, 1);
	assert_int_equal(nf_block_counts.lost, 0);
	/* Another kind does not count there. */
	nf_segment_add(nf_device_stats(nf_device_slot(NET_A)), NF_SEGMENT_RX_TOTAL, 0, 5000, one);
	assert_int_equal(found->hist[NF_SEGMENT_RX_TOTAL].sum_ns, 3000);
	assert_int_equal(nf_block_counts.group_taken, 2);
}

/* The daemon says that a device shares: then it takes no block, though there are free ones. */
TEST_WITH(test_device_that_shares, blocks_begin, path_end)
{
	__u32 slot = nf_device_slot(&first_veth);
	const struct nf_device_stats *found;

	info_of(slot)->shared = 1;
	nf_segment_add(nf_device_stats(slot), NF_SEGMENT_RX_TOTAL, 0, 100, one);
	assert_int_equal(nf_block_counts.taken, 0);
	assert_int_equal(blocks_of(info_of(slot)->group, 0, &found), 1);
	assert_int_equal(found->hist[NF_SEGMENT_RX_TOTAL].sum_ns, 100);
	/* A sample of its packets is counted for it, so that the daemon knows its rate. */
	for (int i = 0; i < NF_SHARED_SAMPLE * NF_SHARED_SAMPLE; i++)
		nf_device_refresh(nf_device_stats(slot), slot, &first_veth, 1000);
	assert_int_equal(info_of(slot)->shared_packets, NF_SHARED_SAMPLE);
	assert_int_equal(found->packets, NF_SHARED_SAMPLE * NF_SHARED_SAMPLE);
	/* Not of a device with a block of its own. */
	slot = nf_device_slot(&second_veth);
	for (int i = 0; i < 10 * NF_SHARED_SAMPLE; i++)
		nf_device_refresh(nf_device_stats(slot), slot, &second_veth, 1000);
	assert_int_equal(info_of(slot)->shared_packets, 0);
}

/* The two ends of a veth take turns in the block of their group: the sample has both. */
TEST_WITH(test_devices_that_take_turns, blocks_begin, path_end)
{
	__u32 slot[2] = {nf_device_slot(&first_veth), nf_device_slot(&second_veth)};

	for (int i = 0; i < 2; i++)
		info_of(slot[i])->shared = 1;
	for (int i = 0; i < NF_SHARED_SAMPLE * NF_SHARED_SAMPLE; i++)
		nf_device_refresh(nf_device_stats(slot[i % 2]), slot[i % 2],
				  i % 2 ? &second_veth : &first_veth, 1000);
	for (int i = 0; i < 2; i++)
		assert_int_equal(info_of(slot[i])->shared_packets, NF_SHARED_SAMPLE / 2);
}

/* No block for the group either: that of all others, and without that nothing, which counts. */
TEST_WITH(test_no_group_block, blocks_begin, path_end)
{
	__u32 a = nf_device_slot(&first_veth), b = nf_device_slot(NET_A);
	const struct nf_device_stats *found;

	path_blocks(1, 0);
	assert_non_null(nf_device_stats(NF_SLOT_OTHER));
	nf_segment_add(nf_device_stats(a), NF_SEGMENT_RX_TOTAL, 0, 100, one);
	nf_segment_add(nf_device_stats(b), NF_SEGMENT_RX_TOTAL, 0, 200, one);
	assert_int_equal(blocks_of(NF_SLOT_OTHER, 0, &found), 1);
	assert_int_equal(found->hist[NF_SEGMENT_RX_TOTAL].sum_ns, 300);
	assert_int_equal(nf_block_counts.lost, 0);
	on_cpu(1);
	assert_null(nf_device_stats(a));
	assert_null(nf_device_stats(a));
	assert_int_equal(nf_block_counts.lost, 2);
	assert_int_equal(*block_at(a, 1), 0);
	/* The programs go on without counters, and journeys are counted. */
	receive_in_softirq(skb_new(NET_A), 1000, 2000, 3000);
	assert_int_equal(events(NF_EVENT_BEGUN), 1);
	/* The daemon has a block for the device, and says that it need not share any more. */
	stand_in_push(&nf_free_blocks, &(__u32){2});
	assert_null(nf_device_stats(a));
	info_of(a)->shared = 0;
	assert_ptr_equal(nf_device_stats(a), block(2));
	assert_balanced();
}

/* A number whose chunk the map does not have (yet). */
TEST_WITH(test_no_chunk, blocks_begin, path_end)
{
	__u32 slot = nf_device_slot(&first_veth), second = 1;

	path_blocks(1, 0);
	stand_in_push(&nf_free_blocks, &(__u32){1 << PATH_CHUNK_SHIFT});
	stand_in_show_inner(&nf_chunks, second, false);
	assert_ptr_equal(nf_device_stats(slot), block(1));
	assert_int_equal(nf_block_counts.taken, 0);
	/* A block that the slot has, but whose chunk is gone. */
	*block_at(slot, 0) = 1 << PATH_CHUNK_SHIFT;
	assert_null(nf_device_stats(slot));
}

/* Few blocks are left: a record wakes the daemon, once until it sets the marks again. */
TEST_WITH(test_few_blocks_left, blocks_begin, path_end)
{
	const struct nf_record *r;
	size_t size;

	nf_block_counts.low = 2;
	nf_device_stats(nf_device_slot(&first_veth));
	assert_int_equal(stand_in_records(), 0);
	nf_device_stats(nf_device_slot(&second_veth));
	r = stand_in_record(-1, &size);
	assert_int_equal(size, sizeof(*r));
	assert_int_equal(r->type, NF_RECORD_BLOCKS);
	assert_int_equal(r->size, sizeof(*r));
	nf_device_stats(nf_device_slot(NET_A));
	assert_int_equal(stand_in_records(), 1);
	nf_block_counts.group_low = 1;
	on_cpu(1);
	nf_device_stats(NF_SLOT_BACKLOG);
	assert_int_equal(stand_in_records(), 2);
}

static __u32 taking_slot;

static void take_inside(enum stand_in_point point)
{
	if (point != STAND_IN_UPDATE)
		return;
	stand_in.hook = NULL;
	nf_segment_add(nf_device_stats(taking_slot), NF_SEGMENT_RX_TOTAL, 0, 100, one);
}

/* An interrupt uses the device while the program below it takes a block: both count. */
TEST_WITH(test_interrupt_takes_a_block, blocks_begin, path_end)
{
	const struct nf_device_stats *found;
	__u64 sum = 0;

	taking_slot = nf_device_slot(&first_veth);
	stand_in.hook = take_inside;
	nf_segment_add(nf_device_stats(taking_slot), NF_SEGMENT_RX_TOTAL, 0, 1000, one);
	assert_null(stand_in.hook);
	assert_int_equal(blocks_of(taking_slot, 0, &found), 2);
	for (__u32 i = 1; i < PATH_CHUNKS << PATH_CHUNK_SHIFT; i++)
		if (block(i)->owner == NF_BLOCK_OWNER(taking_slot, 0))
			sum += block(i)->hist[NF_SEGMENT_RX_TOTAL].sum_ns;
	assert_int_equal(sum, 1100);
	assert_int_equal(nf_block_counts.taken, 2);
}

/* Where another task can preempt the program, it adds with single instructions. */
static int adds;

static void count_adds(enum stand_in_point point)
{
	adds += point == STAND_IN_BEFORE_ADD;
}

TEST(test_preemptible)
{
	struct nf_device_stats *stats = nf_device_stats(nf_device_slot(NET_A));

	adds = 0;
	stand_in.hook = count_adds;
	nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 0, 100, one);
	assert_int_equal(adds, 0);
	nf_segment_add_from(stats, NF_SEGMENT_RX_TOTAL, 0, 100, one, true);
	assert_int_equal(adds, 3);
	settings.no_reentry = false;
	nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 0, 100, one);
	assert_int_equal(adds, 6);
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 3, 300);
}

/* A full bucket admits the burst at once, and then one record for each interval. */
TEST(test_bucket)
{
	struct nf_bucket bucket = {0};
	int admitted = 0;

	for (int i = 0; i < 100; i++)
		admitted += nf_throttle_admit(&bucket, 1000000, 1000, 9000);
	assert_int_equal(admitted, 10);
	assert_false(nf_throttle_admit(&bucket, 1000999, 1000, 9000));
	assert_true(nf_throttle_admit(&bucket, 1001000, 1000, 9000));
	assert_false(nf_throttle_admit(&bucket, 1001000, 1000, 9000));
	/* However long it was quiet, it admits no more than the burst. */
	admitted = 0;
	for (int i = 0; i < 100; i++)
		admitted += nf_throttle_admit(&bucket, 900000000, 1000, 9000);
	assert_int_equal(admitted, 10);
	/* A burst of one. */
	bucket.full_ns = 0;
	assert_true(nf_throttle_admit(&bucket, 5, 1000, 0));
	assert_false(nf_throttle_admit(&bucket, 1004, 1000, 0));
	assert_true(nf_throttle_admit(&bucket, 1005, 1000, 0));
}
