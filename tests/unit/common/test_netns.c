/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "common/array.h"
#include "common/netns.h"
#include "tests/unit/test.h"

TEST(test_numbers)
{
	static const struct {
		const char *text;
		uint32_t inode; /* 0: refused */
	} cases[] = {
		{"1", 1},
		{"4026531840", 4026531840U},
		{"4294967295", UINT32_MAX},
		{"007", 7},
		{"0", 0},
		{"00", 0},
		{"4294967296", 0},
		{"18446744073709551617", 0},
		{"99999999999999999999999999", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t inode = 42;

		assert_int_equal(netns_parse(cases[i].text, &inode), cases[i].inode ? 0 : -EINVAL);
		assert_int_equal(inode, cases[i].inode ? cases[i].inode : 42);
	}
}

TEST(test_names)
{
	static const char *const names[] = {"blue", "host", "1st", "-1",  "+1",	 " 1",
					    "1 ",   "0x10", "...", "a.b", "1e3", "cni-4a2f"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint32_t inode = 42;

		assert_int_equal(netns_parse(names[i], &inode), 0);
		assert_int_equal(inode, 0);
	}
}

/* A name that would be a file elsewhere, or none at all. */
TEST(test_refused)
{
	static const char *const texts[] = {
		"", ".", "..", "/", "a/b", "../etc/passwd", "/proc/1/ns/net"};
	char longest[NAME_MAX + 2];
	uint32_t inode = 42;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(netns_parse(texts[i], &inode), -EINVAL);
	assert_int_equal(inode, 42);
	memset(longest, 'a', sizeof(longest));
	longest[NAME_MAX + 1] = '\0';
	assert_int_equal(netns_parse(longest, &inode), -EINVAL);
	longest[NAME_MAX] = '\0';
	assert_int_equal(netns_parse(longest, &inode), 0);
}
