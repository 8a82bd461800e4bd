/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/net/softnet_stat: what each CPU's receive softirq did, since boot. */
#ifndef DAEMON_KERNEL_SOFTNET_H
#define DAEMON_KERNEL_SOFTNET_H

#include <stddef.h>
#include <stdint.h>

/* The counters are the kernel's: 32 bits, so they begin again at 0. */
struct softnet {
	uint32_t cpu;
	uint32_t processed;
	uint32_t dropped;
	uint32_t time_squeeze; /* runs that ended by budget or time, with more to do */
};

/*
 * Read a file like /proc/net/softnet_stat: one row per CPU that is online.  The
 * caller frees `rows` with free(3).  -EBADMSG: it does not look like one;
 * -ENOMEM; what open(2) and read(2) give.
 */
int softnet_read(const char *path, struct softnet **rows, size_t *count);

#endif
