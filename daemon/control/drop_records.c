/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDropRecords. */
#include "daemon/control/internal.h"
#include "daemon/control/past.h"
#include "daemon/control/records.h"

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	return control_records_reply(userdata, call, parameters, RECORDS_DROPS);
}

int method_get_drop_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"reason", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"faults", PARAMETER_BOOL, true},
		{"classes", PARAMETER_ARRAY, true},
		{"filter", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct past_method method = {
		.parameters = table, .past = &past_drop_records, .answer = answer};

	return past_or_now(userdata, call, parameters, &method);
}
