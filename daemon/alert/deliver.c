/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/deliver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/json.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/alert_json.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/exec.h"
#include "daemon/alert/journal.h"

/* The text for the journal and for programs, which the caller frees; NULL if memory runs out. */
static char *to_text(const json_t *event)
{
	return json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

/* ---- a change ------------------------------------------------------------ */

/* A program that cannot be started counts as a program that failed. */
static void note_refused(const struct alert_delivery *delivery, const struct alert_rule *rule,
			 int error)
{
	struct alert_exec_result result = {.time_ns = time_monotonic()};

	snprintf(result.text, sizeof(result.text), "could not be started: %s",
		 error == -EBUSY ? "too many programs of alerts are waiting" : strerror(-error));
	log_warning("alert %s: its program %s", rule->name, result.text);
	alert_engine_note_exec(delivery->engine, rule->name, &result);
}

static void report(const struct alert_delivery *delivery, const struct alert_event *event,
		   const char *text)
{
	const struct alert_rule *rule = event->alert->rule;
	int r = 0;

	if (rule->actions & ALERT_TO_JOURNAL)
		r = alert_journal_send(event, text);
	if (r < 0)
		log_warning("alert %s: cannot write to the journal: %s", rule->name, strerror(-r));
	if (!(rule->actions & ALERT_TO_EXEC))
		return;
	r = alert_exec_run(delivery->exec, rule, text, NULL);
	if (r < 0)
		note_refused(delivery, rule, r);
}

/* A silence stops journal entries and programs, but clients that follow alerts get every event. */
void alert_deliver(const struct alert_delivery *delivery, const struct alert_event *event)
{
	OWN_JSON json_t *json = alert_event_json(event, delivery->records);
	OWN_FREE char *text = json ? to_text(json) : NULL;

	if (!text) {
		log_error("alert %s: out of memory", event->alert->rule->name);
		return;
	}
	delivery->clients.keep(delivery->clients.userdata, event->time_ns, text,
			       event->change == ALERT_FIRED ? event->alert->rule->name : NULL);
	if (event->reported)
		report(delivery, event, text);
	if (event->alert->rule->actions & ALERT_TO_STREAM)
		delivery->clients.stream(delivery->clients.userdata, json);
}

/* ---- a test -------------------------------------------------------------- */

void alert_try_result(json_t *results, const char *action, bool fine, json_t *result)
{
	json_array_append_new(results, json_pack("{s:s, s:b, s:o}", "action", action, "fine", fine,
						 "result", result));
}

static void try_journal(json_t *results, const struct alert_event *event, const char *text)
{
	int r = alert_journal_send(event, text);
	const char *result = r ? "no journal: written to netflowd's standard error" : "written";

	alert_try_result(results, "journal", r >= 0, json_string(r < 0 ? strerror(-r) : result));
}

int alert_try(const struct alert_delivery *delivery, const struct alert *alert, json_t *results,
	      void *data)
{
	const struct alert_event event = {.alert = alert,
					  .change = ALERT_FIRED,
					  .reported = true,
					  .test = true,
					  .time_ns = time_monotonic()};
	const struct alert_clients *clients = &delivery->clients;
	OWN_JSON json_t *json = alert_event_json(&event, delivery->records);
	OWN_FREE char *text = json ? to_text(json) : NULL;
	int r;

	if (!text)
		return -ENOMEM;
	if (alert->rule->actions & ALERT_TO_JOURNAL)
		try_journal(results, &event, text);
	if (alert->rule->actions & ALERT_TO_STREAM)
		alert_try_result(results, "stream", true,
				 json_sprintf("sent to %u clients",
					      clients->stream(clients->userdata, json)));
	if (!(alert->rule->actions & ALERT_TO_EXEC))
		return 0;
	r = alert_exec_run(delivery->exec, alert->rule, text, data);
	if (r < 0)
		alert_try_result(results, "exec", false, json_string(strerror(-r)));
	return r == 0;
}
