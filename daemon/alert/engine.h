/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The alerts: rules, each with its state, evaluated from the counters of a source at every tick.  The
 * engine knows neither a clock nor actions: the caller passes the time, and a sink receives the events.
 */
#ifndef DAEMON_ALERT_ENGINE_H
#define DAEMON_ALERT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/alert/measure.h"
#include "daemon/alert/rule.h"
#include "daemon/alert/rules.h"
#include "daemon/alert/source.h"
#include "daemon/alert/state.h"

struct alert_engine;

#define ALERT_EXEC_TEXT_MAX 160

/* How the last run of a rule's program ended. */
struct alert_exec_result {
	uint64_t time_ns;		/* of its end; 0: it never ran */
	bool fine;			/* it exited with status 0 */
	char text[ALERT_EXEC_TEXT_MAX]; /* "exit status 1", "killed at its limit of 10.0 s" */
};

/* One alert; valid until the next tick or load. */
struct alert {
	const struct alert_rule *rule;
	struct alert_state state;
	struct alert_reading reading;
	struct alert_reading fired; /* the reading with which it last fired */
	struct alert_exec_result exec;
};

/*
 * The reading to show for an alert that is firing or resolved: the one with which it fired, or the newest
 * one if the alert still fires and its count has grown.  NULL in the other states.
 */
const struct alert_reading *alert_reported(const struct alert *alert);

/* Likely cause, and remedy.  A line that begins with "$ " is a command. */
const char *alert_cause(const struct alert *alert);
const char *alert_remedy(const struct alert *alert);

struct alert_event {
	const struct alert *alert;
	enum alert_change change;
	bool reported; /* take actions; false: a silence keeps it unreported */
	bool test;
	uint64_t time_ns;
	const char *why; /* why it was resolved, if not by its value; or NULL */
};

typedef void (*alert_sink)(void *userdata, const struct alert_event *event);

/* `source` is copied.  There are no rules until alert_engine_load().  -ENOMEM. */
int alert_engine_new(struct alert_engine **engine, const struct alert_source *source,
		     alert_sink sink, void *userdata);
void alert_engine_free(struct alert_engine **engine);

/*
 * Replace all rules by `rules`, which have no faults and are the engine's from here on, also on failure.  A rule that
 * existed before keeps its state and its silence.  -ENOMEM: there are no rules.
 */
int alert_engine_load(struct alert_engine *engine, struct alert_rules **rules, uint64_t now);

/* The counters that alert_engine_tick() reads at `now`: bits 1 << enum alert_input. */
unsigned int alert_engine_inputs(const struct alert_engine *engine, uint64_t now);

/* Evaluate all enabled rules. */
void alert_engine_tick(struct alert_engine *engine, uint64_t now);

size_t alert_engine_count(const struct alert_engine *engine);
/* In the order of the files. */
const struct alert *alert_engine_get(const struct alert_engine *engine, size_t i);
/* NULL if there is none; *nearest is then the nearest name, or NULL. */
const struct alert *alert_engine_find(const struct alert_engine *engine, const char *name,
				      const char **nearest);

/* Silence an alert until `until_ns`; 0 ends its silence.  -ENOENT: there is no alert of that name. */
int alert_engine_silence(struct alert_engine *engine, const char *name, uint64_t until_ns);

/* Keep how a program ended.  Does nothing if its rule no longer exists. */
void alert_engine_note_exec(struct alert_engine *engine, const char *name,
			    const struct alert_exec_result *result);

#endif
