/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/kernel_types.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

struct btf *kernel_types_load(void)
{
	/* The library looks in other places, too, and reports each. */
	return access(KERNEL_BTF, R_OK) == 0 ? btf__load_vmlinux_btf() : NULL;
}

void kernel_types_free(struct btf **kernel)
{
	btf__free(*kernel);
	*kernel = NULL;
}

static const struct btf_type *struct_of(const struct btf *kernel, const char *name)
{
	int id = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(kernel, (__u32)id) : NULL;
}

/* The member and its offset in bits; members of anonymous structs and unions belong to the outer one.  NULL: none. */
static const struct btf_member *find(const struct btf *kernel, const struct btf_type *type,
				     const char *name, __u32 *bits)
{
	for (__u16 i = 0; type && btf_is_composite(type) && i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i], *inner;
		__u32 inside = 0;

		if (member->name_off) {
			if (strcmp(btf__name_by_offset(kernel, member->name_off), name) != 0)
				continue;
			*bits = btf_member_bit_offset(type, i);
			return member;
		}
		inner = find(kernel, btf__type_by_id(kernel, member->type), name, &inside);
		if (inner) {
			*bits = btf_member_bit_offset(type, i) + inside;
			return inner;
		}
	}
	return NULL;
}

int kernel_types_size(const struct btf *kernel, const char *name)
{
	const struct btf_type *type = struct_of(kernel, name);

	return type ? (int)type->size : -ENOENT;
}

int kernel_types_offset(const struct btf *kernel, const char *name, const char *member)
{
	__u32 bits;

	return find(kernel, struct_of(kernel, name), member, &bits) ? (int)(bits / 8) : -ENOENT;
}

int kernel_types_entries(const struct btf *kernel, const char *name, const char *member)
{
	__u32 bits;
	const struct btf_member *found = find(kernel, struct_of(kernel, name), member, &bits);
	const struct btf_type *type = found ? btf__type_by_id(kernel, found->type) : NULL;

	return type && btf_is_array(type) ? (int)btf_array(type)->nelems : -ENOENT;
}

int kernel_types_constant(const struct btf *kernel, const char *name)
{
	for (__u32 id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *type = btf__type_by_id(kernel, id);

		if (!btf_is_enum(type) || type->name_off)
			continue;
		for (__u16 i = 0; i < btf_vlen(type); i++)
			if (!strcmp(btf__name_by_offset(kernel, btf_enum(type)[i].name_off), name))
				return btf_enum(type)[i].val;
	}
	return -ENOENT;
}

uint64_t kernel_types_feature(const struct btf *kernel, const char *name)
{
	int bit = kernel_types_constant(kernel, name);

	return bit < 0 ? 0 : UINT64_C(1) << (bit & 63);
}
