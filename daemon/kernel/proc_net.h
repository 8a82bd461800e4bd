/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's text files about one network namespace, such as /proc/PID/net/netstat.  `directory` is an open directory
 * that has the file: /proc/PID/net is that of the process's namespace, and readable without entering it.
 */
#ifndef DAEMON_KERNEL_PROC_NET_H
#define DAEMON_KERNEL_PROC_NET_H

#include <net/if.h>
#include <stdint.h>

/* A device's line in the file dev, as dev_seq_printf_stats() in net/core/net-procfs.c writes it. */
struct proc_net_device {
	char name[IF_NAMESIZE];
	uint64_t rx_bytes, rx_packets, rx_errors;
	uint64_t rx_dropped; /* rx_dropped + rx_missed_errors of rtnetlink */
	uint64_t rx_fifo;
	uint64_t rx_frame; /* rx_length_errors + rx_over_errors + rx_crc_errors + rx_frame_errors */
	uint64_t rx_compressed, multicast;
	uint64_t tx_bytes, tx_packets, tx_errors, tx_dropped, tx_fifo, collisions;
	uint64_t tx_carrier; /* tx_{carrier,aborted,window,heartbeat}_errors */
	uint64_t tx_compressed;
};

/*
 * Call `visit` for each device in the file dev, until it returns a negative errno, which is returned.  The kernel does
 * not lock its list of devices for this: about 50 µs and 2 µs for each device.  0; -EBADMSG: the file has another
 * format; or the negative errno of open(2) or read(2).
 */
int proc_net_devices(int directory,
		     int (*visit)(const struct proc_net_device *device, void *userdata),
		     void *userdata);

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
