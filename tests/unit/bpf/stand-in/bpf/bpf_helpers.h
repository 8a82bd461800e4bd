/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In place of libbpf's header: the helpers of the programs, for user space.
 * They are those of tests/unit/bpf/stand_in.c, which a test controls.
 */
#ifndef STAND_IN_BPF_HELPERS_H
#define STAND_IN_BPF_HELPERS_H

#include "tests/unit/bpf/stand_in.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#undef __noinline
#define __noinline __attribute__((noinline, unused))

#define SEC(name) __attribute__((unused))

/* A map is a struct of pointers that nobody follows: only their types have a meaning. */
#define __uint(name, number) int(*name)[number]
#define __type(name, of) __typeof__(of) *name
#define __array(name, of) __typeof__(of) *name[1]

#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))
#define barrier() __asm__ volatile("" ::: "memory")

#define bpf_map_lookup_elem(map, key) stand_in_lookup(map, key)
#define bpf_map_update_elem(map, key, value, flags) stand_in_update(map, key, value, flags)
#define bpf_map_delete_elem(map, key) stand_in_delete(map, key)
#define bpf_map_pop_elem(map, value) stand_in_pop(map, value)
#define bpf_ktime_get_ns() stand_in_clock()
#define bpf_get_smp_processor_id() stand_in_cpu()
#define bpf_jiffies64() (stand_in.jiffies)
#define bpf_get_prandom_u32() stand_in_random()
#define bpf_get_current_pid_tgid() stand_in_pid_tgid()
#define bpf_get_current_task() ((__u64)stand_in.task)
#define bpf_get_current_cgroup_id() ((__u64)stand_in.cgroup)
#define bpf_get_current_comm(to, size) stand_in_comm(to, size)
#define bpf_get_stack(ctx, to, size, flags) stand_in_get_stack(to, size)
#define bpf_probe_read_kernel(to, size, from) stand_in_read(to, size, from)
#define bpf_probe_read_kernel_str(to, size, from) stand_in_read_string(to, size, from)
#define bpf_ringbuf_reserve(map, size, flags) stand_in_reserve(map, size)
#define bpf_ringbuf_submit(record, flags) stand_in_submit(record)
#define bpf_ringbuf_discard(record, flags) stand_in_discard(record)
#define bpf_ringbuf_output(map, record, size, flags) stand_in_output(map, record, size)

/* The programs' atomic operations; an interrupt may come before one, and after an exchange. */
#define __sync_lock_test_and_set(word, value) stand_in_exchange(word, value)
#define __sync_val_compare_and_swap(word, old, value) stand_in_compare_and_swap(word, old, value)
#define __sync_fetch_and_add(word, value) \
	(stand_in_before_add(), __atomic_fetch_add(word, value, __ATOMIC_RELAXED))

/* The kernel's function, which load.c puts in the place of this number. */
#undef NF_CALL_RDONLY_CAST
#define NF_CALL_RDONLY_CAST stand_in_rdonly_cast

/* Addresses in user space have at most 47 bits, on arm64 48; the sizes in skb->dev of a test have bit 48. */
#define NF_IS_NUMBER(pointer) ((__u64)(pointer) >> 48 != 0)

/* The settings are constants to the verifier only. */
#define NF_SETTINGS volatile

#endif
