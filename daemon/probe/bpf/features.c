/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel has: looked up in its BTF, or tried.  Never by version. */
#include <linux/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "common/array.h"
#include "daemon/probe/bpf/internal.h"

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

/* Arguments of a tracepoint; the first of its probe's is the probe's own data. */
static int tracepoint_arguments(const struct btf *kernel, const char *name)
{
	const struct btf_type *prototype = tracepoint_prototype(kernel, name);

	return prototype ? btf_vlen(prototype) - 1 : 0;
}

/* Whether a program with an exchange loads. */
static bool takes_exchange(void)
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

/* Loading programs does not take CAP_SYS_ADMIN, this does. */
static bool gives_stats(void)
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

	*features = (struct bpf_features){
		.atomic_fetch = takes_exchange(),
		/* Came with the check in __bpf_trace_run, which uses it. */
		.no_reentry = btf__find_by_name_kind(kernel, "bpf_prog_inc_misses_counter",
						     BTF_KIND_FUNC) > 0,
		.kfree_skb_reason = kfree_skb >= 3,
		.kfree_skb_rx_sk = kfree_skb >= 4,
		/* Of the same series as the deferral, 6.18. */
		.udp_frees_deferred =
			btf__find_by_name_kind(kernel, "udp_prod_queue", BTF_KIND_STRUCT) > 0,
		.stats = gives_stats(),
		/* A helper of 5.11, the release that charges the cgroup instead. */
		.memlock_charged = btf__find_by_name_kind(kernel, "bpf_ktime_get_coarse_ns",
							  BTF_KIND_FUNC) <= 0,
		.rdonly_cast = btf__find_by_name_kind(kernel, "bpf_rdonly_cast", BTF_KIND_FUNC),
	};
}
