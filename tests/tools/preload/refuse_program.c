/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD: lets the loading of some BPF programs fail as on a kernel whose verifier
 * finds them too complex, with its errno and its message.
 *
 * REFUSE_PROGRAM=NAME[,NAME...] has the full names of the functions.  A line on standard error reports
 * each refusal.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
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

/* libbpf calls bpf(2) through this function of libc. */
long syscall(long number, ...)
{
	static system_call *real;
	va_list list;
	long argument[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		real = (system_call *)dlsym(RTLD_NEXT, "syscall");
	if (number == __NR_bpf && argument[0] == BPF_PROG_LOAD) {
		const union bpf_attr *attributes = (const void *)argument[1];

		if (is_program_in(real, attributes, getenv("REFUSE_PROGRAM")))
			return refuse(attributes);
	}
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
		    argument[5]);
}
