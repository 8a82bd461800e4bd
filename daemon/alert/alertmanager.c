/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/alertmanager.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/json.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/alert/alertmanager_json.h"
#include "daemon/alert/exec.h"
#include "daemon/process/loop.h"

/* Changes of one evaluation go into one request. */
#define GATHER_NS (TIME_NS_PER_SECOND / 10)
#define FIRST_RETRY_NS TIME_NS_PER_SECOND
/* For the start of the program, beyond its own limit. */
#define START_NS (2 * TIME_NS_PER_SECOND)

#define PROGRAM "netflowd-post"
/* An alert that is posted while it fires, or until its end was accepted. */
struct entry {
	char name[ALERT_NAME_MAX + 1];
	json_t *alert;	   /* without its end; owned */
	uint64_t ended_ns; /* 0: it fires */
	bool changed;	   /* since the last accepted request */
	bool sent;	   /* part of the request under way */
};

struct alertmanager {
	struct loop *loop;
	const struct alert_engine *engine;
	struct alertmanager_settings settings;
	struct alert_exec *exec;
	struct alert_rule rule, test_rule; /* what exec.h runs; a test waits for no other request */
	alertmanager_tested *tested;
	void *userdata;
	char program[PATH_MAX];
	struct loop_source *timer;
	struct entry *entry; /* the oldest first */
	size_t count, room;
	bool running; /* a request is under way */
	bool again;   /* something changed since it began */
	bool failed;  /* the last one, so that only the first of a row is logged */
	uint64_t retry_ns;
	struct alertmanager_stats stats;
};

/* ---- entries ------------------------------------------------------------------ */

static void remove_entry(struct alertmanager *a, size_t i)
{
	json_decref(a->entry[i].alert);
	memmove(&a->entry[i], &a->entry[i + 1], (--a->count - i) * sizeof(*a->entry));
}

static struct entry *firing(struct alertmanager *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++)
		if (!a->entry[i].ended_ns && !strcmp(a->entry[i].name, name))
			return &a->entry[i];
	return NULL;
}

static void limit_resolved(struct alertmanager *a)
{
	size_t resolved = 0;

	for (size_t i = 0; i < a->count; i++)
		resolved += a->entry[i].ended_ns != 0;
	for (size_t i = 0; i < a->count && resolved > ALERTMANAGER_RESOLVED_MAX;) {
		if (!a->entry[i].ended_ns) {
			i++;
			continue;
		}
		remove_entry(a, i);
		resolved--;
	}
}

static int note(struct alertmanager *a, const struct alert *alert, uint64_t ended_ns)
{
	struct entry *entry = firing(a, alert->rule->name);
	json_t *json;

	/* The end of one that was never posted. */
	if (!entry && ended_ns)
		return 0;
	json = alertmanager_alert(alert, ended_ns);
	if (!json)
		return -ENOMEM;
	if (!entry) {
		if (ARRAY_GROW(a->entry, a->count, a->room) < 0) {
			json_decref(json);
			return -ENOMEM;
		}
		entry = &a->entry[a->count++];
		*entry = (struct entry){0};
		strcpy(entry->name, alert->rule->name);
	}
	json_decref(entry->alert);
	entry->alert = json;
	entry->ended_ns = ended_ns;
	entry->changed = true;
	entry->sent = false;
	limit_resolved(a);
	return 0;
}

/* ---- requests ------------------------------------------------------------------ */

static int schedule(struct alertmanager *a, uint64_t delay_ns)
{
	return loop_timer_restart(a->timer, delay_ns);
}

/* The newest reading of an alert that fires; if its rule is gone by now, the last one. */
static void refresh(struct alertmanager *a, struct entry *entry)
{
	const struct alert *alert;
	const char *nearest;
	json_t *json;

	alert = entry->ended_ns ? NULL : alert_engine_find(a->engine, entry->name, &nearest);
	if (!alert || alert->state.phase != ALERT_FIRING)
		return;
	json = alertmanager_alert(alert, 0);
	if (!json)
		return;
	json_decref(entry->alert);
	entry->alert = json;
}

static json_t *body(struct alertmanager *a, uint64_t now)
{
	uint64_t until = now + ALERTMANAGER_LIFE * a->settings.repeat_ns;
	json_t *list = json_array();

	for (size_t i = 0; i < a->count; i++) {
		struct entry *entry = &a->entry[i];

		refresh(a, entry);
		entry->sent = true;
		alertmanager_set_end(entry->alert, entry->ended_ns ? entry->ended_ns : until);
		json_array_append(list, entry->alert);
	}
	return list;
}

/* Start the program with these alerts; `list` is stolen. */
static int send_alerts(struct alertmanager *a, struct alert_rule *rule, json_t *list, void *data)
{
	OWN_JSON json_t *request =
		json_pack("{s:s, s:I, s:o}", "url", a->settings.url, "timeout_ms",
			  (json_int_t)(a->settings.timeout_ns / 1000000), "body", list);
	OWN_FREE char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;

	if (!text)
		return -ENOMEM;
	rule->exec_limit_ns = a->settings.timeout_ns + START_NS;
	return alert_exec_run(a->exec, rule, text, data);
}

static int post(struct alertmanager *a)
{
	int r = send_alerts(a, &a->rule, body(a, time_monotonic()), NULL);

	a->running = r == 0;
	a->again = false;
	return r;
}

static void retry(struct alertmanager *a, const char *why)
{
	a->stats.failures++;
	if (!a->failed)
		log_warning("cannot post alerts to alertmanager.url = %s: %s; trying again",
			    a->settings.url, why);
	a->failed = true;
	schedule(a, a->retry_ns);
	a->retry_ns *= 2;
	if (a->retry_ns > a->settings.repeat_ns)
		a->retry_ns = a->settings.repeat_ns;
}

static int on_timer(void *userdata)
{
	struct alertmanager *a = userdata;
	int r;

	if (a->running || !a->count || !a->settings.url[0])
		return 0;
	r = post(a);
	if (r < 0)
		retry(a, strerror(-r));
	return 0;
}

static void accepted(struct alertmanager *a)
{
	a->stats.posts++;
	if (a->failed)
		log_info("alertmanager.url = %s accepts alerts again", a->settings.url);
	a->failed = false;
	a->retry_ns = FIRST_RETRY_NS;
	for (size_t i = 0; i < a->count;) {
		struct entry *entry = &a->entry[i];

		if (entry->sent)
			entry->changed = false;
		if (entry->sent && entry->ended_ns)
			remove_entry(a, i);
		else
			i++;
	}
	if (a->again)
		schedule(a, GATHER_NS);
	else if (a->count)
		schedule(a, a->settings.repeat_ns);
}

static void on_ended(void *userdata, const char *name, const struct alert_exec_result *result,
		     void *data)
{
	struct alertmanager *a = userdata;

	if (strcmp(name, a->rule.name) != 0) {
		if (data)
			a->tested(a->userdata, data, result);
		return;
	}
	a->running = false;
	/* It was switched off in between. */
	if (!a->settings.url[0])
		return;
	if (result->fine)
		accepted(a);
	else
		retry(a, result->text);
}

/* ---- outside -------------------------------------------------------------------- */

void alertmanager_event(struct alertmanager *a, const struct alert_event *event)
{
	uint64_t ended_ns = event->change == ALERT_ENDED ? event->time_ns : 0;
	int r;

	if (!a->settings.url[0] || event->test || (!event->reported && !ended_ns))
		return;
	r = note(a, event->alert, ended_ns);
	if (r < 0) {
		log_error("alert %s: not posted: out of memory", event->alert->rule->name);
		return;
	}
	a->again = true;
	if (!a->running && !a->failed)
		schedule(a, GATHER_NS);
}

/* The alerts that fire already; a silenced one comes with its next report. */
static void note_firing(struct alertmanager *a)
{
	for (size_t i = 0; i < alert_engine_count(a->engine); i++) {
		const struct alert *alert = alert_engine_get(a->engine, i);

		if (alert->rule->enabled && alert->state.phase == ALERT_FIRING &&
		    alert->state.reported_ns && note(a, alert, 0) < 0)
			log_error("alert %s: not posted: out of memory", alert->rule->name);
	}
}

int alertmanager_set(struct alertmanager *a, const struct alertmanager_settings *settings)
{
	bool moved = strcmp(a->settings.url, settings->url) != 0;

	a->settings = *settings;
	if (!moved)
		return 0;
	while (a->count)
		remove_entry(a, a->count - 1);
	a->failed = false;
	a->retry_ns = FIRST_RETRY_NS;
	if (!a->settings.url[0])
		return 0;
	if (access(a->program, X_OK) < 0)
		log_warning("cannot post alerts to alertmanager.url = %s: %s: %s", settings->url,
			    a->program, strerror(errno));
	note_firing(a);
	a->again = true;
	return schedule(a, GATHER_NS);
}

int alertmanager_test(struct alertmanager *a, const struct alert *alert, void *data)
{
	uint64_t now = time_monotonic();
	json_t *json;
	int r;

	if (!a->settings.url[0])
		return 0;
	json = alertmanager_test_alert(alert, now);
	if (!json)
		return -ENOMEM;
	alertmanager_set_end(json, now + ALERTMANAGER_TEST_NS);
	r = send_alerts(a, &a->test_rule, json_pack("[o]", json), data);
	return r < 0 ? r : 1;
}

void alertmanager_forget(struct alertmanager *a, const void *data)
{
	alert_exec_forget(a->exec, data);
}

struct alertmanager_stats alertmanager_stats(const struct alertmanager *a)
{
	struct alertmanager_stats stats = a->stats;

	for (size_t i = 0; i < a->count; i++)
		stats.pending += a->entry[i].changed;
	return stats;
}

/* Beside netflowd, as in the build directory, or where `make install` puts it. */
static void find_program(struct alertmanager *a)
{
	ssize_t length = readlink("/proc/self/exe", a->program, sizeof(a->program) - 1);
	char *slash;

	a->program[length > 0 ? length : 0] = 0;
	slash = strrchr(a->program, '/');
	if (slash && (size_t)(slash - a->program) + sizeof("/" PROGRAM) <= sizeof(a->program)) {
		strcpy(slash, "/" PROGRAM);
		if (access(a->program, X_OK) == 0)
			return;
	}
	strcpy(a->program, NETFLOWD_LIBEXEC "/" PROGRAM);
}

int alertmanager_new(struct alertmanager **alertmanager, struct loop *loop, struct helper *helper,
		     const struct alert_engine *engine, alertmanager_tested *tested, void *userdata)
{
	struct alertmanager *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->engine = engine;
	fresh->tested = tested;
	fresh->userdata = userdata;
	find_program(fresh);
	strcpy(fresh->rule.name, "alertmanager");
	strcpy(fresh->test_rule.name, "alertmanager-test");
	fresh->rule.exec = fresh->test_rule.exec = fresh->program;
	r = alert_exec_new(&fresh->exec, loop, helper, on_ended, fresh);
	if (r == 0) {
		alert_exec_set_quiet(fresh->exec);
		r = loop_add_timer(loop, &fresh->timer, TIME_NS_PER_SECOND, 0, on_timer, fresh);
	}
	if (r < 0)
		alertmanager_free(&fresh);
	else
		*alertmanager = fresh;
	return r;
}

void alertmanager_free(struct alertmanager **alertmanager)
{
	struct alertmanager *old = *alertmanager;

	if (!old)
		return;
	loop_source_free(&old->timer);
	alert_exec_free(&old->exec);
	while (old->count)
		remove_entry(old, old->count - 1);
	free(old->entry);
	free(old);
	*alertmanager = NULL;
}
