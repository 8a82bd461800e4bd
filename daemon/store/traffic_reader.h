/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kernel's counters of packets and bytes of all devices, in slices, by /proc/PID/net/dev of one process of
 * each network namespace.  That needs no right to enter a namespace.  A namespace without a process shows nothing.
 */
#ifndef DAEMON_STORE_TRAFFIC_READER_H
#define DAEMON_STORE_TRAFFIC_READER_H

#include <stdint.h>

#include "daemon/store/traffic.h"

struct traffic_reader;

/* `proc` is a directory like /proc, and must outlive the reader.  -ENOMEM.  Free with traffic_reader_free(). */
int traffic_reader_new(struct traffic_reader **reader, const char *proc);
void traffic_reader_free(struct traffic_reader **reader);

/* The next step begins a reading. */
void traffic_reader_begin(struct traffic_reader *reader);

/*
 * Go on until `deadline_ns`, or the end of a namespace after that.  0: `list` has all devices, and the caller clears
 * it; 1: call this again; or a negative errno.
 */
int traffic_reader_step(struct traffic_reader *reader, uint64_t deadline_ns,
			struct traffic_list *list);

#endif
