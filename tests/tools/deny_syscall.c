/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a program with a seccomp filter that lets some system calls fail with an errno, as a
 * container's seccomp profile does.
 *
 * Usage: deny_syscall SYSCALL[,SYSCALL...] ERRNO PROGRAM [ARGUMENT...]
 */
#include <err.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DENIED_MAX 16

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "add the AUDIT_ARCH_ of this architecture"
#endif

struct name {
	const char *name;
	int number;
};

static const struct name syscalls[] = {
	{"bpf", __NR_bpf},
	{"mount", __NR_mount},
	{"perf_event_open", __NR_perf_event_open},
	{"prlimit64", __NR_prlimit64},
	{"sched_setaffinity", __NR_sched_setaffinity},
	{"socket", __NR_socket},
	{NULL, 0},
};

static const struct name errors[] = {
	{"EPERM", EPERM},
	{"ENOSYS", ENOSYS},
	{"EACCES", EACCES},
	{"ENOMEM", ENOMEM},
	{"EAFNOSUPPORT", EAFNOSUPPORT},
	{NULL, 0},
};

static int find(const struct name *table, const char *name, size_t length)
{
	for (; table->name; table++)
		if (strlen(table->name) == length && !memcmp(table->name, name, length))
			return table->number;
	errx(2, "unknown system call or errno: %.*s", (int)length, name);
}

static size_t parse(const char *list, int *numbers)
{
	size_t n = 0;

	for (;;) {
		size_t length = strcspn(list, ",");

		if (n == DENIED_MAX)
			errx(2, "too many system calls; at most %d", DENIED_MAX);
		numbers[n++] = find(syscalls, list, length);
		if (!list[length])
			return n;
		list += length + 1;
	}
}

static void deny(const int *numbers, size_t n, int error)
{
	struct sock_filter filter[4 + 2 * DENIED_MAX + 1];
	struct sock_fprog program = {.filter = filter};
	size_t len = 0;

	filter[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, arch));
	filter[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	filter[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		filter[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							     (uint32_t)numbers[i], 0, 1);
		filter[len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA));
	}
	filter[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)len;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
		return;
	/* A process without CAP_SYS_ADMIN must set no_new_privs first. */
	if (errno != EACCES || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(1, "cannot set the seccomp filter");
}

int main(int argc, char **argv)
{
	int numbers[DENIED_MAX];

	if (argc < 4)
		errx(2, "usage: deny_syscall SYSCALL[,SYSCALL...] ERRNO PROGRAM [ARGUMENT...]");
	deny(numbers, parse(argv[1], numbers), find(errors, argv[2], strlen(argv[2])));
	execvp(argv[3], &argv[3]);
	err(1, "%s", argv[3]);
}
