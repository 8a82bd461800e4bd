/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers in which a kprobe finds the arguments of its function.  The
 * macros of bpf_tracing.h know them for each machine, by the types below.
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

/* Makes bpf_tracing.h use the kernel's names of the registers. */
#define __VMLINUX_H__

#endif
