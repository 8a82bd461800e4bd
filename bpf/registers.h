/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a kprobe finds its function's arguments: libbpf's macros know the
 * registers of each machine, and these are the types that they name.
 */
#ifndef NF_REGISTERS_H
#define NF_REGISTERS_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* x86-64 */
struct pt_regs {
	unsigned long di;
	unsigned long si;
};

/* arm64 */
struct user_pt_regs {
	unsigned long regs[31];
};

#pragma clang attribute pop

/* Tells bpf_tracing.h that the kernel's own names of registers are meant. */
#define __VMLINUX_H__

#endif
