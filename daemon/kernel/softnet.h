/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/net/softnet_stat: counters of each CPU's receive softirq since boot. */
#ifndef DAEMON_KERNEL_SOFTNET_H
#define DAEMON_KERNEL_SOFTNET_H

#include <stdbool.h>
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

/*
 * The packets that all CPUs passed into the network stack (`processed`) since the first softnet_sum_add(), in 64 bits.
 * All zero: nothing was read.
 */
struct softnet_sum {
	uint64_t packets;
	bool begun;
	uint32_t last; /* of the online CPUs together, modulo 2^32 */
	size_t cpus;
};

/*
 * Add what came since the last call, which must be less than 2^32 packets ago.  If CPUs went online or offline, the
 * counters say nothing about the time since then, and nothing is added.  0, or as softnet_read().
 */
int softnet_sum_add(struct softnet_sum *sum, const char *path);

/* That sum of the counters, modulo 2^32, and how many CPUs are online.  0, or as softnet_read(). */
int softnet_packets(const char *path, uint32_t *packets, size_t *cpus);

#endif
