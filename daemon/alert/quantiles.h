/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latency of one segment over the last seconds, for each device: the difference of two readings of
 * its histogram.
 */
#ifndef DAEMON_ALERT_QUANTILES_H
#define DAEMON_ALERT_QUANTILES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alert/source.h"

/* Readings are a tenth of the span apart, so a window can be longer than its span by a tenth. */
#define ALERT_QUANTILES_PARTS 10

struct alert_quantiles;

/* -ENOMEM.  Free with alert_quantiles_free. */
int alert_quantiles_new(struct alert_quantiles **quantiles, uint64_t span_ns);
void alert_quantiles_free(struct alert_quantiles **quantiles);

/* Whether it is time for another reading. */
bool alert_quantiles_due(const struct alert_quantiles *quantiles, uint64_t now);

/* Begin a reading.  Devices that are not added before it ends are forgotten. */
void alert_quantiles_begin(struct alert_quantiles *quantiles, uint64_t now);
/* Add the histogram of a device.  -ENOMEM. */
int alert_quantiles_add(struct alert_quantiles *quantiles, const struct alert_device *device,
			const struct nf_hist *hist);
void alert_quantiles_end(struct alert_quantiles *quantiles);

/* Whether the readings reach back over the whole span. */
bool alert_quantiles_whole(const struct alert_quantiles *quantiles);

struct alert_worst {
	char device[NF_DEVICE_NAME + 1]; /* empty: the devices without a slot of their own */
	uint32_t netns;
	uint64_t ns;
	uint64_t packets; /* of that device in the window */
	bool estimate;	  /* `packets` is one: not every journey was followed */
};

/*
 * The device with the highest quantile `q` among those with at least `at_least` followed journeys in the
 * window, which are its packets unless netflowd sheds load.  False if there is none.
 */
bool alert_quantiles_worst(const struct alert_quantiles *quantiles, double q, uint64_t at_least,
			   struct alert_worst *worst);

/* Whether a device had enough packets in the window, as estimated, but too few of them were followed. */
bool alert_quantiles_sparse(const struct alert_quantiles *quantiles, uint64_t at_least);

#endif
