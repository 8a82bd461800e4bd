/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/series.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/core/histogram.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/series_name.h"

size_t history_width(int kind)
{
	static const size_t width[HISTORY_KIND_END] = {
		[HISTORY_DROPS] = DROPS_VALUES,	    [HISTORY_LATENCY] = LATENCY_VALUES,
		[HISTORY_DEVICE] = LATENCY_VALUES,  [HISTORY_NAPI] = NAPI_VALUES,
		[HISTORY_SOFTIRQ] = LATENCY_VALUES, [HISTORY_SLOTS] = SLOTS_VALUES,
		[HISTORY_EVENTS] = EVENTS_VALUES,   [HISTORY_SEEN] = SEEN_VALUES,
		[HISTORY_TRAFFIC] = COUNTED_VALUES,
	};

	return kind > 0 && kind < HISTORY_KIND_END ? width[kind] : 0;
}

void series_hist(const uint64_t *value, struct nf_hist *hist)
{
	hist->max_ns = value[LATENCY_MAX_NS];
	hist->sum_ns = value[LATENCY_SUM_NS];
	hist->variance = value[LATENCY_VARIANCE] + value[LATENCY_SPREAD];
	memcpy(hist->bucket, value + LATENCY_BUCKET, sizeof(hist->bucket));
	hist->journeys = histogram_count(hist);
	hist->journeys -= value[LATENCY_UNFOLLOWED] < hist->journeys ? value[LATENCY_UNFOLLOWED]
								     : hist->journeys;
}

/* FNV-1a. */
uint64_t series_hash(int kind, const void *name, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ (uint64_t)kind;
	const uint8_t *bytes = name;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

static struct series *make(int kind, const uint8_t *name, size_t size, const char *cause)
{
	size_t length = strlen(cause) + 1;
	struct series *fresh = calloc(1, sizeof(*fresh) + length + size);

	if (!fresh)
		return NULL;
	atomic_init(&fresh->holders, 1);
	fresh->kind = kind;
	fresh->hash = series_hash(kind, name, size);
	memcpy(fresh->cause, cause, length);
	fresh->name = memcpy(fresh->cause + length, name, size);
	fresh->size = size;
	return fresh;
}

struct series *series_new(int kind, const struct series_name *name)
{
	uint8_t bytes[SERIES_NAME_MAX];

	return make(kind, bytes, series_name_encode(name, bytes), "");
}

struct series *series_new_drops(const struct drop_row *row)
{
	uint8_t bytes[SERIES_NAME_MAX];
	char cause[BASELINE_KEY_MAX];

	if (!baseline_key_of(row, cause))
		cause[0] = 0;
	return make(HISTORY_DROPS, bytes, series_name_encode_drops(row, bytes), cause);
}

struct series *series_hold(struct series *series)
{
	atomic_fetch_add(&series->holders, 1);
	return series;
}

void series_release(struct series **series)
{
	if (*series && atomic_fetch_sub(&(*series)->holders, 1) == 1)
		free(*series);
	*series = NULL;
}
