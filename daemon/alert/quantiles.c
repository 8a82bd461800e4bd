/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/quantiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/histogram.h"

#define READINGS (ALERT_QUANTILES_PARTS + 1)

/* The readings of a device; readings from before it existed are all zero. */
struct device_times {
	struct device_times *next;
	char name[NF_DEVICE_NAME + 1];
	uint64_t identity;
	uint32_t ifindex, netns;
	bool seen; /* in the current reading */
	struct nf_hist reading[READINGS];
};

struct alert_quantiles {
	uint64_t span_ns;
	struct device_times *series, **end; /* in the order in which the devices were added first */
	struct device_times *
		expected; /* readings have the same order, so the next device is most probably this */
	size_t count, at; /* readings kept, and the newest one */
	uint64_t time_ns[READINGS];
};

int alert_quantiles_new(struct alert_quantiles **quantiles, uint64_t span_ns)
{
	struct alert_quantiles *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->span_ns = span_ns;
	fresh->end = &fresh->series;
	*quantiles = fresh;
	return 0;
}

static void forget(struct device_times **link)
{
	struct device_times *old = *link;

	*link = old->next;
	free(old);
}

void alert_quantiles_free(struct alert_quantiles **quantiles)
{
	if (!*quantiles)
		return;
	while ((*quantiles)->series)
		forget(&(*quantiles)->series);
	free(*quantiles);
	*quantiles = NULL;
}

bool alert_quantiles_due(const struct alert_quantiles *quantiles, uint64_t now)
{
	return !quantiles->count || now - quantiles->time_ns[quantiles->at] >=
					    quantiles->span_ns / ALERT_QUANTILES_PARTS;
}

void alert_quantiles_begin(struct alert_quantiles *quantiles, uint64_t now)
{
	quantiles->at = (quantiles->at + 1) % READINGS;
	quantiles->time_ns[quantiles->at] = now;
	if (quantiles->count < READINGS)
		quantiles->count++;
	for (struct device_times *series = quantiles->series; series; series = series->next)
		series->seen = false;
	quantiles->expected = quantiles->series;
}

static bool is_of(const struct device_times *series, const struct alert_device *device)
{
	const char *name = device->name ? device->name : "";

	if (series->ifindex != device->ifindex || series->netns != device->netns)
		return false;
	/* A device can be renamed. */
	return device->identity ? series->identity == device->identity
				: !strncmp(series->name, name, NF_DEVICE_NAME);
}

static struct device_times *find(const struct alert_quantiles *quantiles,
				 const struct alert_device *device)
{
	for (struct device_times *series = quantiles->expected; series; series = series->next)
		if (is_of(series, device))
			return series;
	for (struct device_times *series = quantiles->series; series != quantiles->expected;
	     series = series->next)
		if (is_of(series, device))
			return series;
	return NULL;
}

int alert_quantiles_add(struct alert_quantiles *quantiles, const struct alert_device *device,
			const struct nf_hist *hist)
{
	struct device_times *series = find(quantiles, device);

	if (!series) {
		series = calloc(1, sizeof(*series));
		if (!series)
			return -ENOMEM;
		series->identity = device->identity;
		series->ifindex = device->ifindex;
		series->netns = device->netns;
		*quantiles->end = series;
		quantiles->end = &series->next;
	}
	if (device->name)
		strncpy(series->name, device->name, NF_DEVICE_NAME);
	quantiles->expected = series->next;
	series->seen = true;
	series->reading[quantiles->at] = *hist;
	return 0;
}

void alert_quantiles_end(struct alert_quantiles *quantiles)
{
	for (struct device_times **link = &quantiles->series; *link;) {
		if (!(*link)->seen)
			forget(link);
		else
			link = &(*link)->next;
		quantiles->end = link;
	}
	quantiles->expected = NULL;
}

/* The newest reading that is at least a span old, or the oldest if none is. */
static size_t base(const struct alert_quantiles *quantiles)
{
	size_t at = quantiles->at;

	for (size_t i = 1; i < quantiles->count; i++) {
		at = (quantiles->at + READINGS - i) % READINGS;
		if (quantiles->time_ns[quantiles->at] - quantiles->time_ns[at] >=
		    quantiles->span_ns)
			break;
	}
	return at;
}

bool alert_quantiles_whole(const struct alert_quantiles *quantiles)
{
	return quantiles->time_ns[quantiles->at] - quantiles->time_ns[base(quantiles)] >=
	       quantiles->span_ns;
}

/* Leave the times added after `before`.  `max_ns` stays: none of them is longer. */
static void subtract(struct nf_hist *hist, const struct nf_hist *before)
{
	hist->journeys -= hist->journeys < before->journeys ? hist->journeys : before->journeys;
	hist->variance -= hist->variance < before->variance ? hist->variance : before->variance;
	for (int i = 0; i < NF_HIST_BUCKETS; i++)
		hist->bucket[i] -=
			hist->bucket[i] < before->bucket[i] ? hist->bucket[i] : before->bucket[i];
}

bool alert_quantiles_worst(const struct alert_quantiles *quantiles, double q, uint64_t at_least,
			   struct alert_worst *worst)
{
	size_t from = base(quantiles);
	bool found = false;

	for (const struct device_times *series = quantiles->series; series; series = series->next) {
		struct nf_hist hist = series->reading[quantiles->at];
		uint64_t ns;

		subtract(&hist, &series->reading[from]);
		if (histogram_followed(&hist) < at_least || histogram_quantile(&hist, q, &ns) < 0 ||
		    (found && ns <= worst->ns))
			continue;
		found = true;
		strcpy(worst->device, series->name);
		worst->netns = series->netns;
		worst->ns = ns;
		worst->packets = histogram_count(&hist);
		worst->estimate = histogram_is_estimate(&hist);
	}
	return found;
}

bool alert_quantiles_sparse(const struct alert_quantiles *quantiles, uint64_t at_least)
{
	size_t from = base(quantiles);

	for (const struct device_times *series = quantiles->series; series; series = series->next) {
		struct nf_hist hist = series->reading[quantiles->at];

		subtract(&hist, &series->reading[from]);
		if (histogram_count(&hist) >= at_least && histogram_followed(&hist) < at_least)
			return true;
	}
	return false;
}
