/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library for LD_PRELOAD: lets the loading of some BPF programs fail as on a kernel whose verifier
 * finds them too complex, with its errno and its message.
 *
 * REFUSE_PROGRAM=NAME[,NAME...] has the full names of the functions.  The kernel's name of a program
 * has only 15 characters, so this looks the name up in the program's BTF.  A line on standard error
 * reports each refusal.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/btf.h>

static const char message[] =
	"BPF program is too large. Processed 1000001 insn\n"
	"verification time 1 usec\nstack depth 0\n"
	"processed 1000001 insns (limit 1000000) max_states_per_insn 1 total_states 1\n";

/* The prototype is that of syscall(2). */
typedef long system_call(long number, ...);

/* The id of the BTF behind a descriptor; 0 if it is not known. */
static __u32 id_of_btf(system_call *real, int fd)
{
	struct bpf_btf_info info = {0};
	union bpf_attr attributes = {
		.info = {.bpf_fd = (__u32)fd,
			 .info_len = sizeof(info),
			 .info = (__u64)(uintptr_t)&info},
	};

	return real(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attributes, sizeof(attributes)) ? 0
										       : info.id;
}

static int is_in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return 1;
	return 0;
}

static int is_refused(system_call *real, const union bpf_attr *attributes)
{
	const struct bpf_func_info *functions =
		(const struct bpf_func_info *)(uintptr_t)attributes->func_info;
	const char *list = getenv("REFUSE_PROGRAM");
	const struct btf_type *type;
	struct btf *btf;
	int found;

	if (!list || !attributes->func_info_cnt)
		return 0;
	btf = btf__load_from_kernel_by_id(id_of_btf(real, (int)attributes->prog_btf_fd));
	type = btf ? btf__type_by_id(btf, functions->type_id) : NULL;
	found = type && is_in_list(list, btf__name_by_offset(btf, type->name_off));
	btf__free(btf);
	return found;
}

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

		if (is_refused(real, attributes))
			return refuse(attributes);
	}
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
		    argument[5]);
}
