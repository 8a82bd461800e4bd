/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/history/series_name.h"
#include "tests/unit/test.h"

static const struct series_name whole = {.device = {.name = "eth0",
						    .ifindex = 300,
						    .netns = 4026531840,
						    .netns_id = 1ULL << 52,
						    .identity = 77,
						    .netns_name = "red"},
					 .segment = "rx_total",
					 .probe = "xmit",
					 .cpu = 254,
					 .xen = 1,
					 .other = 1,
					 .unsure = 1};

/* In memory of exactly this size, so that a sanitizer sees who reads behind it. */
static int decode(const uint8_t *bytes, size_t size, struct series_name *name)
{
	uint8_t *copy = malloc(size ? size : 1);
	int r;

	memcpy(copy, bytes, size);
	*name = (struct series_name){0};
	r = series_name_decode(name, copy, size);
	free(copy);
	return r;
}

TEST(test_all_fields)
{
	uint8_t bytes[SERIES_NAME_MAX];
	size_t size = series_name_encode(&whole, bytes);
	struct series_name name = {0};

	assert_int_equal(series_name_decode(&name, bytes, size), 0);
	assert_string_equal(name.device.name, whole.device.name);
	assert_string_equal(name.device.netns_name, whole.device.netns_name);
	assert_string_equal(name.segment, whole.segment);
	assert_string_equal(name.probe, whole.probe);
	name.device.name = whole.device.name;
	name.device.netns_name = whole.device.netns_name;
	name.segment = whole.segment;
	name.probe = whole.probe;
	assert_memory_equal(&name, &whole, sizeof(name));
}

/* What is not known takes no room. */
TEST(test_nothing)
{
	static const struct series_name nothing;
	uint8_t bytes[SERIES_NAME_MAX];
	struct series_name name;

	assert_int_equal(series_name_encode(&nothing, bytes), 0);
	assert_int_equal(decode(bytes, 0, &name), 0);
	assert_memory_equal(&name, &nothing, sizeof(name));
}

/* A file that was cut, or changed, has names of fewer fields, or none. */
TEST(test_damaged)
{
	/* No field has the number; the value is too large for it, or does not end. */
	static const struct {
		uint8_t bytes[8];
		size_t size;
	} damaged[] = {{{0, 1}, 2},
		       {{200, 1}, 2},
		       {{11 << 2, 0xff, 0xff, 0xff, 0xff, 0x1f}, 6},
		       {{11 << 2, 0xff, 0xff}, 3},
		       {{1 << 2 | 1, 'e', 't', 'h'}, 4},
		       {{1 << 2, 1}, 2},
		       {{11 << 2 | 2, 100, 1}, 3},
		       {{11 << 2 | 3, 1}, 2}};
	uint8_t bytes[SERIES_NAME_MAX];
	size_t size = series_name_encode(&whole, bytes), complete = 0;
	struct series_name name;

	for (size_t i = 0; i < size; i++) {
		int r = decode(bytes, i, &name);

		assert_true(r == 0 || r == -EBADMSG);
		complete += r == 0;
	}
	assert_int_equal(complete, 12);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		assert_int_equal(decode(damaged[i].bytes, damaged[i].size, &name), -EBADMSG);
}
