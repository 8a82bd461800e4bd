/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alerts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/counters.h"
#include "daemon/alert/deliver.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/exec.h"
#include "daemon/probe/backend.h"
#include "daemon/process/loop.h"

#define FAULT_TEXT_MAX 1024

struct alerts {
	struct alerts_parts parts;
	struct alert_input_state *input;
	struct alert_engine *engine;
	struct alert_exec *exec;
	struct loop_source *timer, *sighup;
	struct alert_clients clients;
};

static struct alert_delivery delivery(const struct alerts *alerts)
{
	return (struct alert_delivery){
		.engine = alerts->engine,
		.exec = alerts->exec,
		.records = alerts->parts.records,
		.clients = alerts->clients,
	};
}

static void take_event(void *userdata, const struct alert_event *event)
{
	const struct alerts *alerts = userdata;
	const struct alert_delivery to = delivery(alerts);

	alert_deliver(&to, event);
}

static void take_exec(void *userdata, const char *name, const struct alert_exec_result *result,
		      void *data)
{
	struct alerts *alerts = userdata;

	alert_engine_note_exec(alerts->engine, name, result);
	if (data)
		alerts->clients.tested(alerts->clients.userdata, data, result);
}

int alerts_test(struct alerts *alerts, const struct alert *alert, json_t *results, void *data)
{
	const struct alert_delivery to = delivery(alerts);

	return alert_try(&to, alert, results, data);
}

void alerts_forget_test(struct alerts *alerts, const void *data)
{
	alert_exec_forget(alerts->exec, data);
}

static int on_timer(void *userdata)
{
	struct alerts *alerts = userdata;

	alert_engine_tick(alerts->engine, time_monotonic());
	return 0;
}

/* ---- rules --------------------------------------------------------------- */

static void report_faults(const struct alerts *alerts)
{
	size_t count;
	const struct alert_fault *fault = alert_engine_faults(alerts->engine, &count);
	char text[FAULT_TEXT_MAX];

	for (size_t i = 0; i < count; i++) {
		alert_fault_format(&fault[i], text, sizeof(text));
		log_warning("%s", text);
	}
}

/* A kernel that gives drops no reasons has no names of reasons either. */
static int load(struct alerts *alerts)
{
	const struct backend *backend = alerts->parts.backend;
	bool reasons = !backend_is_none(backend) && !backend->ops->reasons_missing(backend);
	struct alert_rules *rules;
	int r = alert_rules_read(&rules, alerts->parts.directory,
				 reasons ? alerts->parts.names : NULL);

	if (r == 0)
		r = alert_engine_load(alerts->engine, &rules, time_monotonic());
	if (r < 0) {
		log_error("cannot read the alert rules: %s", strerror(-r));
		return r;
	}
	report_faults(alerts);
	return 0;
}

static int on_sighup(int number, void *userdata)
{
	struct alerts *alerts = userdata;

	(void)number;
	/* load() logs a failure, and the daemon keeps the rules that it has. */
	if (load(alerts) == 0)
		log_info("alert rules reloaded: %zu", alert_engine_count(alerts->engine));
	return 0;
}

/* ---- life ---------------------------------------------------------------- */

static void cleanup_alerts(struct alerts **alerts)
{
	alerts_free(alerts);
}

#define OWN_ALERTS CLEANUP(cleanup_alerts)

int alerts_new(struct alerts **alerts, const struct alerts_parts *parts)
{
	OWN_ALERTS struct alerts *fresh = calloc(1, sizeof(*fresh));
	struct alert_source source;
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	r = alert_source_new(&fresh->input, &source, parts);
	if (r == 0)
		r = alert_engine_new(&fresh->engine, &source, take_event, fresh);
	if (r < 0)
		return r;
	r = alert_exec_new(&fresh->exec, parts->loop, parts->helper, take_exec, fresh);
	if (r < 0)
		return r;
	*alerts = TAKE_PTR(fresh);
	return 0;
}

void alerts_free(struct alerts **alerts)
{
	struct alerts *old = *alerts;

	if (!old)
		return;
	loop_source_free(&old->sighup);
	loop_source_free(&old->timer);
	alert_exec_free(&old->exec);
	alert_engine_free(&old->engine);
	alert_source_free(&old->input);
	free(old);
	*alerts = NULL;
}

struct alert_engine *alerts_engine(const struct alerts *alerts)
{
	return alerts->engine;
}

int alerts_start(struct alerts *alerts, const struct alert_clients *clients)
{
	const struct alerts_parts *parts = &alerts->parts;
	int r;

	alerts->clients = *clients;
	r = load(alerts);
	if (r < 0)
		return r;
	r = loop_add_timer(parts->loop, &alerts->timer, parts->interval_ns, parts->interval_ns,
			   on_timer, alerts);
	if (r == 0)
		r = loop_add_signal(parts->loop, &alerts->sighup, SIGHUP, on_sighup, alerts);
	if (r < 0)
		log_error("cannot start evaluating alert rules: %s", strerror(-r));
	return r;
}
