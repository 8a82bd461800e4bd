/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatencyRecords. */
#include "daemon/control/internal.h"
#include "daemon/control/records.h"
#include "daemon/probe/backend.h"

static json_t *answer(const struct control *control, const struct filter *filter, size_t limit)
{
	const struct backend *backend = control->parts.backend;
	struct records *records = control->parts.records;
	struct control_found found = control_records_find(records, RECORDS_LATENCY, filter, limit);
	ledger_events events;

	backend->ops->events(backend, events);
	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "held",
			 (json_int_t)records_count(records, RECORDS_LATENCY), "capacity",
			 (json_int_t)records_capacity(records, RECORDS_LATENCY), "matched",
			 (json_int_t)found.matched, "ledger", control_latency_ledger(events, false),
			 "records", found.records);
}

int method_get_latency_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"over_ns", PARAMETER_INT, true},   {"segment", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true}, {"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true}, {"slow", PARAMETER_BOOL, true},
		{"limit", PARAMETER_INT, true},	    {NULL, 0, 0},
	};

	return control_answer_records(userdata, call, parameters, table, answer);
}
