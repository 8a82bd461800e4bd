/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Features of the running kernel, by its BTF or by a trial, never by its version. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "common/array.h"
#include "daemon/probe/bpf/internal.h"
#include "daemon/probe/kernel_types.h"

/* The prototype of a tracepoint's probes, or NULL. */
static const struct btf_type *tracepoint_prototype(const struct btf *kernel, const char *name)
{
	const struct btf_type *type;
	char symbol[128];
	int id;

	snprintf(symbol, sizeof(symbol), "btf_trace_%s", name);
	id = btf__find_by_name_kind(kernel, symbol, BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(kernel, (__u32)id) : NULL;
	type = type ? btf__type_by_id(kernel, type->type) : NULL;
	if (!type || btf_kind(type) != BTF_KIND_PTR)
		return NULL;
	type = btf__type_by_id(kernel, type->type);
	return type && btf_kind(type) == BTF_KIND_FUNC_PROTO ? type : NULL;
}

bool bpf_has_tracepoint(const struct btf *kernel, const char *name)
{
	return tracepoint_prototype(kernel, name);
}

/* The number of a tracepoint's arguments; the prototype has the data of the probe before them. */
static int tracepoint_arguments(const struct btf *kernel, const char *name)
{
	const struct btf_type *prototype = tracepoint_prototype(kernel, name);

	return prototype ? btf_vlen(prototype) - 1 : 0;
}

/* The type of a member of a struct, 0 if there is none. */
static __u32 member_type(const struct btf *kernel, const char *name, const char *member)
{
	int id = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(kernel, (__u32)id) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(kernel, btf_members(type)[i].name_off), member) == 0)
			return btf_members(type)[i].type;
	return 0;
}

/* CONFIG_PREEMPTION selects CONFIG_PREEMPT_RCU, with which each task has this counter. */
static bool preempts_tasks(const struct btf *kernel)
{
	return member_type(kernel, "task_struct", "rcu_read_lock_nesting");
}

/* CONFIG_PREEMPT_RT keeps in each task what other kernels keep in preempt_count(). */
static bool preempts_softirqs(const struct btf *kernel)
{
	return member_type(kernel, "task_struct", "softirq_disable_cnt");
}

/*
 * Whether the kernel never starts a program that is running on the CPU.  The check is new in 6.1,
 * with the function that __bpf_trace_run() calls.  On arm64, newer kernels have it once for each
 * kind of context (bpf_prog_get_recursion_context(), seen in 7.3): an interrupt or a softirq can
 * start the program that it interrupts.  bpf_prog.active is then a pointer to bytes.
 */
static bool starts_programs_once(const struct btf *kernel)
{
#ifdef __aarch64__
	const struct btf_type *active =
		btf__type_by_id(kernel, member_type(kernel, "bpf_prog", "active"));

	if (active && btf_is_ptr(active) && btf__resolve_size(kernel, active->type) == 1)
		return false;
#endif
	return btf__find_by_name_kind(kernel, "bpf_prog_inc_misses_counter", BTF_KIND_FUNC) > 0;
}

static bool supports_kprobe(void)
{
	return access("/sys/bus/event_source/devices/kprobe/type", R_OK) == 0 &&
	       !bpf_silenced("kprobe");
}

/* Whether a program with BPF_XCHG loads; BPF_CMPXCHG came with it. */
static bool supports_exchange(void)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_0,
		 .off = -8,
		 .imm = BPF_XCHG},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "nf_try", "GPL", program,
			       ARRAY_SIZE(program), NULL);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/*
 * How often, of two times, the kernel attaches a program to the entry of this function, and runs it.  A kernel
 * that cannot patch its text refuses only the attachment.
 */
static int fentry_attachments(const struct btf *kernel, const char *function)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int id = btf__find_by_name_kind(kernel, function, BTF_KIND_FUNC), fd, link, times = 0;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = id > 0 ? (__u32)id : 0);

	if (id <= 0 || bpf_silenced("fentry"))
		return 0;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nf_try", "GPL", program, ARRAY_SIZE(program),
			   &options);
	if (fd < 0)
		return 0;
	while (times < 2 && (link = bpf_raw_tracepoint_open(NULL, fd)) >= 0) {
		close(link);
		times++;
	}
	close(fd);
	return times;
}

static bool supports_fentry(const struct btf *kernel, const char *function)
{
	return fentry_attachments(kernel, function) > 0;
}

/* Program statistics require CAP_SYS_ADMIN; loading programs does not. */
static bool supports_stats(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

void bpf_features_find(struct bpf_features *features, const struct btf *kernel)
{
	int kfree_skb = tracepoint_arguments(kernel, "kfree_skb");

	/* New in 6.18 (b650bf0977d3), as is the deferral (6471658dc66c). */
	bool deferred = btf__find_by_name_kind(kernel, "udp_prod_queue", BTF_KIND_STRUCT) > 0;
	int udp_enqueue = fentry_attachments(kernel, "__udp_enqueue_schedule_skb");

	*features = (struct bpf_features){
		.atomic_fetch = supports_exchange(),
		.no_reentry = starts_programs_once(kernel),
		.preempt_rt = preempts_softirqs(kernel),
		.kfree_skb_reason = kfree_skb >= 3,
		.kfree_skb_rx_sk = kfree_skb >= 4,
		.udp_frees_deferred = deferred,
		.fentry_udp_enqueue = udp_enqueue > 0,
		.fentry_once = udp_enqueue == 1,
		.fentry_defer_free = deferred && supports_fentry(kernel, "skb_attempt_defer_free"),
		.gro = kernel_types_feature(kernel, "NETIF_F_GRO_BIT"),
		.prefer_kprobe = preempts_tasks(kernel) && supports_kprobe(),
		.stats = supports_stats(),
		/* A helper of 5.11, since which the kernel charges the cgroup instead. */
		.memlock_charged = btf__find_by_name_kind(kernel, "bpf_ktime_get_coarse_ns",
							  BTF_KIND_FUNC) <= 0,
		.rdonly_cast = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC),
	};
}
