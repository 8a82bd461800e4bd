/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's text files about one network namespace, such as /proc/PID/net/netstat.  `directory` is an open directory
 * that has the file: /proc/PID/net is that of the process's namespace, and readable without entering it.
 */
#ifndef DAEMON_KERNEL_PROC_NET_H
#define DAEMON_KERNEL_PROC_NET_H

#include <stdint.h>

/*
 * Call `visit` for each counter of the group `group`, such as "TcpExt", in the file netstat.  0; -EBADMSG: the file has
 * another format; or the negative errno of open(2) or read(2).  Takes about 40 µs, and more on hosts with many CPUs.
 */
int proc_net_counters(int directory, const char *group,
		      void (*visit)(const char *name, uint64_t value, void *userdata),
		      void *userdata);

/* The number of the namespace's sockets of a protocol, such as "XDP", by the file protocols; 0 if it has none. */
int proc_net_sockets(int directory, const char *protocol, uint32_t *sockets);

#endif
