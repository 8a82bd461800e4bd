/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NAPI as the live view shows it: a GetNapi reply, and rates since an earlier one. */
#ifndef CLI_LIVE_POLLS_H
#define CLI_LIVE_POLLS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"

/* One device on one CPU. */
struct polls_device {
	const char *name; /* owned by the reply */
	uint64_t netns;	  /* inode number; 0 if it is not known */
	uint64_t cpu;
	uint64_t polls;
	uint64_t packets;
	uint64_t full_budgets;
	/* Per second since the earlier reply; RATE_UNKNOWN without one. */
	double polls_rate;
	double packets_rate;
	double full_rate;
};

/* One CPU.  Its counters run since boot. */
struct polls_cpu {
	const json_t *row; /* owned by the reply; also has the waits since the daemon started */
	uint64_t processed;
	uint64_t dropped;
	uint64_t squeezed;
	double processed_rate;
	double dropped_rate;
	double squeezed_rate;
};

struct polls {
	json_t *reply;
	struct polls_device *devices;
	size_t devices_count;
	struct polls_cpu *cpus;
	size_t cpus_count;
};

/*
 * Read a GetNapi reply, which is stolen, also on failure.  `before` is the reading that was taken `seconds` earlier, or
 * NULL.  `device` limits the devices to this one unless it is NULL.  `polls` must be zeroed.  0 or -ENOMEM.
 */
int polls_read(struct polls *polls, json_t *reply, const char *device, const struct polls *before,
	       double seconds);

/* Free everything and leave `polls` zeroed. */
void polls_free(struct polls *polls);

#endif
