/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network namespaces of processes, one after the other, without entering any: a process shows the files of its
 * namespace in /proc/PID/net to everyone who may see the process.  Slices of it run in the loop.
 */
#ifndef DAEMON_KERNEL_NETNS_PROCS_H
#define DAEMON_KERNEL_NETNS_PROCS_H

#include <stdint.h>

struct netns_procs;

/* -ENOMEM, or the negative errno of opening `proc`, which is a directory like /proc.  Free with netns_procs_free(). */
int netns_procs_new(struct netns_procs **procs, const char *proc);
/* NULL-safe; sets *procs to NULL. */
void netns_procs_free(struct netns_procs **procs);

/*
 * Read on until `deadline_ns` (CLOCK_MONOTONIC) or a little longer.  `read` gets the inode number of a namespace and an
 * open directory /proc/PID/net of it.  `forget` takes back what was read if the process has ended or entered another
 * namespace since, or if `read` returned a negative errno; unless that is -ENOMEM, the next process of that namespace
 * is tried.  Takes about 6 µs for each process.  0: all were visited; 1: call this again; -ENOMEM.
 */
struct netns_procs_visitor {
	int (*read)(uint32_t inode, int proc_net, void *userdata);
	void (*forget)(void *userdata);
	void *userdata;
};
int netns_procs_step(struct netns_procs *procs, uint64_t deadline_ns,
		     const struct netns_procs_visitor *visitor);

#endif
