/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/records.h"

#include "daemon/control/filter.h"
#include "daemon/json/json.h"

int control_record_read(struct control_record *record, struct records *records,
			enum record_kind kind, size_t i)
{
	record->kind = kind;
	switch (kind) {
	case RECORDS_DROPS:
		return records_drop(records, i, &record->drop);
	case RECORDS_LATENCY:
		return records_journey(records, i, &record->journey);
	default:
		return records_transmit(records, i, &record->transmit);
	}
}

bool control_record_taken(const struct control_record *record, const struct filter *filter)
{
	switch (record->kind) {
	case RECORDS_DROPS:
		return filter_takes_drop(filter, &record->drop);
	case RECORDS_LATENCY:
		return filter_takes_journey(filter, &record->journey);
	default:
		return filter_takes_transmit(filter, &record->transmit);
	}
}

static bool is_hidden(const struct control_record *record, const struct filter *filter)
{
	return record->kind == RECORDS_DROPS && filter_hides(filter, &record->drop.cause);
}

json_t *control_record_json(const struct control_record *record)
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

struct control_found control_records_find(struct records *records, enum record_kind kind,
					  const struct filter *filter, size_t limit)
{
	struct control_found found = {.records = json_array()};
	struct control_record record;
	size_t oldest = 0;

	for (size_t i = 0; i < records_count(records, kind); i++) {
		if (control_record_read(&record, records, kind, i) < 0 ||
		    !control_record_taken(&record, filter))
			continue;
		if (is_hidden(&record, filter))
			found.hidden++;
		else if (found.matched++ < limit)
			oldest = i + 1;
	}
	for (size_t i = oldest; i-- > 0;)
		if (control_record_read(&record, records, kind, i) == 0 &&
		    control_record_taken(&record, filter) && !is_hidden(&record, filter))
			json_array_append_new(found.records, control_record_json(&record));
	return found;
}
