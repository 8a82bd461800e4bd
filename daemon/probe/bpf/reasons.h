/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel's names of drop reasons, for a program that starts no backend. */
#ifndef DAEMON_PROBE_BPF_REASONS_H
#define DAEMON_PROBE_BPF_REASONS_H

struct names;

/*
 * Add all reasons of the kernel and of its loaded modules.  Requires no privilege.  -ENOENT: the kernel gives drops no
 * reasons (before 5.17); another negative errno: its BTF cannot be read.
 */
int bpf_reasons_of_kernel(struct names *names);

#endif
