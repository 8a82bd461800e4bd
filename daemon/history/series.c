/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/series.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/history/drop_name.h"

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

/* FNV-1a. */
uint64_t series_hash(int kind, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ (uint64_t)kind;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3ULL;
	return hash;
}

struct series *series_new(int kind, const char *name)
{
	char cause[BASELINE_KEY_MAX];
	size_t size = strlen(name) + 1;
	struct series *fresh;

	if (kind != HISTORY_DROPS || !drop_name_key(name, cause))
		cause[0] = 0;
	fresh = calloc(1, sizeof(*fresh) + size + strlen(cause) + 1);
	if (!fresh)
		return NULL;
	atomic_init(&fresh->holders, 1);
	fresh->kind = kind;
	fresh->hash = series_hash(kind, name);
	memcpy(fresh->name, name, size);
	fresh->cause = strcpy(fresh->name + size, cause);
	return fresh;
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
