/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/probe/bpf/compact.h"
#include "daemon/probe/bpf/retired.h"
#include "tests/unit/test.h"

static struct nf_device_stats stats, sum;

static struct nf_device_info info_of(const char *name, const char *kind)
{
	struct nf_device_info info = {.netns = 4026531840};

	snprintf(info.name, sizeof(info.name), "%s", name);
	snprintf(info.kind, sizeof(info.kind), "%s", kind);
	return info;
}

static void add(struct retired *retired, uint64_t key, const char *kind, uint32_t cpu,
		uint64_t packets)
{
	struct nf_device_info info = info_of("a", kind);

	memset(&stats, 0, sizeof(stats));
	stats.hist[NF_SEGMENT_TX_TOTAL] = (struct nf_hist){.sum_ns = packets * 100, .max_ns = 100};
	stats.hist[NF_SEGMENT_TX_TOTAL].bucket[20] = packets;
	stats.polls = packets;
	assert_int_equal(retired_add(retired, key, &info, cpu, &stats), 0);
}

static uint64_t packets_of(const struct retired_device *device)
{
	memset(&sum, 0, sizeof(sum));
	compact_add(device->counters, &sum);
	return sum.hist[NF_SEGMENT_TX_TOTAL].bucket[20];
}

TEST(test_a_device)
{
	struct retired *retired = NULL;
	const struct retired_device *device;

	assert_int_equal(retired_new(&retired, 1 << 20), 0);
	assert_null(retired_find(retired, 7));
	assert_null(retired_next(retired, NULL));
	add(retired, 7, "veth", 3, 10);
	add(retired, 7, "veth", 1, 5);
	add(retired, 7, "veth", 3, 1);
	device = retired_find(retired, 7);
	assert_int_equal(packets_of(device), 16);
	assert_int_equal(device->napi_count, 2);
	assert_int_equal(device->napi[0].cpu, 3);
	assert_int_equal(device->napi[0].polls, 11);
	assert_int_equal(device->napi[1].polls, 5);
	assert_int_equal(retired_count(retired), 1);
	assert_ptr_equal(retired_next(retired, NULL), device);
	assert_null(retired_next(retired, device));
	retired_free(&retired);
	assert_null(retired);
	retired_free(&retired);
}

/* The sum over devices and kinds, and the number of devices for which they stand. */
static void total(const struct retired *retired, uint64_t *packets, uint64_t *devices)
{
	const struct retired_device *device = NULL;
	size_t count;
	const struct retired_kind *kinds = retired_kinds(retired, &count);

	*packets = *devices = 0;
	while ((device = retired_next(retired, device))) {
		*packets += packets_of(device);
		*devices += 1;
	}
	assert_int_equal(*devices, retired_count(retired));
	for (size_t i = 0; i < count; i++) {
		*packets += kinds[i].stats.hist[NF_SEGMENT_TX_TOTAL].bucket[20];
		*devices += kinds[i].devices;
	}
}

/* 100,000 devices come and go: memory stays within its limit, and no packet is lost. */
TEST(test_many_devices)
{
	struct retired *retired = NULL;
	uint64_t packets, devices, sent = 0;
	size_t count;

	assert_int_equal(retired_new(&retired, 1 << 20), 0);
	for (uint64_t key = 1; key <= 100000; key++) {
		add(retired, key << 32 | 2, key % 3 ? "veth" : "bridge", 0, key);
		retired_gone(retired, key << 32 | 2);
		retired_gone(retired, key << 32 | 2);
		sent += key;
		assert_true(retired_bytes(retired) <= 1 << 20);
	}
	total(retired, &packets, &devices);
	assert_int_equal(packets, sent);
	assert_int_equal(devices, 100000);
	retired_kinds(retired, &count);
	assert_int_equal(count, 2);
	/* The newest are still themselves. */
	assert_int_equal(packets_of(retired_find(retired, UINT64_C(100000) << 32 | 2)), 100000);
	assert_null(retired_find(retired, UINT64_C(1) << 32 | 2));
	retired_free(&retired);
}

/* A device that is not gone keeps its own counters, whatever the limit is. */
TEST(test_live_devices_stay)
{
	struct retired *retired = NULL;

	assert_int_equal(retired_new(&retired, 1), 0);
	for (uint64_t key = 1; key <= 100; key++)
		add(retired, key, "veth", 0, key);
	assert_int_equal(retired_count(retired), 100);
	retired_gone(retired, 5);
	assert_null(retired_find(retired, 5));
	retired_gone(retired, 5);
	assert_int_equal(retired_count(retired), 99);
	retired_free(&retired);
}

/* A device that comes back is not gone any more. */
TEST(test_a_device_comes_back)
{
	struct retired *retired = NULL;
	uint64_t packets, devices;

	assert_int_equal(retired_new(&retired, 2000), 0);
	add(retired, 1, "veth", 0, 1);
	retired_gone(retired, 1);
	add(retired, 1, "veth", 0, 2);
	for (uint64_t key = 2; key <= 50; key++) {
		add(retired, key, "veth", 0, 1);
		retired_gone(retired, key);
	}
	assert_int_equal(packets_of(retired_find(retired, 1)), 3);
	total(retired, &packets, &devices);
	assert_int_equal(packets, 52);
	assert_int_equal(devices, 50);
	retired_free(&retired);
}

/* Beyond the kinds that are kept separately, the last entry has all others. */
TEST(test_many_kinds)
{
	struct retired *retired = NULL;
	uint64_t packets, devices;
	char kind[NF_DEVICE_KIND];
	size_t count;

	assert_int_equal(retired_new(&retired, 0), 0);
	for (unsigned int i = 1; i <= 40; i++) {
		snprintf(kind, sizeof(kind), "kind%u", i);
		add(retired, i, kind, 0, i);
		retired_gone(retired, i);
	}
	total(retired, &packets, &devices);
	assert_int_equal(packets, 820);
	assert_int_equal(devices, 40);
	assert_int_equal(retired_kinds(retired, &count)[15].devices, 25);
	assert_int_equal(count, 16);
	retired_free(&retired);
}
