/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the last readings said, for sparklines. */
#ifndef CLI_LIVE_HISTORY_H
#define CLI_LIVE_HISTORY_H

#include "cli/live/reading.h"

/* At one reading a second three minutes. */
#define HISTORY_READINGS 180

/* Zeroes are an empty one. */
struct history {
	size_t count; /* of readings, also those no longer held */
	uint64_t p99_ns[READING_SEGMENTS_COUNT][HISTORY_READINGS];
	uint64_t per_second[READING_PACKETS_COUNT][HISTORY_READINGS];
};

/* Add a reading that has rates; another one adds nothing. */
void history_add(struct history *history, const struct reading *reading);

/*
 * The newest values of one row, oldest first, at most `limit`; how many there
 * are.  A percentile of an interval without a packet is 0.
 */
size_t history_values(const struct history *history, const uint64_t row[HISTORY_READINGS],
		      uint64_t *values, size_t limit);

#endif
