/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/names.h"
#include "tests/unit/test.h"

static struct names *names;

static int start(void **state)
{
	static const struct {
		uint32_t number;
		const char *name;
	} reasons[] = {
		{6, "SKB_DROP_REASON_SOCKET_RCVBUFF"}, {0, "SKB_NOT_DROPPED_YET"},
		{3, "SKB_DROP_REASON_NO_SOCKET"},      {1, "SKB_CONSUMED"},
		{2, "SKB_DROP_REASON_NOT_SPECIFIED"},  {0x10001, "___RX_DROP_U_MIC_FAIL"},
		{75, "SKB_DROP_REASON_SKB_CSUM"},      {0x30001, "OVS_DROP_LAST_ACTION"},
	};

	(void)state;
	if (names_new(&names) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (names_add_reason(names, reasons[i].number, reasons[i].name) < 0)
			return -1;
	return names_add_subsystem(names, 1, "SKB_DROP_REASON_SUBSYS_MAC80211_UNUSABLE") < 0 ||
	       names_add_subsystem(names, 3, "SKB_DROP_REASON_SUBSYS_OPENVSWITCH") < 0;
}

static int stop(void **state)
{
	(void)state;
	names_free(&names);
	return names != NULL;
}

EACH_TEST(start, stop);

TEST(test_free_null)
{
	struct names *none = NULL;

	names_free(&none);
	assert_null(none);
}

TEST(test_reason)
{
	assert_string_equal(names_reason(names, 0), "NOT_DROPPED_YET");
	assert_string_equal(names_reason(names, 1), "CONSUMED");
	assert_string_equal(names_reason(names, 2), "NOT_SPECIFIED");
	assert_string_equal(names_reason(names, 3), "NO_SOCKET");
	assert_string_equal(names_reason(names, 6), "SOCKET_RCVBUFF");
	assert_string_equal(names_reason(names, 0x10001), "RX_DROP_U_MIC_FAIL");
	assert_string_equal(names_reason(names, 0x30001), "OVS_DROP_LAST_ACTION");
	assert_null(names_reason(names, 4));
	assert_null(names_reason(names, 0x10003));
	assert_null(names_reason(names, UINT32_MAX));
}

TEST(test_subsystem)
{
	assert_string_equal(names_subsystem(names, 0), "core");
	assert_string_equal(names_subsystem(names, 0xffff), "core");
	assert_string_equal(names_subsystem(names, 0x10001), "mac80211_unusable");
	assert_string_equal(names_subsystem(names, 0x3ffff), "openvswitch");
	assert_null(names_subsystem(names, 0x20001));
	assert_int_equal(names_add_subsystem(names, 0, "SKB_DROP_REASON_SUBSYS_CORE"), 0);
	assert_int_equal(names_add_subsystem(names, 0, "other"), -EEXIST);
	assert_int_equal(names_add_subsystem(names, 4, "SKB_DROP_REASON_SUBSYS_NUM"), 0);
	assert_null(names_subsystem(names, 0x40000));
}

TEST(test_has_reasons)
{
	assert_true(names_has_reasons(names, 0));
	assert_true(names_has_reasons(names, 0x1ffff));
	assert_true(names_has_reasons(names, 0x30000));
	assert_false(names_has_reasons(names, 0x20000));
	assert_false(names_has_reasons(names, 0x40000));
}

TEST(test_add_again)
{
	/* mac80211's enum begins with a value that belongs to the core's */
	assert_int_equal(names_add_reason(names, 1, "___RX_CONTINUE"), -EEXIST);
	assert_string_equal(names_reason(names, 1), "CONSUMED");
}

TEST(test_add_markers)
{
	assert_int_equal(names_add_reason(names, 130, "SKB_DROP_REASON_MAX"), 0);
	assert_int_equal(names_add_reason(names, 0xffff0000, "SKB_DROP_REASON_SUBSYS_MASK"), 0);
	assert_int_equal(names_add_reason(names, 0x30000, "__OVS_DROP_REASON"), 0);
	assert_int_equal(names_add_reason(names, 0x3000c, "OVS_DROP_MAX"), 0);
	assert_null(names_reason(names, 130));
	assert_null(names_reason(names, 0xffff0000));
	assert_null(names_reason(names, 0x30000));
	assert_null(names_reason(names, 0x3000c));
}

TEST(test_add_invalid)
{
	char name[NAMES_LENGTH_MAX + 2];

	memset(name, 'A', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(names_add_reason(names, 100, name), -EINVAL);
	name[sizeof(name) - 2] = '\0';
	assert_int_equal(names_add_reason(names, 100, name), 0);
	assert_int_equal(names_add_reason(names, 101, ""), -EINVAL);
	assert_int_equal(names_add_reason(names, 101, "A B"), -EINVAL);
	assert_int_equal(names_add_reason(names, 101, "A\xff"), -EINVAL);
	assert_int_equal(names_add_subsystem(names, 5, ""), -EINVAL);
}

TEST(test_bounded)
{
	char name[32];
	uint32_t n = 1000;

	/* from the largest number down, so that each one is inserted before all others */
	for (uint32_t added = 8; added < NAMES_REASONS_MAX; added++, n++) {
		snprintf(name, sizeof(name), "R_%u", n);
		assert_int_equal(names_add_reason(names, 1000000 - n, name), 0);
	}
	assert_int_equal(names_add_reason(names, 5, "ONE_MORE"), -ENOSPC);
	assert_null(names_reason(names, 5));
	for (uint32_t i = 1000; i < n; i++) {
		snprintf(name, sizeof(name), "R_%u", i);
		assert_string_equal(names_reason(names, 1000000 - i), name);
	}
	for (uint16_t id = 100; id < 100 + NAMES_SUBSYSTEMS_MAX - 3; id++)
		assert_int_equal(names_add_subsystem(names, id, "x"), 0);
	assert_int_equal(names_add_subsystem(names, 99, "x"), -ENOSPC);
}

TEST(test_find)
{
	static const struct {
		const char *text;
		uint32_t number;
	} cases[] = {
		{"NO_SOCKET", 3},
		{"no_socket", 3},
		{"SKB_DROP_REASON_NO_SOCKET", 3},
		{"skb_drop_reason_no_socket", 3},
		{"CONSUMED", 1},
		{"SKB_CONSUMED", 1},
		{"SKB_CSUM", 75},
		{"SKB_DROP_REASON_SKB_CSUM", 75},
		{"rx_drop_u_mic_fail", 0x10001},
		{"___RX_DROP_U_MIC_FAIL", 0x10001},
		{"OVS_DROP_LAST_ACTION", 0x30001},
		{"3", 3},
		{"010", 10},
		{"0", 0},
		{"0x10005", 0x10005},
		{"0X1f", 0x1f},
		{"4294967295", UINT32_MAX},
		{"0xffffffff", UINT32_MAX},
	};
	uint32_t number;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		number = 99;
		assert_int_equal(names_find_reason(names, cases[i].text, &number), 0);
		assert_int_equal(number, cases[i].number);
	}
}

TEST(test_find_nothing)
{
	static const char *const texts[] = {
		"",
		"NO_SOCKE",
		"NO_SOCKETS",
		"4294967296",
		"-1",
		"+1",
		" 1",
		"1 ",
		"0x",
		"0x100000000",
		"12a",
		"a",
		"ff",
		"0x-1",
		"0x 1",
		"99999999999999999999999",
		"SKB_DROP_REASON_",
	};
	uint32_t number = 99;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(names_find_reason(names, texts[i], &number), -ENOENT);
	assert_int_equal(number, 99);
}

TEST(test_nearest)
{
	assert_string_equal(names_nearest_reason(names, "NO_SOKET"), "NO_SOCKET");
	assert_string_equal(names_nearest_reason(names, "skb_drop_reason_no_soket"), "NO_SOCKET");
	assert_string_equal(names_nearest_reason(names, "ovs_drop_last_actoin"),
			    "OVS_DROP_LAST_ACTION");
	assert_null(names_nearest_reason(names, "xyz"));
	assert_null(names_nearest_reason(names, ""));
}

TEST(test_empty)
{
	struct names *empty = NULL;
	uint32_t number;

	assert_int_equal(names_new(&empty), 0);
	assert_null(names_reason(empty, 3));
	assert_string_equal(names_subsystem(empty, 3), "core");
	assert_int_equal(names_find_reason(empty, "NO_SOCKET", &number), -ENOENT);
	assert_int_equal(names_find_reason(empty, "3", &number), 0);
	assert_null(names_nearest_reason(empty, "NO_SOCKET"));
	names_free(&empty);
}
