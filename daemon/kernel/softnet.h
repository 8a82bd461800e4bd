/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/net/softnet_stat: counters of each CPU's receive softirq since boot. */
#ifndef DAEMON_KERNEL_SOFTNET_H
#define DAEMON_KERNEL_SOFTNET_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's counters have 32 bits, so they wrap to 0. */
struct softnet {
	uint32_t cpu;
	uint32_t processed;
	uint32_t dropped;
	uint32_t time_squeeze; /* runs that reached their budget or time limit with packets left */
};

/*
 * Read a file like /proc/net/softnet_stat: one row per CPU that is online.  The caller frees `rows` with free(3).
 * Returns 0; -EBADMSG if the file has another format; -ENOMEM; or the negative errno of open(2) or read(2).
 */
int softnet_read(const char *path, struct softnet **rows, size_t *count);

#endif
