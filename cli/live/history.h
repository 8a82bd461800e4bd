/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the last readings, for sparklines. */
#ifndef CLI_LIVE_HISTORY_H
#define CLI_LIVE_HISTORY_H

#include "cli/live/reading.h"

/* Three minutes at one reading per second. */
#define HISTORY_READINGS 180

/* Rings that hold the last HISTORY_READINGS readings.  A zeroed struct is empty. */
struct live_history {
	size_t count; /* readings added, including those that are no longer held */
	uint64_t p99_ns[READING_SEGMENTS_COUNT][HISTORY_READINGS];
	uint64_t per_second[READING_PACKETS_COUNT][HISTORY_READINGS];
};

/* Add a reading.  A reading without rates adds nothing. */
void history_add(struct live_history *history, const struct live_reading *reading);

/*
 * Copy the newest values of one row, at most `limit`, oldest first; returns their number.  The percentile of an
 * interval without packets is 0.
 */
size_t history_values(const struct live_history *history, const uint64_t row[HISTORY_READINGS],
		      uint64_t *values, size_t limit);

#endif
