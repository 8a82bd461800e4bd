/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/device.h and bpf/throttle.h: slots, names and NAPI counters of devices; token buckets. */
#include "tests/unit/bpf/path.h"

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

/* (namespace, ifindex) is the device, not its address or its name. */
static void test_slot_of_a_device(void **state)
{
	struct net_device copy_of_a = *NET_A;
	__u32 slot = nf_device_slot(NET_A);

	(void)state;
	assert_true(slot >= NF_SLOT_RESERVED);
	assert_int_equal(nf_device_slot(&copy_of_a), slot);
	assert_string_equal(info_of(slot)->name, "eth0");
	assert_int_equal(info_of(slot)->netns, 4026531840U);
	for (int n = 1; n < MACHINE_NETS; n++)
		assert_int_not_equal(nf_device_slot(&machine.dev[n][1]), slot);
	copy_of_a.ifindex = 99;
	assert_int_not_equal(nf_device_slot(&copy_of_a), slot);
}

/* More devices than slots share the slot of all others, and the reserved ones stay reserved. */
static void test_no_free_slot(void **state)
{
	struct net_device dev = *NET_A;
	bool used[PATH_SLOTS] = {false};
	__u32 slot, shared = 0;

	(void)state;
	for (int i = 1; i <= 40; i++) {
		dev.ifindex = i;
		slot = nf_device_slot(&dev);
		if (slot == NF_SLOT_OTHER) {
			shared++;
			continue;
		}
		assert_false(used[slot]);
		used[slot] = true;
	}
	assert_int_equal(shared, 40 - (PATH_SLOTS - NF_SLOT_RESERVED));
	assert_false(used[NF_SLOT_BACKLOG]);
	/* What shares the slot is counted nevertheless. */
	dev.ifindex = 40;
	napi_poll(&(struct napi_struct){.dev = &dev}, 3, 64);
	assert_int_equal(nf_device_stats(NF_SLOT_OTHER)->poll_packets, 3);
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
static void test_two_cpus_claim_one_device(void **state)
{
	__u32 slot;

	(void)state;
	other_device = *NET_A;
	stand_in.hook = claim_another;
	slot = nf_device_slot(NET_A);
	assert_null(stand_in.hook);
	assert_int_equal(slot, other_slot);
	assert_int_equal(*key_of(slot), nf_device_key(NET_A));
	assert_int_equal(stand_in_keys(&nf_device_claims), 1);
}

/* Two CPUs see two devices of one set at the same time: two slots. */
static void test_two_cpus_claim_two_devices(void **state)
{
	__u32 slot;

	(void)state;
	other_device = *NET_A;
	other_device.ifindex += PATH_DEVICE_SETS;
	stand_in.hook = claim_another;
	slot = nf_device_slot(NET_A);
	assert_int_not_equal(slot, other_slot);
	assert_int_equal(*key_of(slot), nf_device_key(NET_A));
	assert_int_equal(*key_of(other_slot), nf_device_key(&other_device));
}

/* A record that is made while a CPU gives the slot to its device leaves the device out. */
static void test_record_during_claim(void **state)
{
	struct sk_buff *skb = skb_new(NET_A);

	(void)state;
	receive(skb);
	skb->skb_iif = 2;
	*key_of(nf_device_slot(NET_A)) = 0;
	copy(skb, 10);
	assert_int_equal(journey()->devices, 0);
}

/* A device can be renamed: each CPU reads its name again after a millisecond. */
static void test_renamed(void **state)
{
	__u32 slot = nf_device_slot(NET_A);

	(void)state;
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

static void test_napi(void **state)
{
	struct napi_struct napi = {.dev = NET_A};
	struct nf_device_stats *stats;

	(void)state;
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
static void test_durations(void **state)
{
	struct nf_device_stats *stats = nf_device_stats(nf_device_slot(NET_A));

	(void)state;
	settings.threshold_ns[NF_SEGMENT_RX_TOTAL] = 100;
	assert_false(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 200, 100));
	assert_false(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 100, 200));
	assert_true(nf_segment_add(stats, NF_SEGMENT_RX_TOTAL, 100, 201));
	/* A segment that ends in a softirq has the threshold of its segment. */
	assert_true(nf_segment_add(stats, NF_HIST_SOFTIRQ_RX_TOTAL, 100, 201));
	settings.threshold_ns[NF_SEGMENT_RECEIVE_TO_COPY] = 100;
	assert_true(nf_segment_add(stats, NF_HIST_SOFTIRQ_RECEIVE_TO_COPY, 100, 201));
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 3, 201);
	assert_int_equal(stats->hist[NF_SEGMENT_RX_TOTAL].max_ns, 101);
	assert_int_equal(stats->hist[NF_SEGMENT_RX_TOTAL].bucket[0], 1);
	nf_segment_add(stats, NF_SEGMENT_TX_TOTAL, 0, ~0ULL);
	assert_int_equal(stats->hist[NF_SEGMENT_TX_TOTAL].bucket[NF_HIST_BUCKETS - 1], 1);
}

/* A full bucket admits the burst at once, and then one record for each interval. */
static void test_bucket(void **state)
{
	struct nf_bucket bucket = {0};
	int admitted = 0;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		PATH_TEST(test_slot_of_a_device),
		PATH_TEST(test_no_free_slot),
		PATH_TEST(test_two_cpus_claim_one_device),
		PATH_TEST(test_two_cpus_claim_two_devices),
		PATH_TEST(test_record_during_claim),
		PATH_TEST(test_renamed),
		PATH_TEST(test_napi),
		PATH_TEST(test_durations),
		PATH_TEST(test_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
