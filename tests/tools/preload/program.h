/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the libraries here share that change how the kernel loads BPF programs: libbpf calls bpf(2) through
 * syscall(2) of libc, which this file replaces.  Each library has its own load_program().
 */
#ifndef TESTS_TOOLS_PRELOAD_PROGRAM_H
#define TESTS_TOOLS_PRELOAD_PROGRAM_H

#include <dlfcn.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/btf.h>

/* The prototype is that of syscall(2). */
typedef long system_call(long number, ...);

/* The BTF of a program that is to be loaded; the caller frees it.  NULL: there is none. */
static inline struct btf *btf_of(system_call *real, const union bpf_attr *program)
{
	struct bpf_btf_info info = {0};
	union bpf_attr attributes = {
		.info = {.bpf_fd = program->prog_btf_fd,
			 .info_len = sizeof(info),
			 .info = (__u64)(uintptr_t)&info},
	};

	if (!program->func_info_cnt ||
	    real(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attributes, sizeof(attributes)))
		return NULL;
	return btf__load_from_kernel_by_id(info.id);
}

/* The type of the function with this number in the program; NULL if the BTF lacks it. */
static inline const struct btf_type *function_of(const struct btf *btf,
						 const union bpf_attr *program, __u32 number)
{
	const char *records = (const char *)(uintptr_t)program->func_info;
	const struct bpf_func_info *function =
		(const void *)(records + (size_t)number * program->func_info_rec_size);

	return btf__type_by_id(btf, function->type_id);
}

static inline int is_in_list(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return 1;
	return 0;
}

/*
 * Whether the list, NULL or NAME[,NAME...], has the full name of the program's function.  The kernel's
 * name of a program has only 15 characters.
 */
static inline int is_program_in(system_call *real, const union bpf_attr *program, const char *list)
{
	struct btf *btf = list ? btf_of(real, program) : NULL;
	const struct btf_type *type = btf ? function_of(btf, program, 0) : NULL;
	int found = type && is_in_list(list, btf__name_by_offset(btf, type->name_off));

	btf__free(btf);
	return found;
}

/* Called in the place of bpf(BPF_PROG_LOAD, program, size). */
static long load_program(system_call *real, const union bpf_attr *program, long size);

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
	if (number == __NR_bpf && argument[0] == BPF_PROG_LOAD)
		return load_program(real, (const union bpf_attr *)argument[1], argument[2]);
	return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
		    argument[5]);
}

#endif
