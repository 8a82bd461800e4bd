/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much detached probes would have to do, from the kernel's own counters: /proc/net/softnet_stat counts each
 * packet that netif_receive_skb() sees, and `ctxt` of /proc/stat each switch that sched_switch() sees.
 */
#ifndef DAEMON_COST_PACE_H
#define DAEMON_COST_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rates of the whole host, per second; negative: not known. */
struct pace {
	double packets;
	double switches;
};

/* What was read last.  All zero: nothing. */
struct pace_meter {
	uint64_t packets_ns, switches_ns; /* when; 0: never */
	uint32_t packets;		  /* modulo 2^32, as the kernel's */
	uint64_t switches;
	size_t cpus; /* that packets are the sum of */
	struct pace pace;
};

/*
 * Read what has passed since the last call, which should be some 100 ms ago.  /proc/stat costs more on a large host,
 * so switches are the mean of at least 400 ms.
 */
const struct pace *pace_read(struct pace_meter *meter, uint64_t now_ns);

/* Read the switches only: the probes that see packets are attached. */
const struct pace *pace_read_switches(struct pace_meter *meter, uint64_t now_ns);

/* The packets that all CPUs received since the boot, modulo 2^32, and how many CPUs; false: they cannot be read. */
bool pace_packets(uint32_t *packets, size_t *cpus);

/* Forget what was read: the next rates begin with the next call. */
void pace_forget(struct pace_meter *meter);

/* The same with other files, for tests. */
const struct pace *pace_read_files(struct pace_meter *meter, uint64_t now_ns, const char *softnet,
				   const char *stat);

#endif
