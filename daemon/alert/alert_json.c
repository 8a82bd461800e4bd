/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alert_json.h"

#include <string.h>

#include "common/time.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/text.h"
#include "daemon/control/internal.h"
#include "daemon/json/json.h"
#include "daemon/store/recent.h"

#define EVIDENCE_RECORDS 5

static json_t *text(const char *bytes)
{
	return json_text(bytes, strlen(bytes));
}

static json_t *known_time(uint64_t monotonic_ns)
{
	return monotonic_ns ? control_time(monotonic_ns) : NULL;
}

/* ---- evidence ------------------------------------------------------------ */

/* The time that the alert is about, of records. */
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

/* Make the JSON of a record, or NULL when it is no evidence. */
typedef json_t *(*make_record)(const struct control *control, const struct alert_rule *rule,
			       const struct nf_record *record);

static json_t *drop(const struct control *control, const struct alert_rule *rule,
		    const struct nf_record *record)
{
	const struct nf_drop_record *dropped = (const struct nf_drop_record *)record;

	if (!alert_rule_takes_drop(rule, dropped))
		return NULL;
	return json_drop_record(dropped, control->parts.names, control->parts.symbols);
}

static json_t *latency(const struct control *control, const struct alert_rule *rule,
		       const struct nf_record *record)
{
	const struct nf_path_record *finished = (const struct nf_path_record *)record;
	struct path path;

	if (!alert_rule_takes_path(rule, finished) ||
	    path_read(&path, finished, &control->probes) < 0)
		return NULL;
	return json_latency_record(finished, &path, control->attribution);
}

static json_t *slots(const struct control *control, const struct alert_rule *rule,
		     const struct nf_record *record)
{
	const struct nf_slots_record *transmit = (const struct nf_slots_record *)record;

	(void)control;
	return alert_rule_takes_slots(rule, transmit) ? json_slots_record(transmit) : NULL;
}

/* The newest of the span, newest last. */
static json_t *records(const struct control *control, const struct alert *alert,
		       const struct recent *recent, make_record make)
{
	const struct span span = span_of(alert);
	json_t *list = json_array();

	for (size_t i = 0; i < recent_count(recent) && json_array_size(list) < EVIDENCE_RECORDS;
	     i++) {
		const struct nf_record *record = recent_newest(recent, i);
		json_t *made;

		if (record->time_ns < span.from_ns)
			break;
		made = record->time_ns <= span.to_ns ? make(control, alert->rule, record) : NULL;
		if (made)
			json_array_insert_new(list, 0, made);
	}
	return list;
}

/* As it was when it fired, unless there is more of it by now. */
static json_t *evidence(const struct control *control, const struct alert *alert)
{
	const struct alert_reading *told = alert_told(alert);
	json_t *drops = NULL, *latencies = NULL, *transmits = NULL;

	if (!told)
		return NULL;
	if (alert->rule->kind == ALERT_DROP_RATE)
		drops = records(control, alert, control->parts.recent, drop);
	if (alert->rule->kind == ALERT_LATENCY)
		latencies = records(control, alert, control->parts.paths, latency);
	if (alert->rule->kind == ALERT_SLOT_OVERFLOW || alert->rule->kind == ALERT_NEAR_MISS_RATE)
		transmits = records(control, alert, control->parts.slots, slots);
	return json_pack("{s:I, s:o*, s:o*, s:o*, s:o*, s:o*}", "count", (json_int_t)told->count,
			 "detail", told->detail[0] ? text(told->detail) : NULL, "reason",
			 told->reason[0] ? text(told->reason) : NULL, "drops", drops, "latencies",
			 latencies, "slots", transmits);
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
	return json_pack("{s:o, s:b, s:o}", "time", control_time(result->time_ns), "fine",
			 result->fine, "result", text(result->text));
}

/* What its file says, and, where it leaves them open, cause and remedy. */
static json_t *rule_json(const struct alert *alert)
{
	static const char *const units[] = {
		[ALERT_UNIT_COUNT] = "count",
		[ALERT_UNIT_RATE] = "per_second",
		[ALERT_UNIT_DURATION] = "ns",
	};
	const struct alert_rule *rule = alert->rule;
	json_t *window = rule->window_ns ? json_integer((json_int_t)rule->window_ns) : NULL;

	return json_pack(
		"{s:s, s:s, s:s, s:b, s:o, s:I, s:s, s:f, s:f, s:o*, s:I, s:I, s:o, s:o, s:o, s:o*}",
		"name", rule->name, "severity", alert_severity_name(rule->severity), "condition",
		alert_kinds[rule->kind].name, "enabled", rule->enabled, "file", text(rule->file),
		"line", (json_int_t)rule->line, "unit", units[alert_kinds[rule->kind].unit], "over",
		rule->over, "clear", rule->clear, "window_ns", window, "for_ns",
		(json_int_t)rule->for_ns, "repeat_ns", (json_int_t)rule->repeat_ns, "cause",
		text(alert_cause(alert)), "remedy", text(alert_remedy(alert)), "actions",
		actions(rule), "program", rule->exec ? text(rule->exec) : NULL);
}

static json_t *state_json(const struct control *control, const struct alert *alert)
{
	const struct alert_state *state = &alert->state;
	const struct alert_reading *reading = &alert->reading;
	bool judged = alert->rule->enabled && reading->known;
	bool silenced = alert_state_silenced(state, time_monotonic());

	return json_pack("{s:s, s:o*, s:o, s:o*, s:o*, s:I, s:o*, s:o*, s:o*, s:o*, s:o*}", "state",
			 alert_phase_name(state->phase), "since", known_time(state->since_ns),
			 "summary", summary(alert), "value",
			 judged ? json_real(reading->value) : NULL, "unknown",
			 reading->unknown[0] ? text(reading->unknown) : NULL, "fired",
			 (json_int_t)state->fired, "last_fired", known_time(state->fired_ns),
			 "last_resolved", known_time(state->resolved_ns), "silenced_until",
			 silenced ? control_time(state->silenced_ns) : NULL, "evidence",
			 evidence(control, alert), "last_program", program(&alert->exec));
}

json_t *alert_json(const struct control *control, const struct alert *alert)
{
	json_t *json = rule_json(alert), *state = state_json(control, alert);

	if (json && state && json_object_update_missing(json, state) == 0) {
		json_decref(state);
		return json;
	}
	json_decref(json);
	json_decref(state);
	return NULL;
}

json_t *alert_event_json(const struct control *control, const struct alert_event *event)
{
	char line[ALERT_TEXT_MAX];

	alert_text_event(event, line);
	return json_pack("{s:o, s:s, s:b, s:b, s:o, s:o}", "time", control_time(event->time_ns),
			 "change", alert_change_name(event->change), "test", event->test,
			 "silenced", !event->told, "summary", text(line), "alert",
			 alert_json(control, event->alert));
}

json_t *alert_fault_json(const struct alert_fault *fault)
{
	return json_pack("{s:o, s:I, s:o*, s:o*, s:o, s:b}", "file", text(fault->file), "line",
			 (json_int_t)fault->line, "rule", fault->rule[0] ? text(fault->rule) : NULL,
			 "key", fault->key[0] ? text(fault->key) : NULL, "error", text(fault->text),
			 "old_runs", fault->old_runs);
}
