/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the live view shows of NAPI: an answer of GetNapi, and what came since an earlier one. */
#ifndef CLI_LIVE_POLLS_H
#define CLI_LIVE_POLLS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"

/* One device on one CPU. */
struct polls_device {
	const char *name; /* owned by the answer */
	uint64_t netns;	  /* 0: not known */
	uint64_t cpu;
	uint64_t polls;
	uint64_t packets;
	uint64_t full_budgets;
	/* a second since the earlier answer; negative without one */
	double polls_rate;
	double packets_rate;
	double full_rate;
};

/* One CPU; the waits are since the daemon's start. */
struct polls_cpu {
	const json_t *row; /* owned by the answer */
	uint64_t processed;
	uint64_t dropped;
	uint64_t squeezed;
	double processed_rate;
	double dropped_rate;
	double squeezed_rate;
};

struct polls {
	json_t *answer;
	struct polls_device *devices;
	size_t devices_count;
	struct polls_cpu *cpus;
	size_t cpus_count;
};

/*
 * Out of an answer of GetNapi, which is stolen, also on failure.  `before` came
 * so many seconds earlier (NULL: none).  With `device` only what is about it.
 * `polls` must be zeroed.  0 or -ENOMEM.
 */
int polls_read(struct polls *polls, json_t *answer, const char *device, const struct polls *before,
	       double seconds);

/* Leaves zeroes. */
void polls_free(struct polls *polls);

#endif
