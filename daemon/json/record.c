/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/record.h"

#include "daemon/json/json.h"

json_t *json_record(const struct record *record)
{
	switch (record->kind) {
	case RECORDS_DROPS:
		return json_drop_record(&record->drop);
	case RECORDS_LATENCY:
		return json_latency_record(&record->journey);
	default:
		return json_slots_record(&record->transmit);
	}
}
