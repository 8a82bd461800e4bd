/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the kernel's counters of devices: new devices, restarts, wraps, renames and moves. */
#include <stdio.h>
#include <string.h>

#include "daemon/store/traffic.h"
#include "tests/unit/test.h"

#define OWN 1 /* the namespace whose devices have known numbers */

static struct traffic *traffic;
static struct traffic_list list;
static uint64_t now;
static uint32_t number; /* of the devices that are asked for */

static uint32_t number_of(uint32_t netns, const char *name, void *userdata)
{
	(void)name;
	(void)userdata;
	return netns == OWN ? number : 0;
}

static int setup(void **state)
{
	(void)state;
	now = 0;
	number = 0;
	return traffic_new(&traffic, number_of, NULL);
}

static int teardown(void **state)
{
	(void)state;
	traffic_list_clear(&list);
	traffic_free(&traffic);
	return 0;
}

EACH_TEST(setup, teardown);

struct one {
	uint32_t netns;
	const char *name;
	uint64_t packets, bytes;
};

/* A reading; devices of one namespace follow each other.  What they receive they also send. */
static void read_all(const struct one *one, size_t count)
{
	traffic_begin(traffic, ++now);
	for (size_t i = 0; i < count; i++) {
		const uint64_t value[TRAFFIC_VALUES] = {one[i].packets, one[i].bytes,
							one[i].packets, one[i].bytes};

		if (!i || one[i].netns != one[i - 1].netns)
			traffic_add_netns(traffic, one[i].netns);
		assert_int_equal(traffic_add(traffic, one[i].name, value), 0);
	}
	traffic_list_clear(&list);
	assert_int_equal(traffic_end(traffic, &list), 0);
}

#define READ(...)                                   \
	read_all((const struct one[]){__VA_ARGS__}, \
		 sizeof((const struct one[]){__VA_ARGS__}) / sizeof(struct one))

static void expect(uint32_t netns, const char *name, uint64_t packets, uint64_t bytes,
		   uint64_t since)
{
	const struct traffic_device *device = traffic_find(&list, netns, name);

	assert_non_null(device);
	assert_int_equal(device->sum[TRAFFIC_RX_PACKETS], packets);
	assert_int_equal(device->sum[TRAFFIC_TX_PACKETS], packets);
	assert_int_equal(device->sum[TRAFFIC_RX_BYTES], bytes);
	assert_int_equal(device->since_ns, since);
}

TEST(test_growth)
{
	READ({7, "b", 100, 1000}, {7, "a", 5, 50}, {2, "a", 9, 90});
	expect(7, "b", 0, 0, 1);
	READ({2, "a", 10, 100}, {7, "a", 5, 50}, {7, "b", 30100, 5001000});
	expect(7, "b", 30000, 5000000, 1);
	expect(7, "a", 0, 0, 1);
	expect(2, "a", 1, 10, 1);
	assert_int_equal(list.namespaces, 2);
	assert_null(traffic_find(&list, 2, "b"));
}

/* A device that was made since the last reading, in a namespace that was known or that is new. */
TEST(test_new_device)
{
	READ({7, "a", 5, 50});
	READ({7, "a", 5, 50}, {7, "b", 8, 80}, {9, "a", 3, 30});
	expect(7, "b", 8, 80, 2);
	expect(9, "a", 3, 30, 2);
}

/* A counter that falls is that of a new device. */
TEST(test_made_again)
{
	uint64_t id;

	READ({7, "a", 500, 5000});
	id = traffic_find(&list, 7, "a")->id;
	READ({7, "a", 4, 40});
	expect(7, "a", 4, 40, 2);
	assert_int_not_equal(traffic_find(&list, 7, "a")->id, id);
	/* It was away for one reading. */
	READ({7, "b", 0, 0});
	READ({7, "b", 0, 0}, {7, "a", 600, 6000});
	expect(7, "a", 600, 6000, 4);
}

TEST(test_wrap)
{
	READ({7, "a", 1000, UINT32_MAX - 9});
	READ({7, "a", 1001, 90});
	expect(7, "a", 1, 100, 1);
	/* Both fell: another device, or one that counts in 32 bits and wraps twice at once; not likely. */
	READ({7, "a", 3, 30});
	expect(7, "a", 3, 30, 3);
	/* A counter beyond 32 bits does not wrap. */
	READ({7, "a", 4, UINT64_C(1) << 33});
	READ({7, "a", 5, 90});
	expect(7, "a", 5, 90, 5);
}

TEST(test_renamed)
{
	number = 3;
	READ({OWN, "a", 100, 1000});
	READ({OWN, "a", 110, 1100});
	READ({OWN, "b", 115, 1150});
	expect(OWN, "b", 15, 150, 1);
	assert_int_equal(list.count, 1);
}

/* Without numbers, a device that appears where another one is gone may be that one: nothing before counts. */
TEST(test_may_have_moved)
{
	READ({7, "a", 100, 1000}, {9, "lo", 0, 0});
	READ({7, "c", 0, 0}, {9, "lo", 0, 0}, {9, "b", 200, 2000});
	expect(9, "b", 0, 0, 2);
	READ({7, "c", 0, 0}, {9, "lo", 0, 0}, {9, "b", 207, 2070});
	expect(9, "b", 7, 70, 2);
	/* The devices of a namespace that is gone were deleted with it. */
	READ({7, "c", 0, 0}, {8, "e", 300, 3000});
	expect(8, "e", 300, 3000, 4);
	/* One that has counted less is another one. */
	READ({7, "c", 5, 50}, {8, "f", 10, 100});
	expect(8, "f", 10, 100, 5);
}

/* The sum of all devices keeps what those that are gone had counted. */
TEST(test_total)
{
	READ({7, "a", 100, 1000}, {8, "b", 10, 100});
	assert_int_equal(list.total[TRAFFIC_TX_PACKETS], 0);
	READ({7, "a", 130, 1300}, {8, "b", 14, 140}, {8, "c", 5, 50});
	assert_int_equal(list.total[TRAFFIC_TX_PACKETS], 39);
	READ({7, "a", 131, 1310});
	assert_int_equal(list.total[TRAFFIC_TX_PACKETS], 40);
	/* Made again, and counted from 0. */
	READ({7, "a", 3, 30});
	assert_int_equal(list.total[TRAFFIC_TX_PACKETS], 43);
	assert_int_equal(list.total[TRAFFIC_RX_BYTES], 430);
}

/* The process of a namespace ended while its file was read. */
TEST(test_forget)
{
	static const uint64_t value[TRAFFIC_VALUES] = {1, 1, 1, 1};

	traffic_begin(traffic, ++now);
	traffic_add_netns(traffic, 4);
	assert_int_equal(traffic_add(traffic, "a", value), 0);
	traffic_add_netns(traffic, 5);
	assert_int_equal(traffic_add(traffic, "b", value), 0);
	traffic_forget_netns(traffic);
	assert_int_equal(traffic_end(traffic, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.namespaces, 1);
	/* A reading that was not finished leaves nothing. */
	traffic_begin(traffic, ++now);
	traffic_add_netns(traffic, 6);
	READ({4, "a", 1, 1});
	assert_int_equal(list.namespaces, 1);
	expect(4, "a", 0, 0, 1);
}

TEST(test_too_many)
{
	static const uint64_t value[TRAFFIC_VALUES] = {1, 1, 1, 1};
	char name[16];

	traffic_begin(traffic, ++now);
	traffic_add_netns(traffic, 4);
	for (unsigned int i = 0; i < TRAFFIC_DEVICES_MAX + 3; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		assert_int_equal(traffic_add(traffic, name, value), 0);
	}
	assert_int_equal(traffic_end(traffic, &list), 0);
	assert_int_equal(list.count, TRAFFIC_DEVICES_MAX);
	assert_int_equal(list.left_out, 3);
}
