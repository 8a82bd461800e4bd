/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One segment's latency over the last so many seconds, of each device by
 * itself: the difference of two readings of its histogram.
 */
#ifndef DAEMON_ALERT_QUANTILES_H
#define DAEMON_ALERT_QUANTILES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alert/source.h"

/* Readings of a window: it may be longer than it should by one part of ten. */
#define ALERT_QUANTILES_PARTS 10

struct alert_quantiles;

/* -ENOMEM.  Free with alert_quantiles_free. */
int alert_quantiles_new(struct alert_quantiles **quantiles, uint64_t span_ns);
void alert_quantiles_free(struct alert_quantiles **quantiles);

/* Whether it is time for another reading. */
bool alert_quantiles_due(const struct alert_quantiles *quantiles, uint64_t now);

/* A reading begins; devices that are not given in it are forgotten at its end. */
void alert_quantiles_begin(struct alert_quantiles *quantiles, uint64_t now);
/* What a device has counted so far.  -ENOMEM. */
int alert_quantiles_add(struct alert_quantiles *quantiles, const struct alert_device *device,
			const struct nf_hist *hist);
void alert_quantiles_end(struct alert_quantiles *quantiles);

/* The readings reach back as far as the span. */
bool alert_quantiles_whole(const struct alert_quantiles *quantiles);

struct alert_worst {
	char device[NF_DEVICE_NAME + 1]; /* empty: those without a slot of their own */
	uint32_t netns;
	uint64_t ns;
	uint64_t packets; /* of that device in the window */
};

/*
 * The device whose quantile `q` is the highest, of those with `at_least`
 * packets in the window; false when there is none.
 */
bool alert_quantiles_worst(const struct alert_quantiles *quantiles, double q, uint64_t at_least,
			   struct alert_worst *worst);

#endif
