/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatencyRecords. */
#include <errno.h>

#include "daemon/control/internal.h"
#include "daemon/control/records.h"

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	return control_records_reply(userdata, call, parameters, RECORDS_LATENCY);
}

int method_get_latency_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"over_ns", PARAMETER_INT, true},
		{"segment", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true},
		{"slow", PARAMETER_BOOL, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		{NULL, 0, 0},
	};
	struct control *control = userdata;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	return control_read(control, call, parameters, READING_BIT(COUNTERS), answer);
}
