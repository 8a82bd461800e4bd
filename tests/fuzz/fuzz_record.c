/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of the history's records with arbitrary bytes, as a damaged file has them; the first byte is the
 * kind.  What it accepts becomes JSON.
 */
#include <assert.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/history/stored_record.h"
#include "daemon/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stored_record stored;
	const struct record *record = &stored.record;
	json_t *object;

	if (!size)
		return 0;
	if (stored_record_read(&stored, (enum record_kind)(data[0] % RECORDS_KINDS),
			       1763715000000000, data + 1, size - 1) < 0)
		return 0;
	if (record->kind == RECORDS_DROPS)
		object = json_drop_record(&record->drop);
	else if (record->kind == RECORDS_LATENCY)
		object = json_latency_record(&record->journey);
	else
		object = json_slots_record(&record->transmit);
	assert(object);
	json_decref(object);
	return 0;
}
