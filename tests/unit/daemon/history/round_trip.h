/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record is the same after the history had it. */
#ifndef TESTS_UNIT_DAEMON_HISTORY_ROUND_TRIP_H
#define TESTS_UNIT_DAEMON_HISTORY_ROUND_TRIP_H

#include <jansson.h>

#include "common/json.h"
#include "daemon/history/stored_record.h"
#include "daemon/json/json.h"
#include "tests/unit/test.h"

static inline json_t *record_json(const struct record *record)
{
	if (record->kind == RECORDS_DROPS)
		return json_drop_record(&record->drop);
	if (record->kind == RECORDS_LATENCY)
		return json_latency_record(&record->journey);
	return json_slots_record(&record->transmit);
}

static inline uint64_t record_time(const struct record *record)
{
	if (record->kind == RECORDS_DROPS)
		return record->drop.time_ns;
	return record->kind == RECORDS_LATENCY ? record->journey.time_ns : record->transmit.time_ns;
}

/* `stored` is what was read, whose texts are in `bytes`. */
static inline void store_and_read(const struct record *record, struct stored_record *stored,
				  uint8_t bytes[static STORED_RECORD_MAX])
{
	int64_t time_us;
	size_t size = stored_record_write(record, &time_us, bytes);

	assert_true(size > 0);
	assert_int_equal(stored_record_read(stored, record->kind, time_us, bytes, size), 0);
	assert_int_equal(record_time(&stored->record), record_time(record));
}

static inline void check_round_trip(const struct record *record)
{
	static uint8_t bytes[STORED_RECORD_MAX];
	static struct stored_record stored;
	OWN_JSON json_t *before = record_json(record), *after = NULL;

	store_and_read(record, &stored, bytes);
	after = record_json(&stored.record);
	/* A test of memory that runs out. */
	if (!before || !after)
		return;
	if (!json_equal(before, after))
		fail_msg("%s\nis then\n%s", json_dumps(before, JSON_SORT_KEYS),
			 json_dumps(after, JSON_SORT_KEYS));
}

#endif
