/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which device is meant by a name: renames, successors, moves, and devices without a number. */
#include <stdio.h>
#include <string.h>

#include "daemon/store/device_names.h"
#include "tests/unit/test.h"

#define DEVICE(netns, number) NF_DEVICE_KEY(netns, number)

static struct device_names *names;
static struct device_holders holders;
static const char *renamed; /* the newest name, if none has the one that was asked for */

static int setup(void **state)
{
	(void)state;
	return device_names_new(&names);
}

static int teardown(void **state)
{
	(void)state;
	device_holders_clear(&holders);
	device_names_free(&names);
	return 0;
}

EACH_TEST(setup, teardown);

static void find(const char *name)
{
	device_holders_clear(&holders);
	assert_int_equal(device_names_holders(names, name, &holders, &renamed), 0);
}

static enum device_place place(uint64_t identity, bool named)
{
	return device_holders_place(&holders, NF_KEY_NETNS_ID(identity),
				    device_own_identity(identity), named);
}

static void assert_holder(uint64_t identity)
{
	assert_int_equal(holders.count, 1);
	assert_int_equal(holders.at[0].device, identity);
	assert_int_equal(place(identity, false), DEVICE_HERE);
}

TEST(test_rename)
{
	const struct device_name *name;

	device_names_begin(names, 100);
	device_names_dropped(names, DEVICE(1, 5), "old", 90);
	find("old");
	assert_holder(DEVICE(1, 5));
	assert_null(renamed);
	device_names_begin(names, 200);
	device_names_dropped(names, DEVICE(1, 5), "new", 150);
	/* Another key of it has an older drop. */
	device_names_dropped(names, DEVICE(1, 5), "old", 90);
	name = device_names_find(names, DEVICE(1, 5));
	assert_string_equal(name->name, "new");
	assert_string_equal(name->was, "old");
	assert_int_equal(name->since_ns, 150);
	find("new");
	assert_holder(DEVICE(1, 5));
	find("old");
	assert_holder(DEVICE(1, 5));
	assert_string_equal(renamed, "new");
	/* The name belongs to another one now. */
	device_names_passed(names, DEVICE(1, 6), "old");
	find("old");
	assert_holder(DEVICE(1, 6));
	assert_null(renamed);
	assert_int_equal(place(DEVICE(1, 5), false), DEVICE_ELSEWHERE);
	find("other");
	assert_int_equal(holders.count, 0);
	assert_int_equal(place(DEVICE(1, 5), false), DEVICE_ELSEWHERE);
}

/* A name that was read as packets passed does not replace the newer one of a drop until it changes. */
TEST(test_drops_and_packets)
{
	device_names_begin(names, 100);
	device_names_passed(names, DEVICE(1, 5), "old");
	device_names_begin(names, 200);
	device_names_dropped(names, DEVICE(1, 5), "new", 150);
	device_names_passed(names, DEVICE(1, 5), "old");
	assert_string_equal(device_names_find(names, DEVICE(1, 5))->name, "new");
	device_names_begin(names, 300);
	device_names_passed(names, DEVICE(1, 5), "newer");
	assert_string_equal(device_names_find(names, DEVICE(1, 5))->name, "newer");
}

TEST(test_successor)
{
	const uint64_t first = DEVICE(1, 5), second = DEVICE(1, 9), elsewhere = DEVICE(2, 3);

	device_names_begin(names, 100);
	device_names_passed(names, second, "eth0");
	device_names_passed(names, first, "eth0");
	device_names_passed(names, elsewhere, "eth0");
	find("eth0");
	/* Of two that are seen first in one reading, the one with the higher number is younger. */
	assert_int_equal(holders.count, 2);
	assert_int_equal(place(second, true), DEVICE_HERE);
	assert_int_equal(place(first, true), DEVICE_EARLIER);
	assert_int_equal(place(elsewhere, true), DEVICE_HERE);
	/* An older device that comes later, and a drop of the first one that is read late. */
	device_names_begin(names, 200);
	device_names_passed(names, DEVICE(1, 2), "eth0");
	device_names_dropped(names, DEVICE(1, 4), "eth0", 80);
	find("eth0");
	assert_int_equal(place(DEVICE(1, 2), true), DEVICE_HERE);
	assert_int_equal(place(second, true), DEVICE_EARLIER);
	assert_int_equal(place(DEVICE(1, 4), true), DEVICE_EARLIER);
}

/* The kernel's numbers begin again. */
TEST(test_wrap)
{
	device_names_begin(names, 100);
	device_names_passed(names, DEVICE(1, 0x7ffffff0), "eth0");
	device_names_passed(names, DEVICE(1, 7), "eth0");
	find("eth0");
	assert_holder(DEVICE(1, 7));
}

/* An ifindex does not distinguish a device from its successor, so it replaces none and is replaced by none. */
TEST(test_by_index)
{
	const uint64_t index = DEVICE(1, NF_DEVICE_BY_INDEX | 4);

	device_names_begin(names, 100);
	device_names_passed(names, DEVICE(1, 5), "eth0");
	device_names_dropped(names, index, "eth0", 99);
	find("eth0");
	assert_holder(DEVICE(1, 5));
	assert_int_equal(place(index, true), DEVICE_HERE);
	assert_int_equal(place(index, false), DEVICE_ELSEWHERE);
	assert_int_equal(place(0, true), DEVICE_HERE);
}

/* Devices that come and go by the ten thousand: those that readings still have stay. */
TEST(test_many)
{
	for (uint32_t i = 1; i <= 4 * DEVICE_NAMES_MAX; i++) {
		if (i % 64 == 1)
			device_names_begin(names, i);
		device_names_passed(names, DEVICE(1, 1), "lo");
		device_names_passed(names, DEVICE(1, i + 1), "pod");
	}
	assert_non_null(device_names_find(names, DEVICE(1, 1)));
	find("lo");
	assert_holder(DEVICE(1, 1));
	find("pod");
	assert_holder(DEVICE(1, 4 * DEVICE_NAMES_MAX + 1));
}
