/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of libbpf's header: a kprobe finds its arguments in x86-64's registers. */
#ifndef STAND_IN_BPF_TRACING_H
#define STAND_IN_BPF_TRACING_H

#define PT_REGS_PARM1(registers) ((registers)->di)
#define PT_REGS_PARM2(registers) ((registers)->si)

#endif
