/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter of system calls (seccomp) for the running daemon. */
#ifndef DAEMON_PROCESS_CONFINE_H
#define DAEMON_PROCESS_CONFINE_H

/*
 * From now on, this process can make only the system calls that a running daemon makes, for ever and in all its
 * threads. Any other fails with EPERM, and the kernel logs it.  No process can be forked and no program executed.
 *
 * The answer is EPERM rather than death, because a library's new version may try a new system call, which the daemon
 * should survive.  Returns 0, or a negative errno: -EINVAL or -ENOSYS if the kernel has no such filters.
 */
int confine(void);

#endif
