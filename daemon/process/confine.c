/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/confine.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/array.h"

/* AddressSanitizer, as gcc and as clang say it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* By the name, because libseccomp knows on which architectures a system call exists. */
/* clang-format off */
static const char *const allowed[] = {
	/* memory */
	"brk", "madvise", "membarrier", "mmap", "mprotect", "mremap", "munmap",
	/* reading and writing */
	"close", "close_range", "dup", "dup2", "dup3", "fadvise64", "fcntl", "ftruncate", "ioctl",
	"lseek", "memfd_create", "pipe2", "pread64", "pwrite64", "read", "readv", "sendfile", "write",
	"writev",
	/* finding files */
	"access", "faccessat", "faccessat2", "fstat", "fstatfs", "getcwd", "getdents64", "lstat",
	"name_to_handle_at", "newfstatat", "open", "open_by_handle_at", "openat", "openat2",
	"readlink", "readlinkat", "stat", "statfs", "statx",
	/* the file of the history; files for other programs: made beside the old one, and renamed */
	"fallocate", "fchmod", "fchown", "fdatasync", "fsync", "rename", "renameat", "renameat2",
	/* the socket and its end, other sockets of this host */
	"accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
	"recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "umask", "unlink",
	"unlinkat",
	/* the trace instance of the backend tracefs, which is a directory */
	"rmdir",
	/* events and time */
	"clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create1", "epoll_ctl",
	"epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "gettimeofday", "nanosleep",
	"poll", "ppoll", "pselect6", "select", "setitimer", "signalfd4", "time", "timerfd_create",
	"timerfd_gettime", "timerfd_settime",
	/* this process, its threads, and the programs of alerts */
	"capget", "exit", "exit_group", "futex", "get_robust_list", "getcpu", "getegid", "geteuid",
	"getgid", "getpgid", "getpgrp", "getpid", "getppid", "getrandom", "getrlimit", "getrusage",
	"gettid", "getuid", "kill", "pidfd_open", "pidfd_send_signal", "prlimit64",
	"restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask",
	"rt_sigreturn", "rt_sigtimedwait", "sched_getaffinity", "sched_yield", "set_robust_list",
	"set_tid_address", "sigaltstack", "sysinfo", "tgkill", "times", "uname", "wait4", "waitid",
	/* tracing, and a thread that looks at another network namespace */
	"bpf", "perf_event_open", "setns",
#if SANITIZED
	/* LeakSanitizer looks at this process from another one, at its end. */
	"arch_prctl", "clone", "fork", "getdents", "mincore", "msync", "personality", "prctl",
	"process_vm_readv", "ptrace", "sched_getparam", "sched_getscheduler", "vfork",
#endif
};
/* clang-format on */

static int allow(scmp_filter_ctx filter, const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Of a later kernel than the library. */
	if (number == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
}

/* Sockets for the journal and the service manager, netlink and datagrams, but none that sees packets. */
static int allow_sockets(scmp_filter_ctx filter)
{
	static const unsigned int families[] = {AF_UNIX, AF_NETLINK, AF_INET, AF_INET6};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(families) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				     SCMP_A0(SCMP_CMP_EQ, families[i], 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				     SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	return r;
}

/* The name of a thread, and the name of a mapping, with which newer C libraries mark their memory. */
static int allow_prctl(scmp_filter_ctx filter)
{
	static const unsigned int options[] = {PR_SET_NAME, PR_GET_NAME,
					       0x53564d41 /* PR_SET_VMA */};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
				     SCMP_A0(SCMP_CMP_EQ, options[i], 0));
	return r;
}

/* Threads, but no processes. */
static int allow_threads(scmp_filter_ctx filter)
{
	int r = allow(filter, "clone3");

	if (r == 0 && !SANITIZED)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	return r;
}

static int fill(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
		r = allow(filter, allowed[i]);
	if (r == 0)
		r = allow_sockets(filter);
	if (r == 0 && !SANITIZED)
		r = allow_prctl(filter);
	if (r == 0)
		r = allow_threads(filter);
	return r;
}

/* For all threads. */
static int load(scmp_filter_ctx filter)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	return r < 0 ? r : seccomp_load(filter);
}

/*
 * clone3() has its flags in memory, where a filter cannot read them; the C library uses clone() if there is no
 * clone3(). It tries that for each thread, so a filter of its own refuses it, one that does not write to the kernel's
 * log.
 */
static int refuse_clone3(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0)
		       : -ENOMEM;

	if (r == 0)
		r = load(filter);
	seccomp_release(filter);
	return r;
}

int confine(void)
{
	scmp_filter_ctx filter = NULL;
	int r = refuse_clone3();

	if (r < 0)
		return r;
	filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return -ENOMEM;
	/* The log is a help, and older kernels have none. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	r = fill(filter);
	if (r == 0)
		r = load(filter);
	seccomp_release(filter);
	return r;
}
