/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's other counters of drops mean: which of them netflowd sees as well, and their class. */
#ifndef DAEMON_ELSEWHERE_JUDGE_H
#define DAEMON_ELSEWHERE_JUDGE_H

#include <stdbool.h>

#include "common/knowledge.h"
enum elsewhere_source {
	ELSEWHERE_LINK,	  /* the device's standard counters (ip -s -s link) */
	ELSEWHERE_DRIVER, /* the driver's own (ethtool -S) */
	ELSEWHERE_XSK,	  /* AF_XDP sockets */
	ELSEWHERE_TCP,	  /* TcpExt in /proc/net/netstat */
	ELSEWHERE_TRAP,	  /* the hardware's traps (devlink) */
	ELSEWHERE_SOURCES,
};

/* "link", "driver", …: in JSON and in metrics. */
extern const char *const elsewhere_source_names[ELSEWHERE_SOURCES];

struct elsewhere_judgement {
	bool seen; /* a packet can be in this counter and in netflowd's drops */
	enum knowledge_class class;
	const char *why; /* why netflowd does not see the packets, or not all of them */
};

/*
 * What a counter means.  `kind` is that of the device as in struct link, "" for a driver of hardware.  Always returns a
 * judgement: that of an unknown counter is its source's.  Of two judgements the more precise one has the lower address.
 */
const struct elsewhere_judgement *elsewhere_judge(enum elsewhere_source source, const char *kind,
						  const char *counter);

#define ELSEWHERE_NAME_MAX 48

/*
 * Whether a driver's counter counts dropped packets, by its name; then `name` is that name with "*" for each number in
 * it, so that the counters of all queues of a device have one name: "rx_queue_0_drops" is "rx_queue_*_drops".
 */
bool elsewhere_driver_counter(const char *counter, char name[static ELSEWHERE_NAME_MAX]);

#endif
