/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of the counters and records, on disk: what `--since` asks for.  Every interval, the loop collects what
 * happened and gives it to the writer's thread.  Questions are answered in threads of their own, joined with what came
 * after the last interval.
 *
 * Without a disk that can be written, tracing goes on, and the history says what it lacks.
 */
#ifndef DAEMON_HISTORY_HISTORY_H
#define DAEMON_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/history/collect.h"
#include "daemon/history/reader.h"
#include "daemon/history/writer.h"

struct baseline_view;
struct history;
struct history_question;

/* Questions that run at once, questions that wait for that, and the time of one. */
#define HISTORY_RUNNING 2
#define HISTORY_WAITING 32
#define HISTORY_SECONDS 10

struct history_settings {
	bool enabled;
	const char *why_not; /* unless enabled: why; NULL: history.enabled is no */
	const char *directory;
	uint64_t bytes, age_ns, interval_ns;
	uint64_t records; /* of each kind in an interval */
};

struct history_parts {
	struct loop *loop;
	struct readings *readings;
	struct series_sources sources;
	/* See collect.h. */
	int (*coverage)(struct coverage *coverage, void *userdata);
	struct collect_unseen (*unseen)(uint64_t from_ns, void *userdata);
	void *userdata;
};

/*
 * Make the directory, which must not be world-writable.  If that fails, the history is off, and history_off() says why.
 * -ENOMEM.  All parts must outlive the history.
 */
int history_new(struct history **history, const struct history_parts *parts,
		const struct history_settings *settings);
/* Start the writer's thread, which has the privileges that the caller has now. */
void history_start(struct history *history);
/* Write the last interval, up to now. */
void history_free(struct history **history);

/* Take size, age, interval and records; the others need a restart. */
void history_apply(struct history *history, const struct history_settings *settings);

/* Why there is no history; NULL: there is one. */
const char *history_off(const struct history *history);

/* Whether the setting history.enabled asked for it. */
bool history_wanted(const struct history *history);

struct history_status {
	struct writer_status writer;
	uint64_t left_out; /* records that intervals did not keep */
	uint64_t questions;
};
/* Of a history that is not off. */
void history_get_status(const struct history *history, struct history_status *status);

/*
 * The marks of causes of drops, see baseline_view.h; NULL: there are none, because the history is off or has just
 * begun.  The caller releases it.
 */
struct baseline_view *history_baseline(const struct history *history);

/* Probes were paused or run again at `time_ns`, see collector_note(). */
void history_note(struct history *history, bool blind, uint64_t time_ns);

/* A change of an alert, JSON text, which the history takes; `rule`: it fired, the rule's name. */
void history_add_alert(struct history *history, uint64_t time_ns, char *text, const char *rule);

/* ---- questions ---------------------------------------------------------------------- */

/* What a question does, in its thread: read, and keep the result in `userdata`. */
typedef int (*history_work)(struct reader *reader, void *userdata);
/* In the loop, with the result of `work` or a negative errno: -EBUSY, -ETIMEDOUT, -ENOENT, -EIO … */
typedef void (*history_answer)(int result, void *userdata);

/*
 * Ask for the time from `since_us` to `until_us`, since 1970.  `userdata` must last until the answer, or until
 * history_forget() returns.  *question is NULL after the answer.  Returns 0; -EBUSY: too many wait; or -ENOMEM.
 */
int history_ask(struct history *history, struct history_question **question, int64_t since_us,
		int64_t until_us, history_work work, history_answer answer, void *userdata);

/*
 * The answer is no longer wanted.  `release` is called with `userdata` as soon as no thread uses it, possibly at once.
 * NULL-safe; sets *question to NULL.
 */
void history_forget(struct history_question **question, void (*release)(void *userdata));

#endif
