/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel is to the programs in bpf/: maps, helpers and the machine.
 *
 * The programs compile for user space against the headers in stand-in/, which
 * call these functions.  A test registers the maps, sets the machine's state and
 * calls the programs.  One thread plays all CPUs: a hook that a helper calls may
 * change the CPU and call another program, as an interrupt or another CPU would.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Where in a program the hook is called. */
enum stand_in_point {
	STAND_IN_LOOKUP,
	STAND_IN_UPDATE,
	STAND_IN_CLOCK,
	STAND_IN_READ,
	STAND_IN_RESERVE,
	STAND_IN_SUBMIT,
	STAND_IN_BEFORE_EXCHANGE,
	STAND_IN_AFTER_EXCHANGE,
	STAND_IN_BEFORE_ADD, /* an atomic one */
};

#define STAND_IN_STACK 64
#define STAND_IN_UNREADABLE 4
#define STAND_IN_NUMBERS 8

struct stand_in {
	__u64 now; /* CLOCK_MONOTONIC, ns */
	__u64 jiffies;
	__u64 step; /* ns that the clock moves at each reading */
	__u32 cpu;
	__u32 cpus; /* possible ones, at most STAND_IN_CPUS */
	__u32 random;
	__u32 pid, tid; /* of the current task */
	char comm[16];
	__u64 cgroup;
	const void *task; /* struct task_struct */
	__u64 stack[STAND_IN_STACK];
	__u32 stack_len; /* entries; 0: bpf_get_stack() fails */
	bool ring_full;
	/* Memory that is not mapped in the kernel: bpf_probe_read_kernel() fails. */
	struct {
		const void *from;
		size_t size;
	} unreadable[STAND_IN_UNREADABLE];
	/* Fields that this kernel does not have: the end of the expression, NULL = none. */
	const char *missing[STAND_IN_NUMBERS];
	/* Sizes and enum values that differ from those in bpf/kernel.h. */
	struct {
		const char *name;
		__u64 value;
	} number[STAND_IN_NUMBERS];
	const void *(*rdonly_cast)(const void *object);
	void (*hook)(enum stand_in_point point);
	/* Called for each record instead of keeping it. */
	void (*on_record)(const void *record, size_t size);
};
extern struct stand_in stand_in;

#define STAND_IN_CPUS 8

/* Forget all maps and records, and set a machine of `cpus` CPUs. */
void stand_in_reset(__u32 cpus);
/* Forget them, and free their memory. */
void stand_in_free(void);

/* ---- maps: the declaration of a map in the programs says what it is ---- */

void stand_in_add_map(const void *map, __u32 type, size_t key_size, size_t value_size,
		      __u32 entries);
#define STAND_IN_TYPE(map) (sizeof(*(map).type) / sizeof(int))
#define STAND_IN_MAP(map, entries)                                                             \
	stand_in_add_map(&(map), STAND_IN_TYPE(map), sizeof(*(map).key), sizeof(*(map).value), \
			 entries)
#define STAND_IN_RING(map) stand_in_add_map(&(map), STAND_IN_TYPE(map), 0, 0, 0)
#define STAND_IN_VALUE_SIZE(map) (sizeof(*(map).value_size) / sizeof(int))
#define STAND_IN_QUEUE(map, entries) \
	stand_in_add_map(&(map), STAND_IN_TYPE(map), 0, STAND_IN_VALUE_SIZE(map), entries)
/* A map of maps, which has no maps yet. */
#define STAND_IN_OUTER(map, entries) \
	stand_in_add_map(&(map), STAND_IN_TYPE(map), sizeof(*(map).key), 1, entries)
/* Put a new array into a map of maps; take it out again, which keeps its values. */
void stand_in_add_inner(const void *outer, __u32 index, size_t value_size, __u32 entries);
void stand_in_show_inner(const void *outer, __u32 index, bool yes);

/* As the daemon sees a map: the value of one CPU, and the number of keys. */
void *stand_in_value(const void *map, const void *key, __u32 cpu);
__u32 stand_in_keys(const void *map);
/* The daemon fills a queue.  How many values it has. */
void stand_in_push(const void *map, const void *value);
__u32 stand_in_queued(const void *map);
/* The key with this index, from 0 to stand_in_keys() - 1, in no order. */
const void *stand_in_key(const void *map, __u32 index);

/* ---- records, in the order in which they were submitted ---- */

size_t stand_in_records(void);
/* The last record is -1. */
const void *stand_in_record(long index, size_t *size);
void stand_in_forget_records(void);
/* Records that were reserved and neither submitted nor discarded. */
size_t stand_in_reserved(void);

/* ---- for the headers in stand-in/ ---- */

void *stand_in_lookup(const void *map, const void *key);
long stand_in_update(const void *map, const void *key, const void *value, __u64 flags);
long stand_in_delete(const void *map, const void *key);
long stand_in_pop(const void *map, void *value);
__u64 stand_in_clock(void);
__u32 stand_in_cpu(void);
__u32 stand_in_random(void);
__u64 stand_in_pid_tgid(void);
long stand_in_comm(void *to, size_t size);
long stand_in_get_stack(void *to, size_t size);
long stand_in_read(void *to, size_t size, const void *from);
long stand_in_read_string(void *to, size_t size, const void *from);
void *stand_in_reserve(const void *map, size_t size);
void stand_in_submit(void *record);
void stand_in_discard(void *record);
long stand_in_output(const void *map, const void *record, size_t size);
__u64 stand_in_exchange(__u64 *word, __u64 value);
__u64 stand_in_compare_and_swap(__u64 *word, __u64 old, __u64 value);
void stand_in_before_add(void);
bool stand_in_has(const char *field);
__u64 stand_in_number(const char *name, __u64 value);
void *stand_in_rdonly_cast(const void *object, __u32 btf_id);

#endif
