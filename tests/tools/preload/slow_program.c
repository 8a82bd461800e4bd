/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD: makes some BPF programs slow, wherever they read the clock.  They call a
 * function for it, which is put behind them, and in which a loop does nothing first.
 *
 * SLOW_PROGRAM=NAME[,NAME...] has the full names of the functions; SLOW_LOOPS is how often the loop
 * runs.  A line on standard error reports each program.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/preload/program.h"

#define SLOW_INSNS 5
#define INSNS_MAX (1 << 16)
#define RECORDS_BYTES_MAX (1 << 20)

static int loops(void)
{
	const char *text = getenv("SLOW_LOOPS");

	return text ? atoi(text) : 1000;
}

static void put_slow_clock(struct bpf_insn *insns)
{
	const struct bpf_insn slow[SLOW_INSNS] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = 1},
		{.code = BPF_JMP | BPF_JLT | BPF_K,
		 .dst_reg = BPF_REG_1,
		 .off = -2,
		 .imm = loops()},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
		{.code = BPF_JMP | BPF_EXIT},
	};

	memcpy(insns, slow, sizeof(slow));
}

/* Let the program call what follows it, instead of reading the clock. */
static void call_slow_clock(struct bpf_insn *insns, __u32 count)
{
	for (__u32 i = 0; i < count; i++) {
		struct bpf_insn *insn = &insns[i];

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg ||
		    insn->imm != BPF_FUNC_ktime_get_ns)
			continue;
		insn->src_reg = BPF_PSEUDO_CALL;
		insn->imm = (__s32)(count - i - 1);
	}
}

/*
 * The record of a function of its own in the program.  The kernel checks the arguments of a global function,
 * and the clock has none.
 */
static __u32 static_function(system_call *real, const union bpf_attr *program)
{
	struct btf *btf = btf_of(real, program);
	__u32 found = 0;

	for (__u32 i = 0; btf && i < program->func_info_cnt && !found; i++)
		if (btf_vlen(function_of(btf, program, i)) == BTF_FUNC_STATIC)
			found = i;
	btf__free(btf);
	if (!found)
		errx(1, "slow_program: %.15s has no static function", program->prog_name);
	return found;
}

/* Records, which begin with the number of an instruction, and one of them again for `insn`. */
static __u64 with_another(__u64 records, __u32 *count, __u32 size, __u32 which, __u32 insn,
			  char *copy)
{
	char *last = copy + (size_t)*count * size;

	if ((*count + 1ULL) * size > RECORDS_BYTES_MAX)
		errx(1, "slow_program: too many records");
	memcpy(copy, (const void *)(uintptr_t)records, (size_t)*count * size);
	memcpy(last, copy + (size_t)which * size, size);
	memcpy(last, &insn, sizeof(insn));
	++*count;
	return (uintptr_t)copy;
}

static long load_slow(system_call *real, const union bpf_attr *program, long size)
{
	static struct bpf_insn insns[INSNS_MAX];
	static char functions[RECORDS_BYTES_MAX], lines[RECORDS_BYTES_MAX];
	__u32 count = program->insn_cnt, function = static_function(real, program);
	union bpf_attr slow = {0};

	if (count + SLOW_INSNS > INSNS_MAX)
		errx(1, "slow_program: %.15s is too long", program->prog_name);
	memcpy(&slow, program, (size_t)size < sizeof(slow) ? (size_t)size : sizeof(slow));
	memcpy(insns, (const void *)(uintptr_t)program->insns, count * sizeof(*insns));
	call_slow_clock(insns, count);
	put_slow_clock(insns + count);
	slow.insns = (uintptr_t)insns;
	slow.insn_cnt += SLOW_INSNS;
	slow.func_info = with_another(slow.func_info, &slow.func_info_cnt, slow.func_info_rec_size,
				      function, count, functions);
	slow.line_info = with_another(slow.line_info, &slow.line_info_cnt, slow.line_info_rec_size,
				      0, count, lines);
	fprintf(stderr, "slow_program: %.15s\n", program->prog_name);
	return real(__NR_bpf, BPF_PROG_LOAD, &slow, size);
}

static long load_program(system_call *real, const union bpf_attr *program, long size)
{
	if (is_program_in(real, program, getenv("SLOW_PROGRAM")))
		return load_slow(real, program, size);
	return real(__NR_bpf, BPF_PROG_LOAD, program, size);
}
