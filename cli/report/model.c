/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report/model.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/segment.h"
#include "common/time.h"

#define NS_PER_HOUR 3600000000000LL

/* Rows and records that the page shows. */
#define PLACES 20
#define RECORDS 12
#define POLLS 16
#define DEVICES 16
#define EVENTS 100

void model_done(struct model *model)
{
	json_t *const replies[] = {
		model->status,	model->drops,  model->places,	 model->records,
		model->latency, model->slow,   model->napi,	 model->slots,
		model->alerts,	model->events, model->incidents, model->sources,
	};

	for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
		json_decref(replies[i]);
	for (size_t i = 0; i < model->segment_count; i++) {
		buckets_free(&model->segments[i].all);
		for (size_t cell = 0; cell < MODEL_CELLS; cell++)
			buckets_free(&model->segments[i].cells[cell]);
	}
	free(model->segments);
	free(model->reasons);
	*model = (struct model){};
}

/* ---- asking -------------------------------------------------------------------------------- */

static enum report_status out_of_memory(void)
{
	report("%s", strerror(ENOMEM));
	return REPORT_FAILED;
}

/* Steals `parameters`, and adds the period if the report is about the past. */
static enum report_status ask_with(struct session *session, const struct model *model,
				   const char *method, json_t *parameters, bool records,
				   json_t **reply)
{
	enum report_status status = REPORT_FINE;

	if (!parameters)
		return out_of_memory();
	if (model->past)
		status = session_add_period(session, parameters);
	if (!status && records)
		return session_call_past(session, method, parameters, reply);
	if (!status)
		return session_call(session, method, parameters, 0, reply);
	json_decref(parameters);
	return status;
}

static enum report_status ask(struct session *session, const struct model *model,
			      const char *method, json_t *parameters, json_t **reply)
{
	return ask_with(session, model, method, parameters, false, reply);
}

/* Records are deleted before counters: *reply is NULL if only these are left. */
static enum report_status ask_records(struct session *session, const struct model *model,
				      const char *method, json_t *parameters, json_t **reply)
{
	return ask_with(session, model, method, parameters, true, reply);
}

static json_t *limit(int64_t rows)
{
	return session_parameters("limit", json_integer(rows), NULL);
}

/* Whether the daemon keeps a history that it can be asked for. */
static bool has_history(const json_t *status)
{
	const char *state = field_text(json_object_get(status, "history"), "state");

	return !strcmp(state, "writing") || !strcmp(state, "failing") || !strcmp(state, "starting");
}

/*
 * A period that was asked for stays as it is: without a history the daemon then says why there is none.  Both ends are
 * fixed here, so that all replies are about the same time.
 */
static void choose_period(struct session *session, struct model *model)
{
	struct arguments *given = &session->arguments;
	int64_t now = (int64_t)time_realtime();

	model->past = given->since_ns >= 0 || given->until_ns >= 0 || has_history(model->status);
	if (!model->past)
		return;
	if (given->since_ns < 0) {
		int64_t end = given->until_ns >= 0 ? given->until_ns : now;

		given->since_ns = end > NS_PER_HOUR ? end - NS_PER_HOUR : 0;
	}
}

static enum report_status ask_drops(struct session *session, struct model *model)
{
	enum report_status status =
		ask(session, model, "io.netflowd.GetDrops",
		    session_parameters("by", session_text("reason"), NULL), &model->drops);

	if (!status)
		status = ask(session, model, "io.netflowd.GetDrops", limit(PLACES), &model->places);
	if (!status)
		status = ask_records(session, model, "io.netflowd.GetDropRecords", limit(RECORDS),
				     &model->records);
	return status;
}

static enum report_status ask_latency(struct session *session, struct model *model)
{
	enum report_status status =
		ask(session, model, "io.netflowd.GetLatency", json_object(), &model->latency);

	if (!status)
		status = ask_records(session, model, "io.netflowd.GetLatencyRecords",
				     session_parameters("limit", json_integer(RECORDS), "slow",
							json_true(), NULL),
				     &model->slow);
	return status;
}

static enum report_status ask_rest(struct session *session, struct model *model)
{
	enum report_status status =
		ask(session, model, "io.netflowd.GetNapi", limit(POLLS), &model->napi);

	if (!status)
		status = ask(session, model, "io.netflowd.GetSlots", limit(DEVICES), &model->slots);
	if (!status && !model->blind)
		status =
			session_call(session, "io.netflowd.GetSlots", limit(1), 0, &model->sources);
	if (!status && model->past)
		status = ask_records(session, model, "io.netflowd.GetAlerts", limit(EVENTS),
				     &model->events);
	if (!status && model->past)
		status = ask(session, model, "io.netflowd.GetIncidents", limit(EVENTS),
			     &model->incidents);
	return status;
}

/* ---- what the replies have ----------------------------------------------------------------- */

static int take_reasons(struct model *model)
{
	const json_t *rows = json_object_get(model->drops, "rows"), *row;
	size_t i;

	model->reasons = calloc(json_array_size(rows) + 1, sizeof(*model->reasons));
	if (!model->reasons)
		return -ENOMEM;
	json_array_foreach(rows, i, row)
	{
		model->reasons[i].row = row;
		model->reasons[i].packets = field_count_or(row, "packets", 0);
	}
	model->reason_count = json_array_size(rows);
	return 0;
}

static int take_segments(struct model *model)
{
	const json_t *rows = json_object_get(model->latency, "segments"), *row;
	size_t i;
	int r = 0;

	model->segments = calloc(json_array_size(rows) + 1, sizeof(*model->segments));
	if (!model->segments)
		return -ENOMEM;
	model->segment_count = json_array_size(rows);
	json_array_foreach(rows, i, row)
	{
		model->segments[i].total = row;
		if (!r)
			r = segment_buckets(row, &model->segments[i].all);
	}
	return r;
}

enum report_status model_ask(struct session *session, struct model *model)
{
	enum report_status status =
		session_call(session, "io.netflowd.GetStatus", NULL, 0, &model->status);

	if (status)
		return status;
	model->blind =
		!strcmp(field_text(json_object_get(model->status, "backend"), "name"), "none");
	status = session_call(session, "io.netflowd.GetAlerts", NULL, 0, &model->alerts);
	if (status)
		return status;
	choose_period(session, model);
	/* Without a probe there is nothing to ask for but the past. */
	if (model->blind && !model->past)
		return REPORT_FINE;
	status = ask_drops(session, model);
	if (!status)
		status = ask_latency(session, model);
	if (!status)
		status = ask_rest(session, model);
	if (status)
		return status;
	if (take_reasons(model) || take_segments(model))
		return out_of_memory();
	return model->past ? series_ask(session, model) : REPORT_FINE;
}
