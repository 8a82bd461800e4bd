/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/past.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/time.h"
#include "common/when.h"
#include "daemon/control/coverage.h"
#include "daemon/history/history.h"

static void past_free(void *state)
{
	struct past *past = state;

	if (past->kind->clear && past->state)
		past->kind->clear(past->state);
	reader_period_clear(&past->period);
	past_places_clear(&past->places);
	json_decref(past->parameters);
	json_decref(past->head);
	json_decref(past->rows);
	free(past);
}

bool past_wanted(const json_t *parameters)
{
	return json_object_get(parameters, "since") || json_object_get(parameters, "until");
}

json_t *past_time(int64_t us)
{
	char text[TIME_TEXT_MAX];

	time_format_realtime(us * 1000, text);
	return json_string(text);
}

const char *past_text(const struct past *past, const char *name)
{
	return json_string_value(json_object_get(past->parameters, name));
}

int past_put_rows(struct past *past, const struct reader_rows *rows,
		  json_t *(*to_json)(const struct reader_row *row))
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct reader_row *row = &rows->row[i];

		if (row->weight > past->weight)
			past->weight = row->weight;
		if (i < past->limit && json_array_append_new(past->rows, to_json(row)) != 0)
			return -ENOMEM;
	}
	return json_object_set_new(past->head, "matched", json_integer(json_count(rows->count)))
		       ? -ENOMEM
		       : 0;
}

/* ---- the reply ------------------------------------------------------------------------ */

/* Newest first: what is missing now matters most. */
static json_t *gaps(const struct covered *asked)
{
	json_t *list = json_array();

	for (size_t i = 0; i < covered_kept(asked); i++) {
		const struct covered_gap *gap = covered_gap(asked, i);

		json_array_append_new(list,
				      json_pack("{s:o, s:o, s:s*}", "from", past_time(gap->from_us),
						"to", past_time(gap->to_us), "reason",
						gap->reason == READER_PAUSED ? "paused" : NULL));
	}
	return list;
}

static json_t *clock_steps(const struct reader_period *period)
{
	json_t *list = json_array();

	for (size_t i = 0; i < period->steps; i++)
		json_array_append_new(list, json_pack("{s:o, s:I}", "at",
						      past_time(period->step[i].at_us), "by_ns",
						      (json_int_t)(period->step[i].by_us * 1000)));
	return list;
}

/* Why the end of the period cannot be written; NULL: it can, or it is. */
static json_t *failing(const struct past *past)
{
	struct history_status status;

	history_get_status(past->control->parts.history, &status);
	if (status.writer.phase != WRITER_FAILING ||
	    (status.writer.written_us && past->until_us <= status.writer.written_us))
		return NULL;
	return json_string(status.writer.reason);
}

/* Type Period. */
static json_t *period_to_json(const struct past *past)
{
	const struct reader_period *period = &past->period;

	return json_pack(
		"{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:o, s:I, s:o, s:b, s:o*, s:I, s:o}",
		"since", past_time(period->since_us), "until", past_time(past->until_us),
		"asked_ns", (json_int_t)((past->until_us - period->since_us) * 1000),
		"asked_covered_ns", (json_int_t)(period->asked.covered_us * 1000), "begins",
		past_time(period->begun_us), "from", past_time(period->from_us), "to",
		past_time(period->to_us), "resolution_ns",
		(json_int_t)(period->step_s * (int64_t)TIME_NS_PER_SECOND), "covered_ns",
		(json_int_t)(period->counted.covered_us * 1000), "gaps", gaps(&period->asked),
		"gap_count", json_count(period->asked.gaps), "clock_steps", clock_steps(period),
		"damaged", past->damaged, "failing", failing(past), "weight",
		(json_int_t)(past->weight ? past->weight : 1), "coverage",
		coverage_json(&period->coverage));
}

/* Whether some of the time that was asked for is still to come; the counters are up to a second old. */
static bool is_to_come(const struct past *past)
{
	return past->until_us - past->period.until_us > (int64_t)(TIME_NS_PER_SECOND / 1000);
}

bool past_is_whole(const struct past *past, const struct reader *reader,
		   enum coverage_question question)
{
	const struct reader_period *period = &past->period;

	if (reader_is_damaged(reader))
		return false;
	/* A copy of an incident has no gaps of its own. */
	if (past->without_period)
		return true;
	if (period->asked.gaps || is_to_come(past))
		return false;
	return !coverage_lacks(&period->coverage, question);
}

static json_t *head(void *state)
{
	const struct past *past = state;
	json_t *reply = json_copy(past->head);

	if (past->without_period)
		return reply;
	if (reply && json_object_set_new(reply, "period", period_to_json(past)) == 0)
		return reply;
	json_decref(reply);
	return NULL;
}

static int next_row(void *state, json_t **row)
{
	struct past *past = state;

	if (past->next == json_array_size(past->rows))
		return 0;
	*row = json_incref(json_array_get(past->rows, past->next++));
	return 1;
}

static int fail(struct call *call, const char *error, const char *reason)
{
	return call_error(call, error, json_pack("{s:s}", "reason", reason));
}

/* Nothing of the time that was asked for is covered: an answer without rows would look like one that is exact. */
static int refuse_time(struct call *call, const struct past *past)
{
	const struct reader_period *period = &past->period;
	OWN_JSON json_t *writing = failing(past);
	const char *reason = "the history is empty";

	if (period->after_us && !period->before_us)
		reason = "the history begins later, at `after`";
	else if (period->after_us)
		reason = "netflowd recorded nothing from `before` to `after`";
	else if (writing)
		reason = json_string_value(writing);
	else if (period->before_us)
		reason = "netflowd recorded nothing after `before`";
	return call_error(
		call, "io.netflowd.NotCovered",
		json_pack("{s:s, s:o*, s:o, s:o*, s:o*, s:O*}", "reason", reason, "since",
			  past->since_us == READER_BEGINNING ? NULL : past_time(past->since_us),
			  "until", past_time(past->until_us), "before",
			  period->before_us ? past_time(period->before_us) : NULL, "after",
			  period->after_us ? past_time(period->after_us) : NULL, "failing",
			  writing));
}

/* The history has answered, or could not. */
static int refuse(struct call *call, int error)
{
	switch (error) {
	case -EBUSY:
		return fail(call, "io.netflowd.Failed",
			    "too many questions about the past wait; ask again later");
	case -ETIMEDOUT:
	case -EAGAIN:
		return fail(call, "io.netflowd.Failed",
			    "reading the history took too long; ask for a shorter time");
	case -ENOENT:
		return fail(
			call, "io.netflowd.NoHistory",
			"there is no file yet, or it cannot be opened; see history in GetStatus");
	case -ENODATA:
		return fail(call, "io.netflowd.UnknownIncident",
			    "there is no such incident, or it was deleted");
	case -EPROTONOSUPPORT:
		return fail(call, "io.netflowd.NoHistory",
			    "the file is of another version; see history in GetStatus");
	case -EBADMSG:
		return fail(call, "io.netflowd.NoHistory",
			    "the file is corrupt; netflowd begins a new one as soon as it writes");
	default:
		return fail(call, "io.netflowd.Failed", strerror(-error));
	}
}

/* The result of a question about a time without history; no function of the C library or of the reader fails so. */
#define NOT_COVERED (-EDOM)

struct result {
	struct past *past;
	int error;
};

static int give(struct call *call, json_t *parameters, void *userdata)
{
	static const struct pages_source template = {
		.head = head, .next = next_row, .free = past_free};
	const struct result *result = userdata;
	struct past *past = result->past;
	int r;

	(void)parameters;
	if (result->error < 0) {
		r = result->error == NOT_COVERED ? refuse_time(call, past)
						 : refuse(call, result->error);
		past_free(past);
		return r;
	}
	past->source = template;
	past->source.member = past->kind->member;
	return pages_reply(past->control, call, &past->source, past, SIZE_MAX);
}

/* ---- the question ----------------------------------------------------------------------- */

static int work(struct reader *reader, void *userdata)
{
	struct past *past = userdata;
	int r = reader_period(reader, past->records, &past->period);

	past->rows = json_array();
	past->head = json_pack("{s:o, s:o, s:I}", "time", past_time(past->period.to_us), "since",
			       past_time(past->period.from_us), "elapsed_ns",
			       (json_int_t)((past->period.to_us - past->period.from_us) * 1000));
	if (r == 0 && (!past->rows || !past->head))
		r = -ENOMEM;
	if (r == 0 && !past_text(past, "until"))
		past->until_us = past->period.until_us;
	if (r == 0)
		r = past->kind->work(reader, past);
	past->damaged = reader_is_damaged(reader);
	if (r < 0 || past->without_period || past->period.asked.covered_us)
		return r;
	return past->kind->outlives && json_array_size(past->rows) ? r : NOT_COVERED;
}

static void on_answer(int error, void *userdata)
{
	struct past *past = userdata;
	OWN_JSON json_t *parameters = json_incref(past->parameters);
	struct result result = {past, error};

	call_on_close(past->call, NULL, NULL);
	call_continue(past->call, give, parameters, &result);
}

/* The client is gone. */
static void on_closed(void *userdata)
{
	struct past *past = userdata;

	if (past->question)
		history_forget(&past->question, past_free);
	else
		past_free(past);
}

/* A moment of a parameter in us.  -EINVAL: it is not valid, and the call has ended. */
static int read_time(struct past *past, const char *name, int64_t otherwise, int64_t *us)
{
	const char *text = past_text(past, name);
	int64_t ns;

	*us = otherwise;
	if (!text)
		return 0;
	if (when_parse_rfc3339(text, &ns) < 0) {
		call_invalid_parameter(past->call, name);
		return -EINVAL;
	}
	*us = ns / 1000;
	return 0;
}

static int read_period(struct past *past)
{
	int64_t now_us = (int64_t)(time_realtime() / 1000);
	int r = read_time(past, "since", READER_BEGINNING, &past->since_us);

	if (r == 0)
		r = read_time(past, "until", now_us, &past->until_us);
	if (r < 0)
		return r;
	if (past->since_us >= past->until_us) {
		call_invalid_parameter(past->call, past_text(past, "since") ? "since" : "until");
		return -EINVAL;
	}
	if (past->since_us >= now_us) {
		call_error(past->call, "io.netflowd.NotCovered",
			   json_pack("{s:s, s:o, s:o}", "reason", "this time is still to come",
				     "since", past_time(past->since_us), "until",
				     past_time(past->until_us)));
		return -EINVAL;
	}
	return 0;
}

static int ask(struct past *past)
{
	int64_t now_us = (int64_t)(time_realtime() / 1000);
	int r = read_period(past);

	if (r == 0 && past->kind->prepare)
		r = past->kind->prepare(past);
	if (r < 0)
		return r;
	call_on_close(past->call, on_closed, past);
	r = history_ask(past->control->parts.history, &past->question, past->since_us,
			past->until_us < now_us ? past->until_us : now_us, work, on_answer, past);
	if (r < 0)
		call_on_close(past->call, NULL, NULL);
	return r;
}

int past_reply(struct control *control, struct call *call, json_t *parameters,
	       const struct past_kind *kind)
{
	const char *off = history_off(control->parts.history);
	struct past *past;
	size_t limit;
	int r;

	if (off)
		return fail(call, "io.netflowd.NoHistory", off);
	limit = pages_read_limit(call, parameters, kind->rows_by_default);
	if (!limit)
		return -EINVAL;
	/* One reply has no more, and must have the newest records, not the oldest of many. */
	if (!call_wants_more(call) && limit > PAGES_ROWS_MAX)
		limit = PAGES_ROWS_MAX;
	past = calloc(1, sizeof(*past));
	if (!past)
		return -ENOMEM;
	past->control = control;
	past->call = call;
	past->kind = kind;
	past->records = kind->records;
	past->parameters = json_incref(parameters);
	past->limit = limit;
	r = past_places_find(past, control);
	if (r == 0)
		r = ask(past);
	if (r < 0)
		past_free(past);
	return r == -EBUSY ? refuse(call, r) : r;
}

int past_or_now(struct control *control, struct call *call, json_t *parameters,
		const struct past_method *method)
{
	if (call_check_parameters(call, parameters, method->parameters) < 0)
		return -EINVAL;
	if (past_wanted(parameters))
		return past_reply(control, call, parameters, method->past);
	if (control_no_data(control, call))
		return 0;
	return control_read(control, call, parameters, method->parts, method->answer);
}
