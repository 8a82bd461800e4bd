/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The alerts: rules, each with its state, judged by a source at every tick.
 * Knows neither a clock nor what is done about a change: the caller hands it
 * times, and it hands events to a sink.
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

/* How the program of a rule ended, the last time. */
struct alert_exec_result {
	uint64_t time_ns;		/* 0 = it never ran */
	bool fine;			/* it ended with status 0 */
	char text[ALERT_EXEC_TEXT_MAX]; /* "exit status 1", "killed after 10 s" */
};

/* Everything about one alert; lives until the next tick or load. */
struct alert {
	const struct alert_rule *rule;
	struct alert_state state;
	struct alert_reading reading;
	struct alert_reading fired; /* as it was when it fired last */
	struct alert_exec_result exec;
};

/* What an alert that fires or is resolved tells of: as it was when it fired, unless there is more
 * of it by now.  Else NULL. */
const struct alert_reading *alert_told(const struct alert *alert);

/* Likely, and what to do about it.  A line that begins with "$ " is a command. */
const char *alert_cause(const struct alert *alert);
const char *alert_remedy(const struct alert *alert);

struct alert_event {
	const struct alert *alert;
	enum alert_change change;
	bool told; /* actions are to be taken; else it is silenced */
	bool test;
	uint64_t time_ns;
	const char *why; /* resolved for another reason than the value; or NULL */
};

typedef void (*alert_sink)(void *userdata, const struct alert_event *event);

/* `source` is copied.  Without rules until alert_engine_load().  -ENOMEM. */
int alert_engine_new(struct alert_engine **engine, const struct alert_source *source,
		     alert_sink sink, void *userdata);
void alert_engine_free(struct alert_engine **engine);

/*
 * Rule by these from now on; they are taken over, also on failure.  A rule that
 * was there before keeps its state and its silence; one that is broken now runs
 * on as it was.  -ENOMEM.
 */
int alert_engine_load(struct alert_engine *engine, struct alert_rules **rules, uint64_t now);

/* Judge all rules. */
void alert_engine_tick(struct alert_engine *engine, uint64_t now);

size_t alert_engine_count(const struct alert_engine *engine);
/* In the order of the files. */
const struct alert *alert_engine_get(const struct alert_engine *engine, size_t i);
/* NULL when there is none; *nearest is then the nearest name, or NULL. */
const struct alert *alert_engine_find(const struct alert_engine *engine, const char *name,
				      const char **nearest);

/* What is wrong with the files, lives until the next load. */
const struct alert_fault *alert_engine_faults(const struct alert_engine *engine, size_t *count);

/* Until then; 0 ends a silence.  -ENOENT. */
int alert_engine_silence(struct alert_engine *engine, const char *name, uint64_t until_ns);

/* Keep how a program ended; nothing when the rule is no more. */
void alert_engine_note_exec(struct alert_engine *engine, const char *name,
			    const struct alert_exec_result *result);

#endif
