/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD: lets the loading of some BPF programs fail as on a kernel whose verifier
 * finds them too complex, with its errno and its message.
 *
 * REFUSE_PROGRAM=NAME[,NAME...] has the full names of the functions.  A line on standard error reports
 * each refusal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/preload/program.h"

static const char message[] =
	"BPF program is too large. Processed 1000001 insn\n"
	"verification time 1 usec\nstack depth 0\n"
	"processed 1000001 insns (limit 1000000) max_states_per_insn 1 total_states 1\n";

static long refuse(const union bpf_attr *attributes)
{
	fprintf(stderr, "refuse_program: %.15s\n", attributes->prog_name);
	if (attributes->log_level && attributes->log_size >= sizeof(message))
		memcpy((void *)(uintptr_t)attributes->log_buf, message, sizeof(message));
	errno = E2BIG;
	return -1;
}

static long load_program(system_call *real, const union bpf_attr *program, long size)
{
	if (is_program_in(real, program, getenv("REFUSE_PROGRAM")))
		return refuse(program);
	return real(__NR_bpf, BPF_PROG_LOAD, program, size);
}
