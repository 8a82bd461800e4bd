/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps one CPU from serving softirqs for a known time.
 *
 * Usage: softirq_stall CPU MILLISECONDS
 *
 * It prints "ready" and waits for a byte on standard input.  Then it prints the CLOCK_MONOTONIC time,
 * in nanoseconds, at which the stall ends, stalls the CPU until then, and exits.
 *
 * A task that spins does not stall softirqs, at any priority: the CPU serves them on top of the task
 * when the next interrupt ends (invoke_softirq).  So a BPF program spins.  BPF_PROG_TEST_RUN runs it
 * and disables softirqs around it (bpf_test_run).  The program needs neither BTF nor bpf_loop: it
 * counts as far as the verifier follows, and then makes a tail call to itself.
 */
#include <err.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"

#define TURNS 20000 /* of the loop, in one run; the verifier follows each */
/*
 * If one reading of the clock needs 30 ns, the tail calls last for about 300 ms.  The program fails if
 * they end before the stall should.
 */
#define MILLISECONDS_MAX 500

#define INSN(c, dst, src, o, i) \
	((struct bpf_insn){.code = (c), .dst_reg = (dst), .src_reg = (src), .off = (o), .imm = (i)})
#define LD64(dst, src, value)                                                     \
	INSN(BPF_LD | BPF_DW | BPF_IMM, dst, src, 0, (int32_t)(uint32_t)(value)), \
		INSN(0, 0, 0, 0, (int32_t)(uint32_t)((uint64_t)(value) >> 32))
#define MOV_REG(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_IMM(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define CALLS 16
#define FOUR_CALLS(function) CALL(function), CALL(function), CALL(function), CALL(function)

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int tail_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_PROG_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		err(1, "cannot create the map");
	return fd;
}

static int spinner(int map)
{
	struct bpf_insn insns[] = {
		MOV_REG(6, 1),
		MOV_IMM(7, TURNS),
		/* The end time: the test packet's priority and mark hold one half each. */
		INSN(BPF_LDX | BPF_W | BPF_MEM, 8, 1, offsetof(struct __sk_buff, priority), 0),
		INSN(BPF_ALU64 | BPF_LSH | BPF_K, 8, 0, 0, 32),
		INSN(BPF_LDX | BPF_W | BPF_MEM, 1, 1, offsetof(struct __sk_buff, mark), 0),
		INSN(BPF_ALU64 | BPF_OR | BPF_X, 8, 1, 0, 0),
		/* The verifier follows the exit of each turn first, so it keeps few states. */
		FOUR_CALLS(BPF_FUNC_ktime_get_ns),
		FOUR_CALLS(BPF_FUNC_ktime_get_ns),
		FOUR_CALLS(BPF_FUNC_ktime_get_ns),
		FOUR_CALLS(BPF_FUNC_ktime_get_ns),
		INSN(BPF_JMP | BPF_JLT | BPF_X, 0, 8, 2, 0),
		MOV_IMM(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_SUB | BPF_K, 7, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, 7, 0, -(CALLS + 5), 0),
		MOV_REG(1, 6),
		LD64(2, BPF_PSEUDO_MAP_FD, map),
		MOV_IMM(3, 0),
		CALL(BPF_FUNC_tail_call),
		MOV_IMM(0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SCHED_CLS,
		.insns = (uintptr_t)insns,
		.insn_cnt = ARRAY_SIZE(insns),
		.license = (uintptr_t) "GPL",
	};
	uint32_t key = 0;
	int fd;

	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		err(1, "cannot load the program");
	attr = (union bpf_attr){
		.map_fd = map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&fd,
	};
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr))
		err(1, "cannot set the program's tail call");
	return fd;
}

static void run(int program, uint64_t until_ns)
{
	unsigned char packet[64] = {0};
	struct __sk_buff context = {.mark = (uint32_t)until_ns, .priority = until_ns >> 32};
	union bpf_attr attr = {
		.test =
			{
				.prog_fd = program,
				.data_in = (uintptr_t)packet,
				.data_size_in = sizeof(packet),
				.ctx_in = (uintptr_t)&context,
				.ctx_size_in = sizeof(context),
				.repeat = 1,
			},
	};

	if (bpf(BPF_PROG_TEST_RUN, &attr))
		err(1, "cannot run the program");
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot run on CPU %d", cpu);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
	int milliseconds = argc == 3 ? atoi(argv[2]) : 0;
	uint64_t until_ns;
	int program;

	if (milliseconds < 1 || milliseconds > MILLISECONDS_MAX)
		errx(2, "usage: softirq_stall CPU MILLISECONDS (1 to %d)", MILLISECONDS_MAX);
	pin(atoi(argv[1]));
	program = spinner(tail_map());
	puts("ready");
	fflush(stdout);
	getchar();
	until_ns = now_ns() + milliseconds * UINT64_C(1000000);
	printf("%ju\n", (uintmax_t)until_ns);
	fflush(stdout);
	run(program, until_ns);
	if (now_ns() < until_ns)
		errx(1, "the program used up its tail calls before the end of the stall");
	return 0;
}
