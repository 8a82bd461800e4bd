/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alerts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/alertmanager.h"
#include "daemon/alert/counters.h"
#include "daemon/alert/deliver.h"
#include "daemon/alert/engine.h"
#include "daemon/alert/exec.h"
#include "daemon/alert/rules.h"
#include "daemon/probe/backend.h"
#include "daemon/process/loop.h"
#include "daemon/store/readings.h"

struct alerts {
	struct alerts_parts parts;
	struct alert_input_state *input;
	struct alert_engine *engine;
	struct alert_exec *exec;
	struct alertmanager *alertmanager;
	struct loop_source *timer;
	struct readings_request *request; /* of the evaluation that waits; NULL: none */
	uint64_t counted; /* drops that were counted when their last reading was asked for */
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
	alertmanager_event(alerts->alertmanager, event);
}

static void take_exec(void *userdata, const char *name, const struct alert_exec_result *result,
		      void *data)
{
	struct alerts *alerts = userdata;

	alert_engine_note_exec(alerts->engine, name, result);
	if (data)
		alerts->clients.tested(alerts->clients.userdata, data, "exec", result);
}

static void take_post(void *userdata, void *data, const struct alert_exec_result *result)
{
	const struct alerts *alerts = userdata;
	struct alert_exec_result said = *result;

	if (said.fine)
		snprintf(said.text, sizeof(said.text), "accepted, with the label test=\"true\"");
	alerts->clients.tested(alerts->clients.userdata, data, "alertmanager", &said);
}

int alerts_test(struct alerts *alerts, const struct alert *alert, json_t *results, void *data)
{
	const struct alert_delivery to = delivery(alerts);
	int programs = alert_try(&to, alert, results, data);
	int posts;

	if (programs < 0)
		return programs;
	posts = alertmanager_test(alerts->alertmanager, alert, data);
	if (posts < 0)
		alert_try_result(results, "alertmanager", false, json_string(strerror(-posts)));
	return programs + (posts > 0);
}

void alerts_forget_test(struct alerts *alerts, const void *data)
{
	alert_exec_forget(alerts->exec, data);
	alertmanager_forget(alerts->alertmanager, data);
}

/* ---- readings ------------------------------------------------------------ */

/* A walk of the in-flight table costs more than the other counters together, so one in this time is enough. */
#define WALK_NS (10 * TIME_NS_PER_SECOND)

static uint64_t drops_counted(const struct reading *counters)
{
	return reading_counters(counters)->events[NF_PROBE_KFREE_SKB][NF_EVENT_COUNTED];
}

/* Whether drops were counted since their last reading; before the first reading of COUNTERS it is not known. */
static bool drops_moved(const struct alerts *alerts)
{
	const struct readings *readings = alerts->parts.readings;
	const struct reading *counters = readings_latest(readings, READING_COUNTERS);

	return !counters || !readings_latest(readings, READING_DROPS) ||
	       drops_counted(counters) != alerts->counted;
}

static bool walk_is_due(const struct alerts *alerts, uint64_t now)
{
	const struct reading *ledger = readings_latest(alerts->parts.readings, READING_LEDGER);

	return !ledger || now - reading_time(ledger) >= WALK_NS;
}

/* The parts that the rules need now, apart from drops. */
static unsigned int parts_of(const struct alerts *alerts, unsigned int inputs, uint64_t now)
{
	unsigned int parts = READING_BIT(COUNTERS);

	if (inputs & 1U << ALERT_INPUT_LATENCY)
		parts |= READING_BIT(DEVICES);
	if (inputs & 1U << ALERT_INPUT_SLOTS)
		parts |= READING_BIT(SLOTS);
	if (inputs & 1U << ALERT_INPUT_LEDGER && walk_is_due(alerts, now))
		parts |= READING_BIT(LEDGER);
	return parts;
}

static void evaluate(struct alerts *alerts)
{
	alert_engine_tick(alerts->engine, time_monotonic());
}

/* Rules are evaluated also without a reading: some need none, and the others report why they cannot be. */
static void report_failure(int result)
{
	if (result < 0)
		log_warning("cannot read the counters for the alert rules: %s", strerror(-result));
}

static void on_drops(int result, void *userdata)
{
	struct alerts *alerts = userdata;

	alerts->request = NULL;
	report_failure(result);
	evaluate(alerts);
}

/* Drops are read only if one was counted since the last time: they are many keys. */
static void on_counters(int result, void *userdata)
{
	struct alerts *alerts = userdata;
	unsigned int inputs = alert_engine_inputs(alerts->engine, time_monotonic());

	alerts->request = NULL;
	report_failure(result);
	if (result == 0 && inputs & 1U << ALERT_INPUT_DROPS && drops_moved(alerts)) {
		/* Counted before the drops are read: a drop in between makes the next reading due. */
		alerts->counted =
			drops_counted(readings_latest(alerts->parts.readings, READING_COUNTERS));
		if (readings_get(alerts->parts.readings, &alerts->request, READING_BIT(DROPS), 0,
				 on_drops, alerts) == 0)
			return;
	}
	evaluate(alerts);
}

static int on_timer(void *userdata)
{
	struct alerts *alerts = userdata;
	uint64_t now = time_monotonic();

	/* The last evaluation still waits for its reading. */
	if (alerts->request)
		return 0;
	return readings_get(alerts->parts.readings, &alerts->request,
			    parts_of(alerts, alert_engine_inputs(alerts->engine, now), now),
			    alerts->parts.interval_ns / 2, on_counters, alerts);
}

/* ---- rules --------------------------------------------------------------- */

/* A kernel that gives drops no reasons has no names of reasons either. */
int alerts_read_rules(const struct alerts *alerts, struct alert_rules **rules)
{
	const struct backend *backend = alerts->parts.backend;
	bool reasons = !backend_is_none(backend) && backend_has_reasons(backend);

	return alert_rules_read(rules, alerts->parts.directory,
				reasons ? alerts->parts.names : NULL);
}

static int load(struct alerts *alerts, struct alert_rules **rules)
{
	int r = alert_engine_load(alerts->engine, rules, time_monotonic());

	/* New rules may need counters that were not read so far. */
	if (r == 0)
		r = on_timer(alerts);
	if (r < 0)
		log_error("cannot use the alert rules: %s", strerror(-r));
	return r;
}

int alerts_reload(struct alerts *alerts, uint64_t interval_ns, struct alert_rules **rules)
{
	int r;

	if (interval_ns != alerts->parts.interval_ns) {
		loop_source_free(&alerts->timer);
		alerts->parts.interval_ns = interval_ns;
		r = loop_add_timer(alerts->parts.loop, &alerts->timer, interval_ns, interval_ns,
				   on_timer, alerts);
		if (r < 0)
			return r;
	}
	r = load(alerts, rules);
	if (r == 0)
		log_info("alert rules reloaded: %zu", alert_engine_count(alerts->engine));
	return r;
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
	if (r == 0)
		r = alertmanager_new(&fresh->alertmanager, parts->loop, parts->helper,
				     fresh->engine, take_post, fresh);
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
	loop_source_free(&old->timer);
	readings_forget(&old->request);
	alertmanager_free(&old->alertmanager);
	alert_exec_free(&old->exec);
	alert_engine_free(&old->engine);
	alert_source_free(&old->input);
	free(old);
	*alerts = NULL;
}

int alerts_set_alertmanager(struct alerts *alerts, const struct alertmanager_settings *settings)
{
	int r = alertmanager_set(alerts->alertmanager, settings);

	if (r < 0)
		log_error("cannot post alerts to alertmanager.url = %s: %s", settings->url,
			  strerror(-r));
	return r;
}

struct alertmanager_stats alerts_alertmanager_stats(const struct alerts *alerts)
{
	return alertmanager_stats(alerts->alertmanager);
}

struct alert_engine *alerts_engine(const struct alerts *alerts)
{
	return alerts->engine;
}

int alerts_start(struct alerts *alerts, const struct alert_clients *clients,
		 struct alert_rules **rules)
{
	const struct alerts_parts *parts = &alerts->parts;
	int r;

	alerts->clients = *clients;
	/* The tables are still small. */
	r = readings_take(parts->readings, READING_BIT(COUNTERS) | READING_BIT(LEDGER) |
						   READING_BIT(DROPS) | READING_BIT(DEVICES) |
						   READING_BIT(SLOTS));
	if (r < 0) {
		log_error("cannot read the counters: %s", strerror(-r));
		return r;
	}
	r = load(alerts, rules);
	if (r < 0)
		return r;
	r = loop_add_timer(parts->loop, &alerts->timer, parts->interval_ns, parts->interval_ns,
			   on_timer, alerts);
	if (r < 0)
		log_error("cannot start evaluating alert rules: %s", strerror(-r));
	return r;
}
