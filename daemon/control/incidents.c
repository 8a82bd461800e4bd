/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetIncidents and GetIncident: the five minutes before an alert fired, which are kept longer than the rest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/json.h"
#include "daemon/control/internal.h"
#include "daemon/control/question.h"
#include "daemon/history/batch.h"
#include "daemon/history/series.h"

/* Records of each kind in a reply. */
#define RECORDS_IN_REPLY 256

/* Type Incident; `from` is what the history says of it. */
static json_t *incident_to_json(const json_t *from)
{
	return json_pack("{s:O, s:o, s:o, s:O, s:O, s:O*}", "id", json_object_get(from, "id"),
			 "time", past_time(json_integer_value(json_object_get(from, "time_us"))),
			 "from", past_time(json_integer_value(json_object_get(from, "begun_us"))),
			 "rule", json_object_get(from, "rule"), "complete",
			 json_object_get(from, "complete"), "event",
			 json_object_get(from, "event"));
}

static int work_incidents(struct reader *reader, struct past *past)
{
	OWN_JSON json_t *found = json_array();
	size_t count, i;
	int r = found ? reader_incidents(reader, found) : -ENOMEM;

	count = json_array_size(found);
	/* The newest, oldest first. */
	for (i = count > past->limit ? count - past->limit : 0; i < count && r == 0; i++)
		if (json_array_append_new(past->rows, incident_to_json(json_array_get(found, i))))
			r = -ENOMEM;
	if (r == 0 && json_object_set_new(past->head, "matched", json_integer(json_count(count))))
		r = -ENOMEM;
	json_object_del(past->head, "since");
	json_object_del(past->head, "elapsed_ns");
	return r;
}

static const struct past_kind past_incidents = {
	.member = "incidents", .rows_by_default = 100, .work = work_incidents, .outlives = true};

/* ---- one of them ------------------------------------------------------------------------ */

static int prepare(struct past *past)
{
	past->state = json_incref(json_object_get(past->parameters, "id"));
	return 0;
}

static void clear(void *state)
{
	json_decref(state);
}

/* The newest records of a kind as `member`, and how many there are as MEMBER_matched. */
static int put_records(struct reader *reader, struct past *past, int kind, const char *member)
{
	json_t *records = json_array();
	char count[64];
	size_t matched;
	int r = records ? past_read_records(reader, past, kind, RECORDS_IN_REPLY, records, &matched)
			: -ENOMEM;

	if (r < 0) {
		json_decref(records);
		return r;
	}
	snprintf(count, sizeof(count), "%s_matched", member);
	return json_object_set_new(past->head, member, records) ||
			       json_object_set_new(past->head, count,
						   json_integer(json_count(matched)))
		       ? -ENOMEM
		       : 0;
}

static int work_incident(struct reader *reader, struct past *past)
{
	OWN_JSON json_t *incident = NULL;
	int r = reader_use_incident(reader, json_integer_value(past->state), &incident);

	if (r < 0)
		return r;
	json_object_clear(past->head);
	if (json_object_set_new(past->head, "incident", incident_to_json(incident)))
		return -ENOMEM;
	past->without_period = true;
	r = past_read_drops(reader, past);
	if (r == 0)
		r = past_read_segments(reader, past);
	if (r == 0)
		r = put_records(reader, past, HISTORY_RECORD_DROP, "drop_records");
	if (r == 0)
		r = put_records(reader, past, HISTORY_RECORD_LATENCY, "latency_records");
	if (r == 0)
		r = put_records(reader, past, HISTORY_RECORD_SLOTS, "slots_records");
	return r == 0 ? put_records(reader, past, HISTORY_RECORD_ALERT, "events") : r;
}

static const struct past_kind past_incident = {.member = "drops",
					       .rows_by_default = 100,
					       .prepare = prepare,
					       .work = work_incident,
					       .clear = clear};

/* ---- the methods -------------------------------------------------------------------------- */

int method_get_incidents(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"limit", PARAMETER_INT, true}, PAST_PARAMETERS, {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	return question_ask_past(userdata, call, parameters, &past_incidents);
}

int method_get_incident(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"id", PARAMETER_INT, false}, {"limit", PARAMETER_INT, true}, {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	return question_ask_past(userdata, call, parameters, &past_incident);
}
