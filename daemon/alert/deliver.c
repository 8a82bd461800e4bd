/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is done about an alert: the journal, the streams, the program.  And a test of all that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/json.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/alert_json.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/exec.h"
#include "daemon/alert/journal.h"
#include "daemon/control/internal.h"

struct alert_stream {
	struct alert_stream *next, **link;
	struct call *call;
	uint64_t gap; /* events lost since the last reply */
};

/* A TestAlert that waits for the program to end. */
struct trial {
	struct control *control;
	struct call *call;
	json_t *results;
};

/* ---- streams ------------------------------------------------------------- */

static void stream_free(struct alert_stream *stream)
{
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	free(stream);
}

static void stream_closed(void *userdata)
{
	stream_free(userdata);
}

void alert_streams_stop(struct control *control)
{
	while (control->alert_streams)
		stream_free(control->alert_streams);
}

static void stream_send(struct alert_stream *stream, json_t *event)
{
	json_t *gap = stream->gap ? json_integer((json_int_t)stream->gap) : NULL;
	json_t *reply = json_pack("{s:O, s:o*}", "event", event, "gap", gap);

	if (reply && call_stream(stream->call, reply) == 0)
		stream->gap = 0;
	else
		stream->gap++;
}

/* Returns to how many. */
static unsigned int send_to_streams(struct control *control, json_t *event)
{
	struct alert_stream *next;
	unsigned int count = 0;

	/* A stream whose client turns out to be gone frees itself while it is sent to. */
	for (struct alert_stream *stream = control->alert_streams; stream; stream = next) {
		next = stream->next;
		stream_send(stream, event);
		count++;
	}
	return count;
}

int method_monitor_alerts(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{NULL, 0, 0}};
	struct control *control = userdata;
	struct alert_stream *stream;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return -ENOMEM;
	stream->call = call;
	stream->link = &control->alert_streams;
	stream->next = control->alert_streams;
	if (stream->next)
		stream->next->link = &stream->next;
	control->alert_streams = stream;
	call_on_close(call, stream_closed, stream);
	call_stream(call, json_object());
	return 0;
}

/* ---- actions ------------------------------------------------------------- */

/* What the journal and programs are given; the caller frees it.  NULL: out of memory. */
static char *to_text(const json_t *event)
{
	return json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

/* A program that could not even be asked for counts as one that failed. */
static void note_refused(struct control *control, const struct alert_rule *rule, int error)
{
	struct alert_exec_result result = {.time_ns = time_monotonic()};

	snprintf(result.text, sizeof(result.text), "could not be started: %s",
		 error == -EBUSY ? "too many programs of alerts are waiting" : strerror(-error));
	log_warning("alert %s: its program %s", rule->name, result.text);
	alert_engine_note_exec(control->parts.alerts, rule->name, &result);
}

/* Journal and program. */
static void tell(struct control *control, const struct alert_event *event, const char *text)
{
	const struct alert_rule *rule = event->alert->rule;
	int r = 0;

	if (rule->actions & ALERT_TO_JOURNAL)
		r = alert_journal_send(event, text);
	if (r < 0)
		log_warning("the journal does not take alerts: %s", strerror(-r));
	if (!(rule->actions & ALERT_TO_EXEC))
		return;
	r = alert_exec_run(control->parts.exec, rule, text, NULL);
	if (r < 0)
		note_refused(control, rule, r);
}

void control_alert(struct control *control, const struct alert_event *event)
{
	OWN_JSON json_t *json = alert_event_json(control, event);
	OWN_FREE char *text = json ? to_text(json) : NULL;

	if (!text) {
		log_error("alert %s: out of memory", event->alert->rule->name);
		return;
	}
	if (event->told)
		tell(control, event, text);
	if (event->alert->rule->actions & ALERT_TO_STREAM)
		send_to_streams(control, json);
}

/* ---- TestAlert ----------------------------------------------------------- */

static void trial_free(struct trial *trial)
{
	json_decref(trial->results);
	free(trial);
}

static void trial_closed(void *userdata)
{
	struct trial *trial = userdata;

	alert_exec_forget(trial->control->parts.exec, trial);
	trial_free(trial);
}

static void trial_note(struct trial *trial, const char *action, bool fine, json_t *result)
{
	json_array_append_new(trial->results, json_pack("{s:s, s:b, s:o}", "action", action, "fine",
							fine, "result", result));
}

static void trial_end(struct trial *trial)
{
	struct call *call = trial->call;
	json_t *reply = json_pack("{s:O}", "results", trial->results);

	trial_free(trial);
	if (reply)
		call_reply(call, reply);
	else
		call_error(call, "io.netflowd.Failed", NULL);
}

void control_alert_program(struct control *control, const char *name,
			   const struct alert_exec_result *result, void *data)
{
	struct trial *trial = data;

	(void)control;
	(void)name;
	if (!trial)
		return;
	trial_note(trial, "exec", result->fine, json_string(result->text));
	trial_end(trial);
}

static void try_journal(struct trial *trial, const struct alert_event *event, const char *text)
{
	int r = alert_journal_send(event, text);
	const char *result = r ? "there is no journal: to netflowd's standard error" : "written";

	trial_note(trial, "journal", r >= 0, json_string(r < 0 ? strerror(-r) : result));
}

/* Returns whether the program was started, so that the answer has to wait. */
static bool try_actions(struct trial *trial, const struct alert_event *event, json_t *json,
			const char *text)
{
	struct control *control = trial->control;
	const struct alert_rule *rule = event->alert->rule;
	int r;

	if (rule->actions & ALERT_TO_JOURNAL)
		try_journal(trial, event, text);
	if (rule->actions & ALERT_TO_STREAM)
		trial_note(trial, "stream", true,
			   json_sprintf("sent to %u clients", send_to_streams(control, json)));
	if (!(rule->actions & ALERT_TO_EXEC))
		return false;
	r = alert_exec_run(control->parts.exec, rule, text, trial);
	if (r < 0)
		trial_note(trial, "exec", false, json_string(strerror(-r)));
	return r == 0;
}

int alert_test(struct control *control, struct call *call, const struct alert *alert)
{
	const struct alert_event event = {.alert = alert,
					  .change = ALERT_FIRED,
					  .told = true,
					  .test = true,
					  .time_ns = time_monotonic()};
	OWN_JSON json_t *json = alert_event_json(control, &event);
	OWN_FREE char *text = json ? to_text(json) : NULL;
	struct trial *trial = text ? calloc(1, sizeof(*trial)) : NULL;

	if (!trial)
		return -ENOMEM;
	trial->control = control;
	trial->call = call;
	trial->results = json_array();
	if (try_actions(trial, &event, json, text))
		call_on_close(call, trial_closed, trial);
	else
		trial_end(trial);
	return 0;
}
