/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the running kernel, as far as they are the same on all kernels with BTF. */
#include <errno.h>

#include "daemon/probe/kernel_types.h"
#include "tests/unit/test.h"

static int load(void **state)
{
	*state = kernel_types_load();
	return 0;
}

static int release(void **state)
{
	struct btf *kernel = *state;

	kernel_types_free(&kernel);
	assert_null(kernel);
	return 0;
}

EACH_TEST(load, release);

static const struct btf *needed(void **state)
{
	if (!*state)
		skip();
	return *state;
}

TEST(test_members)
{
	const struct btf *kernel = needed(state);

	assert_int_equal(kernel_types_offset(kernel, "bio_vec", "bv_page"), 0);
	assert_int_equal(kernel_types_offset(kernel, "bio_vec", "bv_len"), sizeof(void *));
	assert_int_equal(kernel_types_size(kernel, "bio_vec"), sizeof(void *) + 8);
	assert_true(kernel_types_offset(kernel, "skb_shared_info", "frags") > 0);
}

/* struct sk_buff begins with an anonymous union of an anonymous struct. */
TEST(test_members_of_anonymous_structs)
{
	const struct btf *kernel = needed(state);

	assert_int_equal(kernel_types_offset(kernel, "sk_buff", "next"), 0);
	assert_int_equal(kernel_types_offset(kernel, "sk_buff", "prev"), sizeof(void *));
}

/* MAX_SKB_FRAGS is 17 to 45. */
TEST(test_entries)
{
	const struct btf *kernel = needed(state);

	assert_in_range(kernel_types_entries(kernel, "skb_shared_info", "frags"), 17, 45);
	assert_int_equal(kernel_types_entries(kernel, "skb_shared_info", "nr_frags"), -ENOENT);
}

TEST(test_constants)
{
	const struct btf *kernel = needed(state);

	assert_int_equal(kernel_types_constant(kernel, "NETIF_F_SG_BIT"), 0);
	assert_int_equal(kernel_types_constant(kernel, "NETIF_F_IP_CSUM_BIT"), 1);
}

TEST(test_what_is_not_there)
{
	const struct btf *kernel = needed(state);

	assert_int_equal(kernel_types_size(kernel, "netflowd"), -ENOENT);
	assert_int_equal(kernel_types_offset(kernel, "netflowd", "len"), -ENOENT);
	assert_int_equal(kernel_types_offset(kernel, "sk_buff", "netflowd"), -ENOENT);
	assert_int_equal(kernel_types_entries(kernel, "sk_buff", "netflowd"), -ENOENT);
	assert_int_equal(kernel_types_constant(kernel, "NETFLOWD_BIT"), -ENOENT);
}
