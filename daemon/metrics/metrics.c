/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics/metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/metrics/internal.h"

/* A busier cause can take over a series that was shown for this part of the idle time. */
#define HOLD_SHARE 6

int metrics_new(struct metrics **metrics)
{
	OWN_METRICS struct metrics *fresh = calloc(1, sizeof(*fresh));

	if (!fresh || metrics_series_new(&fresh->drops, true) < 0 ||
	    metrics_series_new(&fresh->napi, false) < 0 ||
	    metrics_series_new(&fresh->slots, false) < 0 ||
	    metrics_series_new(&fresh->traffic, false) < 0 || kinds_new(&fresh->kinds) < 0)
		return -ENOMEM;
	*metrics = TAKE_PTR(fresh);
	return 0;
}

void metrics_free(struct metrics **metrics)
{
	struct metrics *old = *metrics;

	if (!old)
		return;
	metrics_series_free(&old->drops);
	metrics_series_free(&old->napi);
	metrics_series_free(&old->slots);
	metrics_series_free(&old->traffic);
	kinds_free(&old->kinds);
	free(old->group);
	free(old->cpu);
	free(old);
	*metrics = NULL;
}

static int update(struct metrics *metrics, struct metrics_series *series,
		  const struct metrics_snapshot *snapshot,
		  int (*add)(struct metrics *metrics, const struct metrics_snapshot *snapshot),
		  uint64_t shown, uint64_t idle_ns)
{
	const struct series_limits limits = {
		.shown = shown, .idle_ns = idle_ns, .hold_ns = idle_ns / HOLD_SHARE};
	int r;

	metrics_series_begin(series);
	r = add(metrics, snapshot);
	if (r == 0)
		metrics_series_end(series, &limits, snapshot->now_ns);
	return r;
}

int metrics_update(struct metrics *metrics, const struct metrics_snapshot *snapshot,
		   const struct metrics_limits *limits)
{
	int r = 0;

	metrics->limit = limits->drop_series;
	if (snapshot->reading[READING_DROPS])
		r = update(metrics, metrics->drops, snapshot, metrics_add_drops,
			   limits->drop_series, limits->idle_ns);
	if (r == 0 && snapshot->reading[READING_NAPI])
		r = update(metrics, metrics->napi, snapshot, metrics_add_napi, limits->devices,
			   limits->idle_ns);
	if (r == 0 && snapshot->reading[READING_SLOTS])
		r = update(metrics, metrics->slots, snapshot, metrics_add_slots, limits->devices,
			   limits->idle_ns);
	if (r == 0 && snapshot->reading[READING_TRAFFIC])
		r = update(metrics, metrics->traffic, snapshot, metrics_add_traffic,
			   limits->devices, limits->idle_ns);
	if (r == 0 && snapshot->reading[READING_DEVICES])
		r = kinds_update(metrics->kinds, snapshot);
	return r == 0 ? metrics_update_cpus(metrics) : r;
}

int metrics_write(const struct metrics *metrics, const struct metrics_snapshot *snapshot,
		  struct metrics_text *text)
{
	metrics_write_self(text, snapshot);
	if (snapshot->traced) {
		metrics_write_drops(text, metrics);
		metrics_write_ledger(text, snapshot);
		metrics_write_latency(text, metrics);
		metrics_write_traffic(text, metrics);
		metrics_write_napi(text, metrics);
		metrics_write_slots(text, metrics);
	}
	metrics_write_cpus(text, metrics, snapshot);
	return metrics_text_end(text);
}
