/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alertmanager_json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/knowledge.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/text.h"
#include "daemon/core/stages.h"
#include "daemon/json/json.h"

static json_t *text(const char *bytes)
{
	return json_text(bytes, strlen(bytes));
}

/* Alertmanager treats an empty label as none. */
static void add(json_t *object, const char *name, const char *value)
{
	if (value && value[0])
		json_object_set_new(object, name, text(value));
}

static json_t *labels(const struct alert_rule *rule)
{
	json_t *object = json_object();
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	add(object, "alertname", rule->name);
	add(object, "severity", alert_severity_name(rule->severity));
	add(object, "condition", alert_kinds[rule->kind].name);
	add(object, "instance", host);
	add(object, "job", "netflowd");
	add(object, "device", rule->device);
	add(object, "netns", rule->netns);
	add(object, "protocol", rule->protocol);
	if (rule->kind == ALERT_LATENCY)
		add(object, "segment", segment_histograms[rule->segment].name);
	return object;
}

/* The knowledge of the reason that most drops had, otherwise that of the condition. */
static const struct knowledge *knowledge_of(const struct alert *alert)
{
	const struct alert_reading *reading = alert_reported(alert);
	const struct knowledge *entry;

	entry = reading && reading->reason[0] ? knowledge_reason(reading->reason) : NULL;
	for (size_t i = 0; !entry && knowledge_at(i); i++)
		if (knowledge_at(i)->kind == KNOWLEDGE_ALERT &&
		    !strcmp(knowledge_at(i)->name, alert_kinds[alert->rule->kind].name))
			entry = knowledge_at(i);
	return entry;
}

/* What `netflowctl explain` says; the rule's own cause and remedy come before that of the knowledge. */
static json_t *explanation(const struct alert *alert)
{
	const struct knowledge *entry = knowledge_of(alert);
	const char *cause = alert_cause(alert), *remedy = alert_remedy(alert);

	if (!entry)
		return json_sprintf("Cause: %s\n\nRemedy: %s", cause, remedy);
	return json_sprintf("%s: %s\n\nCause: %s\n\nTell: %s\n\nRemedy: %s", entry->name,
			    entry->meaning, cause, entry->tell, remedy);
}

static json_t *annotations(const struct alert *alert)
{
	const struct alert_reading *reading = alert_reported(alert);
	char line[ALERT_TEXT_MAX];
	json_t *object = json_object();

	alert_text_reading(alert->rule, reading ? reading : &alert->reading, line);
	add(object, "summary", line);
	if (reading)
		add(object, "reason", reading->reason);
	add(object, "cause", alert_cause(alert));
	add(object, "remedy", alert_remedy(alert));
	json_object_set_new(object, "explain", explanation(alert));
	return object;
}

json_t *alertmanager_alert(const struct alert *alert, uint64_t ended_ns)
{
	json_t *json = json_pack("{s:o, s:o, s:o}", "labels", labels(alert->rule), "annotations",
				 annotations(alert), "startsAt", json_time(alert->state.fired_ns));

	if (json && ended_ns)
		alertmanager_set_end(json, ended_ns);
	return json;
}

json_t *alertmanager_test_alert(const struct alert *alert, uint64_t now_ns)
{
	json_t *json = alertmanager_alert(alert, 0), *notes = json_object_get(json, "annotations");
	const char *summary = json_string_value(json_object_get(notes, "summary"));

	add(json_object_get(json, "labels"), "test", "true");
	json_object_set_new(notes, "summary",
			    json_sprintf("A test, nothing happened: %s", summary ? summary : ""));
	json_object_set_new(json, "startsAt", json_time(now_ns));
	return json;
}

void alertmanager_set_end(json_t *alert, uint64_t time_ns)
{
	json_object_set_new(alert, "endsAt", json_time(time_ns));
}
