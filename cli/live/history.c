/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/history.h"

void history_add(struct live_history *history, const struct live_reading *reading)
{
	size_t at = history->count % HISTORY_READINGS;

	if (reading->segments[0].per_second < 0)
		return;
	for (size_t i = 0; i < READING_SEGMENTS_COUNT; i++) {
		const struct reading_segment *segment = &reading->segments[i];

		history->p99_ns[i][at] =
			buckets_quantile(&segment->interval, 0.99, segment->interval_max_ns);
	}
	for (size_t i = 0; i < READING_PACKETS_COUNT; i++) {
		double rate = reading->packets_per_second[i];

		/* A rate below 1 per second must not look like 0. */
		history->per_second[i][at] = rate > 0 && rate < 1 ? 1
					     : rate < 0		  ? 0
								  : (uint64_t)rate;
	}
	history->count++;
}

size_t history_values(const struct live_history *history, const uint64_t row[HISTORY_READINGS],
		      uint64_t *values, size_t limit)
{
	size_t held = history->count < HISTORY_READINGS ? history->count : HISTORY_READINGS;
	size_t count = held < limit ? held : limit;

	for (size_t i = 0; i < count; i++)
		values[i] = row[(history->count - count + i) % HISTORY_READINGS];
	return count;
}
