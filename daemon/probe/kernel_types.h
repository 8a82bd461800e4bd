/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's types, as its BTF describes them.  What it does not have is -ENOENT. */
#ifndef DAEMON_PROBE_KERNEL_TYPES_H
#define DAEMON_PROBE_KERNEL_TYPES_H

#include <stdint.h>

#include "common/cleanup.h"

struct btf;

/* The BTF of the running kernel, NULL with errno: it has none.  Free with kernel_types_free. */
struct btf *kernel_types_load(void);
void kernel_types_free(struct btf **kernel);
#define OWN_TYPES CLEANUP(kernel_types_free)

/* The size of a struct in bytes. */
int kernel_types_size(const struct btf *kernel, const char *name);
/* Where a member begins in its struct, in bytes. */
int kernel_types_offset(const struct btf *kernel, const char *name, const char *member);
/* The entries of a member that is an array. */
int kernel_types_entries(const struct btf *kernel, const char *name, const char *member);
/* The value of a constant of an anonymous enum. */
int kernel_types_constant(const struct btf *kernel, const char *name);
/* The mask of such a constant, NETIF_F_…_BIT, in net_device.features; 0: not known. */
uint64_t kernel_types_feature(const struct btf *kernel, const char *name);

#endif
