/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/slots_layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/probe/kernel_types.h"

#define SMALL_HEADS "/sys/kernel/slab/skbuff_small_head"

/* An entry of frags[] as the decoder expects it: the page, the length, the offset. */
enum { FRAG_LENGTH_AT = 8, FRAG_OFFSET_AT = 12 };

static const struct {
	const char *structure, *member;
	size_t to; /* in struct slots_layout */
} members[] = {
	{"sk_buff", "len", offsetof(struct slots_layout, len)},
	{"sk_buff", "data_len", offsetof(struct slots_layout, data_len)},
	{"sk_buff", "head", offsetof(struct slots_layout, head)},
	{"sk_buff", "data", offsetof(struct slots_layout, data)},
	{"sk_buff", "end", offsetof(struct slots_layout, end)},
	{"skb_shared_info", "nr_frags", offsetof(struct slots_layout, nr_frags)},
	{"skb_shared_info", "gso_size", offsetof(struct slots_layout, gso_size)},
	{"skb_shared_info", "gso_segs", offsetof(struct slots_layout, gso_segs)},
	{"skb_shared_info", "frags", offsetof(struct slots_layout, frags)},
	{"net_device", "name", offsetof(struct slots_layout, name)},
	{"net_device", "features", offsetof(struct slots_layout, features)},
};

static const struct {
	const char *name;
	size_t to;
} constants[] = {
	{"NETIF_F_SG_BIT", offsetof(struct slots_layout, sg_bit)},
	{"NETIF_F_GSO_BIT", offsetof(struct slots_layout, gso_bit)},
	{"NETIF_F_TSO_BIT", offsetof(struct slots_layout, tso_bit)},
};

static int *place(struct slots_layout *layout, size_t offset)
{
	return (int *)((char *)layout + offset);
}

/* Before 5.4 (b8b576a16f79) the offset came first; since 6.9 (21d2e6737c97) the struct has a name of its own again. */
static bool has_known_frags(const struct btf *kernel)
{
	bool own = kernel_types_size(kernel, "skb_frag") > 0;
	const char *name = own ? "skb_frag" : "bio_vec";

	return kernel_types_offset(kernel, name, own ? "len" : "bv_len") == FRAG_LENGTH_AT &&
	       kernel_types_offset(kernel, name, own ? "offset" : "bv_offset") == FRAG_OFFSET_AT;
}

/* The kernel has a cache for small heads since 6.3 (bf9f1baa279f); only root may read its size. */
static int small_head(void)
{
	OWN_FILE FILE *file = fopen(SMALL_HEADS "/object_size", "re");
	int size;

	if (file && fscanf(file, "%d", &size) == 1)
		return size;
	return access(SMALL_HEADS, F_OK) == 0 ? -1 : 0;
}

static int fill(struct slots_layout *layout, const struct btf *kernel, char *why, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		int offset = kernel_types_offset(kernel, members[i].structure, members[i].member);

		if (offset < 0) {
			snprintf(why, size, "the kernel's BTF has no member %s of struct %s",
				 members[i].member, members[i].structure);
			return offset;
		}
		*place(layout, members[i].to) = offset;
	}
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		int bit = kernel_types_constant(kernel, constants[i].name);

		if (bit < 0) {
			snprintf(why, size, "the kernel's BTF has no constant %s",
				 constants[i].name);
			return bit;
		}
		*place(layout, constants[i].to) = bit;
	}
	layout->shared_size = kernel_types_size(kernel, "skb_shared_info");
	layout->small_head = small_head();
	layout->frags_max = kernel_types_entries(kernel, "skb_shared_info", "frags");
	if (layout->frags_max > 0 && has_known_frags(kernel))
		return 0;
	snprintf(why, size, "this kernel's fragments of packets have a layout that is not known");
	return -ENOENT;
}

int slots_layout_read(struct slots_layout *layout, char *why, size_t size)
{
	OWN_TYPES struct btf *kernel = kernel_types_load();

	if (kernel)
		return fill(layout, kernel, why, size);
	snprintf(why, size, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	return -ENOENT;
}
