/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics: what they remember from one text to the next, so that no counter goes backwards, and the texts.  Only
 * one thread at a time may use them.
 */
#ifndef DAEMON_METRICS_METRICS_H
#define DAEMON_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/metrics/text.h"

struct metrics;
struct metrics_snapshot;

struct metrics_limits {
	uint64_t drop_series; /* causes of drops that have a series each */
	uint64_t devices;     /* devices that have series of NAPI and of slots each */
	uint64_t idle_ns;     /* without events, before another one can take the series */
};

/* -ENOMEM.  Free with metrics_free. */
int metrics_new(struct metrics **metrics);
void metrics_free(struct metrics **metrics);
#define OWN_METRICS CLEANUP(metrics_free)

/* Take over the counts of a snapshot.  0 or -ENOMEM: the series then stay as they are. */
int metrics_update(struct metrics *metrics, const struct metrics_snapshot *snapshot,
		   const struct metrics_limits *limits);

/* Write the text of the snapshot that metrics_update() took last.  0 or -ENOMEM. */
int metrics_write(const struct metrics *metrics, const struct metrics_snapshot *snapshot,
		  struct metrics_text *text);

#endif
