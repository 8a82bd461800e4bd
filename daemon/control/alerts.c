/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetAlerts, TestAlert, SilenceAlert and UnsilenceAlert. */
#include "daemon/alert/alerts.h"

#include <errno.h>

#include "common/time.h"
#include "daemon/alert/alert_json.h"
#include "daemon/alert/engine.h"
#include "daemon/control/internal.h"
#include "daemon/control/question.h"
#include "daemon/json/json.h"

/* A year.  A longer silence is probably a typing mistake. */
#define SILENCE_MAX_NS (365 * 86400 * (json_int_t)TIME_NS_PER_SECOND)

static int answer_alerts(const struct control *control, struct call *call)
{
	const struct alert_engine *engine = alerts_engine(control->parts.alerts);
	json_t *alerts = json_array();

	for (size_t i = 0; i < alert_engine_count(engine); i++)
		json_array_append_new(
			alerts, alert_json(alert_engine_get(engine, i), control->sources->records));
	return control_reply(call, json_pack("{s:o, s:o}", "time", json_time(time_monotonic()),
					     "alerts", alerts));
}

int method_get_alerts(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"limit", PARAMETER_INT, true}, PAST_PARAMETERS, {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (question_is_past(parameters))
		return question_ask_past(userdata, call, parameters, &past_alerts);
	return answer_alerts(userdata, call);
}

/* Find the alert that the call names.  NULL: there is none, and the call has ended. */
static const struct alert *find(const struct control *control, struct call *call,
				json_t *parameters)
{
	const char *name = json_string_value(json_object_get(parameters, "rule")), *nearest;
	const struct alert *alert =
		alert_engine_find(alerts_engine(control->parts.alerts), name, &nearest);

	if (!alert)
		call_error(call, "io.netflowd.UnknownAlert",
			   json_pack("{s:s, s:s*}", "rule", name, "nearest", nearest));
	return alert;
}

/* The same for a method whose only parameter is the alert's rule.  -EINVAL: the call has ended. */
static int read_alert(const struct control *control, struct call *call, json_t *parameters,
		      const struct alert **alert)
{
	static const struct parameter table[] = {{"rule", PARAMETER_STRING, false}, {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	*alert = find(control, call, parameters);
	return *alert ? 0 : -EINVAL;
}

int method_test_alert(struct call *call, json_t *parameters, void *userdata)
{
	struct control *control = userdata;
	const struct alert *alert;
	int r = read_alert(control, call, parameters, &alert);

	return r < 0 ? r : alert_test(control, call, alert);
}

int method_silence_alert(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"rule", PARAMETER_STRING, false}, {"for_ns", PARAMETER_INT, false}, {NULL, 0, 0}};
	struct control *control = userdata;
	const struct alert *alert;
	json_int_t for_ns;
	uint64_t until;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	for_ns = json_integer_value(json_object_get(parameters, "for_ns"));
	if (for_ns < 1 || for_ns > SILENCE_MAX_NS)
		return call_invalid_parameter(call, "for_ns");
	alert = find(control, call, parameters);
	if (!alert)
		return 0;
	until = time_monotonic() + (uint64_t)for_ns;
	alert_engine_silence(alerts_engine(control->parts.alerts), alert->rule->name, until);
	return control_reply(call, json_pack("{s:o}", "until", json_time(until)));
}

int method_unsilence_alert(struct call *call, json_t *parameters, void *userdata)
{
	struct control *control = userdata;
	const struct alert *alert;
	int r = read_alert(control, call, parameters, &alert);

	if (r < 0)
		return r;
	alert_engine_silence(alerts_engine(control->parts.alerts), alert->rule->name, 0);
	return call_reply(call, json_object());
}
