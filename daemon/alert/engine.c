/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/nearest.h"

struct entry {
	struct alert alert;
	struct alert_rule *rule; /* owned; alert.rule is this one */
	struct alert_measure *measure;
};

/* A set of rules with their states. */
struct entries {
	struct entry *entry;
	size_t count;
};

struct alert_engine {
	struct alert_source source;
	alert_sink sink;
	void *userdata;
	struct entries entries;
};

static void clear_entry(struct entry *entry)
{
	alert_measure_free(&entry->measure);
	alert_rule_free(&entry->rule);
}

static void clear_entries(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		clear_entry(&entries->entry[i]);
	free(entries->entry);
	*entries = (struct entries){0};
}

int alert_engine_new(struct alert_engine **engine, const struct alert_source *source,
		     alert_sink sink, void *userdata)
{
	struct alert_engine *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->source = *source;
	fresh->sink = sink;
	fresh->userdata = userdata;
	*engine = fresh;
	return 0;
}

void alert_engine_free(struct alert_engine **engine)
{
	if (!*engine)
		return;
	clear_entries(&(*engine)->entries);
	free(*engine);
	*engine = NULL;
}

static struct entry *find(const struct entries *entries, const char *name)
{
	for (size_t i = 0; i < entries->count; i++)
		if (entries->entry[i].rule && !strcmp(entries->entry[i].rule->name, name))
			return &entries->entry[i];
	return NULL;
}

/* ---- loading ------------------------------------------------------------- */

/* Make an entry for `rule` with the state of `old`, which may be NULL and loses what is kept. */
static int make_entry(struct entry *entry, struct alert_rule **rule, struct entry *old)
{
	*entry = (struct entry){0};
	if (old && alert_rule_same_condition(*rule, old->rule)) {
		entry->measure = TAKE_PTR(old->measure);
	} else {
		int r = alert_measure_new(&entry->measure, *rule);

		if (r < 0)
			return r;
	}
	if (old)
		entry->alert = old->alert;
	entry->rule = TAKE_PTR(*rule);
	entry->alert.rule = entry->rule;
	return 0;
}

static int make_entries(struct entries *fresh, struct alert_rules *rules, struct entries *old)
{
	fresh->entry = calloc(rules->count + 1, sizeof(*fresh->entry));
	if (!fresh->entry)
		return -ENOMEM;
	for (; fresh->count < rules->count; fresh->count++) {
		struct alert_rule **rule = &rules->rule[fresh->count];
		struct entry *before = find(old, (*rule)->name);
		int r = make_entry(&fresh->entry[fresh->count], rule, before);

		if (r < 0)
			return r;
		if (before)
			alert_rule_free(&before->rule);
	}
	return 0;
}

static void report(struct alert_engine *engine, const struct alert *alert, struct alert_step step,
		   uint64_t now, const char *why)
{
	const struct alert_event event = {.alert = alert,
					  .change = step.change,
					  .reported = step.reported,
					  .time_ns = now,
					  .why = why};

	if (step.change != ALERT_NOTHING)
		engine->sink(engine->userdata, &event);
}

static void end(struct alert_engine *engine, struct alert *alert, uint64_t now, const char *why)
{
	report(engine, alert, alert_state_end(&alert->state, now), now, why);
}

int alert_engine_load(struct alert_engine *engine, struct alert_rules **rules, uint64_t now)
{
	struct entries fresh = {0}, old = engine->entries;
	int r = make_entries(&fresh, *rules, &old);

	alert_rules_free(rules);
	if (r < 0) {
		/* Some old rules were moved already: no rules are better than parts of both sets. */
		clear_entries(&fresh);
		clear_entries(&engine->entries);
		return r;
	}
	engine->entries = fresh;
	for (size_t i = 0; i < old.count; i++)
		if (old.entry[i].rule)
			end(engine, &old.entry[i].alert, now, "its rule was removed");
	clear_entries(&old);
	for (size_t i = 0; i < fresh.count; i++)
		if (!fresh.entry[i].rule->enabled)
			end(engine, &fresh.entry[i].alert, now, "its rule was disabled");
	alert_engine_tick(engine, now);
	return 0;
}

/* ---- evaluating ---------------------------------------------------------- */

/* A window that does not yet reach back far enough, as after a reload, cannot show that it ended. */
static enum alert_evaluation evaluate(const struct alert_rule *rule,
				      const struct alert_reading *reading)
{
	if (!reading->known)
		return ALERT_IS_UNKNOWN;
	if (reading->value > rule->over)
		return ALERT_IS_OVER;
	if (reading->value > rule->clear)
		return ALERT_IS_BETWEEN;
	return reading->whole ? ALERT_IS_CLEAR : ALERT_IS_UNKNOWN;
}

static void tick_entry(struct alert_engine *engine, struct entry *entry, uint64_t now)
{
	struct alert *alert = &entry->alert;
	const struct alert_times times = {entry->rule->for_ns, entry->rule->clear_for_ns,
					  entry->rule->repeat_ns};
	uint64_t fired = alert->state.fired;
	struct alert_step step;

	alert_measure_read(entry->measure, entry->rule, &engine->source, now, &alert->reading);
	step = alert_state_step(&alert->state, &times, evaluate(entry->rule, &alert->reading), now);
	if (alert->state.fired != fired)
		alert->fired = alert->reading;
	report(engine, alert, step, now, NULL);
}

unsigned int alert_engine_inputs(const struct alert_engine *engine, uint64_t now)
{
	unsigned int inputs = 0;

	for (size_t i = 0; i < engine->entries.count; i++) {
		const struct entry *entry = &engine->entries.entry[i];

		if (entry->rule->enabled && alert_measure_due(entry->measure, now))
			inputs |= 1U << alert_measure_input(entry->rule);
	}
	return inputs;
}

void alert_engine_tick(struct alert_engine *engine, uint64_t now)
{
	for (size_t i = 0; i < engine->entries.count; i++)
		if (engine->entries.entry[i].rule->enabled)
			tick_entry(engine, &engine->entries.entry[i], now);
}

/* ---- queries ------------------------------------------------------------- */

const struct alert_reading *alert_reported(const struct alert *alert)
{
	enum alert_phase phase = alert->state.phase;

	if (phase != ALERT_FIRING && phase != ALERT_RESOLVED)
		return NULL;
	if (phase == ALERT_FIRING && alert->reading.count > alert->fired.count)
		return &alert->reading;
	return &alert->fired;
}

static const char *main_reason(const struct alert *alert)
{
	const struct alert_reading *shown = alert_reported(alert);

	return shown ? shown->reason : NULL;
}

const char *alert_cause(const struct alert *alert)
{
	return alert_rule_cause(alert->rule, main_reason(alert));
}

const char *alert_remedy(const struct alert *alert)
{
	return alert_rule_remedy(alert->rule, main_reason(alert));
}

size_t alert_engine_count(const struct alert_engine *engine)
{
	return engine->entries.count;
}

const struct alert *alert_engine_get(const struct alert_engine *engine, size_t i)
{
	return &engine->entries.entry[i].alert;
}

const struct alert *alert_engine_find(const struct alert_engine *engine, const char *name,
				      const char **nearest)
{
	const struct entry *entry = find(&engine->entries, name);
	struct nearest search;

	if (entry)
		return &entry->alert;
	nearest_init(&search, name);
	for (size_t i = 0; i < engine->entries.count; i++)
		nearest_consider(&search, engine->entries.entry[i].rule->name);
	*nearest = search.best;
	return NULL;
}

int alert_engine_silence(struct alert_engine *engine, const char *name, uint64_t until_ns)
{
	struct entry *entry = find(&engine->entries, name);

	if (!entry)
		return -ENOENT;
	entry->alert.state.silenced_ns = until_ns;
	return 0;
}

void alert_engine_note_exec(struct alert_engine *engine, const char *name,
			    const struct alert_exec_result *result)
{
	struct entry *entry = find(&engine->entries, name);

	if (entry)
		entry->alert.exec = *result;
}
