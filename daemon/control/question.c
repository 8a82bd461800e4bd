/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/control/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/period.h"
#include "daemon/history/history.h"

/* A question about the past until its reply is complete. */
struct asked {
	struct past past;
	const struct past_kind *kind;
	struct control *control;
	struct history_question *question;
	struct pages_source source;
	size_t next;
};

static void asked_free(void *state)
{
	struct asked *asked = state;
	struct past *past = &asked->past;

	if (asked->kind->clear && past->state)
		asked->kind->clear(past->state);
	reader_period_clear(&past->period);
	past_places_clear(&past->places);
	json_decref(past->parameters);
	json_decref(past->head);
	json_decref(past->rows);
	free(asked);
}

bool question_is_past(const json_t *parameters)
{
	return json_object_get(parameters, "since") || json_object_get(parameters, "until");
}

/* ---- the reply ------------------------------------------------------------------------ */

static json_t *head(void *state)
{
	const struct past *past = &((const struct asked *)state)->past;
	json_t *reply = json_copy(past->head);

	if (reply && (past->without_period
			      ? json_object_set_new(reply, "damaged", json_boolean(past->damaged))
			      : json_object_set_new(reply, "period", period_json(past))) == 0)
		return reply;
	json_decref(reply);
	return NULL;
}

static int next_row(void *state, json_t **row)
{
	struct asked *asked = state;

	if (asked->next == json_array_size(asked->past.rows))
		return 0;
	*row = json_incref(json_array_get(asked->past.rows, asked->next++));
	return 1;
}

static int fail(struct call *call, const char *error, const char *reason)
{
	return call_error(call, error, json_pack("{s:s}", "reason", reason));
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
	struct asked *asked;
	int error;
};

static int give(struct call *call, json_t *parameters, void *userdata)
{
	static const struct pages_source template = {
		.head = head, .next = next_row, .free = asked_free};
	const struct result *result = userdata;
	struct asked *asked = result->asked;
	int r;

	(void)parameters;
	if (result->error < 0) {
		r = result->error == NOT_COVERED ? period_refuse(call, &asked->past)
						 : refuse(call, result->error);
		asked_free(asked);
		return r;
	}
	asked->source = template;
	asked->source.member = asked->kind->member;
	return pages_reply(asked->control, call, &asked->source, asked, SIZE_MAX);
}

/* ---- the past --------------------------------------------------------------------------- */

static int work(struct reader *reader, void *userdata)
{
	struct asked *asked = userdata;
	struct past *past = &asked->past;
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
		r = asked->kind->work(reader, past);
	past->damaged = reader_is_damaged(reader);
	if (r < 0 || past->without_period || past->period.asked.covered_us)
		return r;
	return asked->kind->outlives && json_array_size(past->rows) ? r : NOT_COVERED;
}

static void on_answer(int error, void *userdata)
{
	struct asked *asked = userdata;
	OWN_JSON json_t *parameters = json_incref(asked->past.parameters);
	struct result result = {asked, error};

	call_on_close(asked->past.call, NULL, NULL);
	call_continue(asked->past.call, give, parameters, &result);
}

/* The client is gone. */
static void on_closed(void *userdata)
{
	struct asked *asked = userdata;

	if (asked->question)
		history_forget(&asked->question, asked_free);
	else
		asked_free(asked);
}

static int ask(struct asked *asked)
{
	int64_t now_us = (int64_t)(time_realtime() / 1000);
	struct past *past = &asked->past;
	int r = past_places_find(past);

	if (r == 0)
		r = period_read(past);
	if (r == 0 && asked->kind->prepare)
		r = asked->kind->prepare(past);
	if (r < 0)
		return r;
	call_on_close(past->call, on_closed, asked);
	r = history_ask(past->sources->history, &asked->question, past->since_us,
			past->until_us < now_us ? past->until_us : now_us, work, on_answer, asked);
	if (r < 0)
		call_on_close(past->call, NULL, NULL);
	return r;
}

int question_ask_past(struct control *control, struct call *call, json_t *parameters,
		      const struct past_kind *kind)
{
	const char *off = history_off(control->sources->history);
	size_t limit = off ? 0 : pages_read_limit(call, parameters, kind->rows_by_default);
	struct asked *asked;
	int r;

	if (off)
		return fail(call, "io.netflowd.NoHistory", off);
	if (!limit)
		return -EINVAL;
	/* One reply has no more, and must have the newest records, not the oldest of many. */
	if (!call_wants_more(call) && limit > PAGES_ROWS_MAX)
		limit = PAGES_ROWS_MAX;
	asked = calloc(1, sizeof(*asked));
	if (!asked)
		return -ENOMEM;
	asked->control = control;
	asked->kind = kind;
	asked->past.sources = control->sources;
	asked->past.call = call;
	asked->past.records = kind->records;
	asked->past.parameters = json_incref(parameters);
	asked->past.limit = limit;
	r = ask(asked);
	if (r < 0)
		asked_free(asked);
	return r == -EBUSY ? refuse(call, r) : r;
}

int question_answer(struct control *control, struct call *call, json_t *parameters,
		    const struct question *question)
{
	if (call_check_parameters(call, parameters, question->parameters) < 0)
		return -EINVAL;
	if (question_is_past(parameters))
		return question_ask_past(control, call, parameters, question->past);
	if (!question->without_backend && control_no_data(control, call))
		return 0;
	return control_read(control, call, parameters, question->parts, question->now);
}
