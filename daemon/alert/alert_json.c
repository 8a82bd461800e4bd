/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alert_json.h"

#include <string.h>

#include "common/time.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/text.h"
#include "daemon/core/drop.h"
#include "daemon/core/journey.h"
#include "daemon/core/transmit.h"
#include "daemon/json/json.h"
#include "daemon/store/records.h"

#define EVIDENCE_RECORDS 5

static json_t *text(const char *bytes)
{
	return json_text(bytes, strlen(bytes));
}

static json_t *known_time(uint64_t monotonic_ns)
{
	return monotonic_ns ? json_time(monotonic_ns) : NULL;
}

/* ---- evidence ------------------------------------------------------------ */

/* The span of time in which records must have been made to be evidence. */
struct span {
	uint64_t from_ns, to_ns;
};

static struct span span_of(const struct alert *alert)
{
	const struct alert_state *state = &alert->state;
	uint64_t window = alert->rule->window_ns + alert->rule->for_ns;

	return (struct span){
		.from_ns = state->fired_ns > window ? state->fired_ns - window : 0,
		.to_ns = state->phase == ALERT_RESOLVED ? state->resolved_ns : UINT64_MAX,
	};
}

/* The JSON of the i-th newest record, or NULL if it is not evidence for the rule. */
typedef json_t *(*make_record)(struct records *records, const struct alert_rule *rule, size_t i);

static json_t *drop_evidence(struct records *records, const struct alert_rule *rule, size_t i)
{
	struct drop drop;

	if (records_drop(records, i, &drop) < 0 || !alert_rule_takes_drop(rule, &drop))
		return NULL;
	return json_drop_record(&drop);
}

static json_t *journey_evidence(struct records *records, const struct alert_rule *rule, size_t i)
{
	struct journey journey;

	if (records_journey(records, i, &journey) < 0 || !alert_rule_takes_journey(rule, &journey))
		return NULL;
	return json_latency_record(&journey);
}

static json_t *transmit_evidence(struct records *records, const struct alert_rule *rule, size_t i)
{
	struct transmit transmit;

	if (records_transmit(records, i, &transmit) < 0 ||
	    !alert_rule_takes_transmit(rule, &transmit))
		return NULL;
	return json_slots_record(&transmit);
}

/* The newest evidence in the span, newest last. */
static json_t *newest(struct records *records, const struct alert *alert, enum record_kind kind,
		      make_record make)
{
	const struct span span = span_of(alert);
	json_t *list = json_array();

	for (size_t i = 0;
	     i < records_count(records, kind) && json_array_size(list) < EVIDENCE_RECORDS; i++) {
		uint64_t time_ns = records_time(records, kind, i);
		json_t *made;

		if (time_ns < span.from_ns)
			break;
		made = time_ns <= span.to_ns ? make(records, alert->rule, i) : NULL;
		if (made)
			json_array_insert_new(list, 0, made);
	}
	return list;
}

/* The evidence of the reading that alert_reported() selects. */
static json_t *evidence(const struct alert *alert, struct records *records)
{
	const struct alert_reading *reading = alert_reported(alert);
	json_t *drops = NULL, *latencies = NULL, *slots = NULL;

	if (!reading)
		return NULL;
	if (alert->rule->kind == ALERT_DROP_RATE)
		drops = newest(records, alert, RECORDS_DROPS, drop_evidence);
	if (alert->rule->kind == ALERT_LATENCY)
		latencies = newest(records, alert, RECORDS_LATENCY, journey_evidence);
	if (alert->rule->kind == ALERT_SLOT_OVERFLOW || alert->rule->kind == ALERT_NEAR_MISS_RATE)
		slots = newest(records, alert, RECORDS_SLOTS, transmit_evidence);
	return json_pack("{s:I, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "count",
			 (json_int_t)reading->count, "detail",
			 reading->detail[0] ? text(reading->detail) : NULL, "reason",
			 reading->reason[0] ? text(reading->reason) : NULL, "inferred",
			 reading->reason[0] ? json_boolean(reading->inferred) : NULL, "drops",
			 drops, "latencies", latencies, "slots", slots);
}

/* ---- alerts -------------------------------------------------------------- */

static json_t *summary(const struct alert *alert)
{
	char line[ALERT_TEXT_MAX];

	if (!alert->rule->enabled)
		return json_string("not enabled");
	alert_text_reading(alert->rule, &alert->reading, line);
	return text(line);
}

static json_t *actions(const struct alert_rule *rule)
{
	json_t *list = json_array();

	for (unsigned int bit = 1; bit <= ALERT_TO_EXEC; bit <<= 1)
		if (rule->actions & bit)
			json_array_append_new(
				list, json_string(alert_action_name((enum alert_action)bit)));
	return list;
}

static json_t *program(const struct alert_exec_result *result)
{
	if (!result->time_ns)
		return NULL;
	return json_pack("{s:o, s:b, s:o}", "time", json_time(result->time_ns), "fine",
			 result->fine, "result", text(result->text));
}

/* The rule as its file has it; cause and remedy are those of the knowledge where the file has none. */
static json_t *rule_json(const struct alert *alert)
{
	static const char *const units[] = {
		[ALERT_UNIT_COUNT] = "count",
		[ALERT_UNIT_RATE] = "per_second",
		[ALERT_UNIT_DURATION] = "ns",
		[ALERT_UNIT_SHARE] = "percent",
	};
	const struct alert_rule *rule = alert->rule;
	json_t *window = rule->window_ns ? json_integer((json_int_t)rule->window_ns) : NULL;

	return json_pack(
		"{s:s, s:s, s:s, s:b, s:o, s:I, s:s, s:f, s:f, s:o*, s:I, s:I, s:o, s:o, s:o, s:o*}",
		"name", rule->name, "severity", alert_severity_name(rule->severity), "condition",
		alert_kinds[rule->kind].name, "enabled", rule->enabled, "file", text(rule->file),
		"line", (json_int_t)rule->line, "unit", units[rule->unit], "over", rule->over,
		"clear", rule->clear, "window_ns", window, "for_ns", (json_int_t)rule->for_ns,
		"repeat_ns", (json_int_t)rule->repeat_ns, "cause", text(alert_cause(alert)),
		"remedy", text(alert_remedy(alert)), "actions", actions(rule), "program",
		rule->exec ? text(rule->exec) : NULL);
}

static json_t *state_json(const struct alert *alert, struct records *records)
{
	const struct alert_state *state = &alert->state;
	const struct alert_reading *reading = &alert->reading;
	bool evaluated = alert->rule->enabled && reading->known;
	bool silenced = alert_state_silenced(state, time_monotonic());

	return json_pack("{s:s, s:o*, s:o, s:o*, s:o*, s:I, s:o*, s:o*, s:o*, s:o*, s:o*}", "state",
			 alert_phase_name(state->phase), "since", known_time(state->since_ns),
			 "summary", summary(alert), "value",
			 evaluated ? json_real(reading->value) : NULL, "unknown",
			 reading->unknown[0] ? text(reading->unknown) : NULL, "fired",
			 (json_int_t)state->fired, "last_fired", known_time(state->fired_ns),
			 "last_resolved", known_time(state->resolved_ns), "silenced_until",
			 silenced ? json_time(state->silenced_ns) : NULL, "evidence",
			 evidence(alert, records), "last_program", program(&alert->exec));
}

json_t *alert_json(const struct alert *alert, struct records *records)
{
	json_t *json = rule_json(alert), *state = state_json(alert, records);

	if (json && state && json_object_update_missing(json, state) == 0) {
		json_decref(state);
		return json;
	}
	json_decref(json);
	json_decref(state);
	return NULL;
}

json_t *alert_event_json(const struct alert_event *event, struct records *records)
{
	char line[ALERT_TEXT_MAX];

	alert_text_event(event, line);
	return json_pack("{s:o, s:s, s:b, s:b, s:o, s:o}", "time", json_time(event->time_ns),
			 "change", alert_change_name(event->change), "test", event->test,
			 "silenced", !event->reported, "summary", text(line), "alert",
			 alert_json(event->alert, records));
}
