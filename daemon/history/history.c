/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/history.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/history/batch.h"
#include "daemon/process/loop.h"
#include "daemon/process/steps.h"
#include "daemon/process/worker.h"

/* An interval can be written between the question and its reader; the question is then asked again. */
#define TRIES 5

struct history_question {
	struct history_question *next, **link;
	struct history *history;
	struct reader_request request;
	struct batch *live;
	struct worker *worker; /* NULL: it waits */
	history_work work;
	history_answer answer;
	void (*release)(void *userdata); /* set: the answer is not wanted */
	void *userdata;
	struct history_question **handle; /* the caller's */
	unsigned int tries;
	atomic_bool cancel;
};

struct history {
	struct history_parts parts;
	char directory[ARCHIVE_PATH_MAX];
	uint64_t interval_ns;
	struct archive_limits limits;
	bool wanted;
	char off[ARCHIVE_REASON_MAX]; /* empty: it is on */
	struct loop_source *timer;
	struct steps *steps; /* NULL: it is off */
	struct collector *collector;
	struct writer *writer;
	uint64_t number;	 /* of the last batch */
	unsigned int collecting; /* intervals that are being collected, or wait for that */
	bool ending;
	enum writer_phase logged; /* the phase that the log knows */
	char logged_aside[ARCHIVE_REASON_MAX];
	struct history_question *questions; /* oldest last */
	unsigned int running, waiting;
	uint64_t asked;
};

/* ---- the log: one line for a change ------------------------------------------------------ */

static void log_changes(struct history *history)
{
	struct writer_status status;

	writer_get_status(history->writer, &status);
	if (strcmp(status.set_aside, history->logged_aside) != 0) {
		log_error("the history was %s: it is now %s, and a new one has begun",
			  strstr(status.set_aside, ARCHIVE_OLD) ? "of an older format" : "corrupt",
			  status.set_aside);
		strcpy(history->logged_aside, status.set_aside);
	}
	if (status.phase == history->logged)
		return;
	if (status.phase == WRITER_FAILING)
		log_error(
			"cannot write the history in %s: %s; tracing goes on, and what cannot be stored is counted as lost",
			history->directory, status.reason);
	else if (status.phase == WRITER_STOPPED)
		log_error("no history: %s", status.reason);
	else if (status.phase == WRITER_WRITING && history->logged == WRITER_FAILING)
		log_info("the history is written again; %llu intervals were lost",
			 (unsigned long long)status.lost);
	if (status.phase != WRITER_STARTING)
		history->logged = status.phase;
}

/* ---- intervals ------------------------------------------------------------------------------ */

/* The next multiple of the interval by the host's clock, so that intervals are those of the buckets. */
static int restart_timer(struct history *history)
{
	uint64_t now = time_realtime(), rest = now % history->interval_ns;

	return loop_timer_restart(history->timer, history->interval_ns - rest);
}

static void push(struct history *history, struct batch *batch)
{
	batch->number = ++history->number;
	writer_push(history->writer, batch);
}

static void on_collected(int result, struct batch *batch, void *userdata)
{
	struct history *history = userdata;

	history->collecting--;
	/* Without memory nothing is lost: the next interval is longer. */
	if (result == 0)
		push(history, batch);
}

static int on_interval(void *userdata)
{
	struct history *history = userdata;

	log_changes(history);
	/* One may wait: a clock that is set ends an interval.  On a slow host the next one is longer. */
	if (history->collecting < 2 &&
	    collector_start(history->collector, true, on_collected, history) == 0)
		history->collecting++;
	return restart_timer(history);
}

static bool has_stepped(void *userdata)
{
	struct history *history = userdata;

	return history->steps && steps_take(history->steps);
}

static int coverage(struct coverage *coverage, void *userdata)
{
	struct history *history = userdata;

	return history->parts.coverage(coverage, history->parts.userdata);
}

static struct collect_unseen unseen(uint64_t from_ns, void *userdata)
{
	struct history *history = userdata;

	return history->parts.unseen(from_ns, history->parts.userdata);
}

/* ---- life -------------------------------------------------------------------------------------- */

static int make_directory(struct history *history)
{
	struct stat info;

	if (mkdir(history->directory, 0750) != 0 && errno != EEXIST) {
		snprintf(history->off, sizeof(history->off),
			 "cannot make %s: %s; set history.directory", history->directory,
			 strerror(errno));
		return -ENOENT;
	}
	if (stat(history->directory, &info) != 0 || !S_ISDIR(info.st_mode)) {
		snprintf(history->off, sizeof(history->off),
			 "%s is not a directory; set history.directory", history->directory);
		return -ENOTDIR;
	}
	/* Anyone could replace the file. */
	if (info.st_mode & S_IWOTH) {
		snprintf(history->off, sizeof(history->off),
			 "%s can be written by everyone; chmod o-w it, or set history.directory",
			 history->directory);
		return -EPERM;
	}
	return 0;
}

static struct archive_limits limits_of(const struct history_settings *settings)
{
	return (struct archive_limits){.bytes = settings->bytes,
				       .age_s = (int64_t)(settings->age_ns / TIME_NS_PER_SECOND)};
}

static int prepare(struct history *history, const struct history_settings *settings)
{
	const struct collector_parts parts = {.loop = history->parts.loop,
					      .readings = history->parts.readings,
					      .sources = history->parts.sources,
					      .records = settings->records,
					      .coverage = coverage,
					      .stepped = has_stepped,
					      .unseen = unseen,
					      .userdata = history};
	int r = collector_new(&history->collector, &parts);

	if (r == 0)
		/* A step ends the interval: what came before must not count for the time after it. */
		r = steps_new(&history->steps, history->parts.loop, on_interval, history);
	if (r == 0)
		r = loop_add_timer(history->parts.loop, &history->timer, history->interval_ns, 0,
				   on_interval, history);
	return r;
}

/* What was begun is not needed. */
static void give_up(struct history *history, int error)
{
	if (!history->off[0])
		snprintf(history->off, sizeof(history->off), "cannot start it: %s",
			 strerror(-error));
	log_error("no history: %s", history->off);
	loop_source_free(&history->timer);
	steps_free(&history->steps);
	writer_free(&history->writer);
	collector_free(&history->collector);
}

void history_start(struct history *history)
{
	int r;

	if (history->off[0])
		return;
	r = writer_new(&history->writer, history->directory, &history->limits);
	if (r == 0)
		r = restart_timer(history);
	if (r < 0)
		give_up(history, r);
}

int history_new(struct history **history, const struct history_parts *parts,
		const struct history_settings *settings)
{
	struct history *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	fresh->interval_ns = settings->interval_ns;
	fresh->limits = limits_of(settings);
	/* Larger than those of an earlier run, whose last one the file knows. */
	fresh->number = time_realtime() / 1000;
	snprintf(fresh->directory, sizeof(fresh->directory), "%s", settings->directory);
	fresh->wanted = settings->enabled;
	*history = fresh;
	if (!settings->enabled) {
		snprintf(fresh->off, sizeof(fresh->off), "%s",
			 settings->why_not
				 ? settings->why_not
				 : "history.enabled is no; set it to yes, and restart netflowd");
		return 0;
	}
	r = make_directory(fresh);
	if (r == 0)
		r = prepare(fresh, settings);
	if (r < 0)
		give_up(fresh, r);
	return 0;
}

static void question_free(struct history_question *question);

void history_free(struct history **history)
{
	struct history *old = *history;
	struct batch *batch;

	if (!old)
		return;
	old->ending = true;
	while (old->questions)
		question_free(old->questions);
	loop_source_free(&old->timer);
	if (old->writer) {
		batch = collector_finish(old->collector);
		if (batch)
			push(old, batch);
	}
	writer_free(&old->writer);
	collector_free(&old->collector);
	steps_free(&old->steps);
	free(old);
	*history = NULL;
}

void history_apply(struct history *history, const struct history_settings *settings)
{
	if (history->off[0])
		return;
	history->limits = limits_of(settings);
	history->interval_ns = settings->interval_ns;
	collector_set_records(history->collector, settings->records);
	writer_set_limits(history->writer, &history->limits);
	restart_timer(history);
}

const char *history_off(const struct history *history)
{
	return history->off[0] ? history->off : NULL;
}

bool history_wanted(const struct history *history)
{
	return history->wanted;
}

void history_get_status(const struct history *history, struct history_status *status)
{
	writer_get_status(history->writer, &status->writer);
	status->left_out = collector_left_out(history->collector);
	status->questions = history->asked;
}

struct baseline_view *history_baseline(const struct history *history)
{
	return history->writer ? writer_baseline(history->writer) : NULL;
}

void history_note(struct history *history, bool blind, uint64_t time_ns)
{
	if (!history->off[0])
		collector_note(history->collector, blind, time_ns);
}

void history_add_alert(struct history *history, uint64_t time_ns, char *text, const char *rule)
{
	char *copy = rule ? strdup(rule) : NULL;

	if (history->off[0] || (rule && !copy)) {
		free(text);
		free(copy);
		return;
	}
	collector_add_alert(history->collector, (int64_t)(time_realtime_of(time_ns) / 1000), text,
			    copy);
}

/* ---- questions ------------------------------------------------------------------------------------ */

static int run_next(struct history *history);

static void unlink_question(struct history_question *question)
{
	*question->link = question->next;
	if (question->next)
		question->next->link = question->link;
	if (question->worker)
		question->history->running--;
	else
		question->history->waiting--;
}

/* Waits for its thread; the answer is not given. */
static void question_free(struct history_question *question)
{
	struct history *history = question->history;

	/* Its thread sees this soon. */
	atomic_store(&question->cancel, true);
	unlink_question(question);
	worker_free(&question->worker);
	if (history->collector)
		collector_forget(history->collector, question);
	batch_free(&question->live);
	if (question->release)
		question->release(question->userdata);
	else if (question->handle)
		*question->handle = NULL;
	free(question);
}

static void answer(struct history_question *question, int result)
{
	struct history *history = question->history;
	history_answer give = question->release ? NULL : question->answer;
	void *userdata = question->userdata;

	if (!question->release)
		*question->handle = NULL;
	question->handle = NULL;
	question_free(question);
	if (give)
		give(result, userdata);
	if (!history->ending)
		run_next(history);
}

/* In the thread. */
static int do_work(void *userdata)
{
	struct history_question *question = userdata;
	OWN_READER struct reader *reader = NULL;
	int r = writer_wait(question->history->writer, question->request.batch,
			    question->request.deadline_ns);

	if (r == 0)
		r = reader_open(&reader, &question->request);
	return r < 0 ? r : question->work(reader, question->userdata);
}

static void collect_live(struct history_question *question);

static void on_worked(int result, void *userdata)
{
	struct history_question *question = userdata;

	if (result == -EAGAIN && !question->release && question->tries < TRIES) {
		worker_free(&question->worker);
		question->history->running--;
		question->history->waiting++;
		batch_free(&question->live);
		collect_live(question);
		return;
	}
	answer(question, result);
}

static int start_work(struct history_question *question)
{
	struct history *history = question->history;
	int r;

	question->request.live = question->live;
	r = worker_new(&question->worker, history->parts.loop, do_work, on_worked, question);
	if (r < 0)
		return r;
	history->running++;
	history->waiting--;
	return 0;
}

/* The live part is there; the thread starts when one is free.  NULL: there is none to wait for. */
static void on_live(int result, struct batch *batch, void *userdata)
{
	struct history_question *question = userdata;

	if (result < 0) {
		answer(question, result);
		return;
	}
	question->live = batch;
	/* The intervals that were collected before this one are with the writer by now. */
	question->request.batch = question->history->number;
	result = start_work(question);
	if (result < 0)
		answer(question, result);
}

/* What came after the last interval, if the question asks for that. */
static void collect_live(struct history_question *question)
{
	struct history *history = question->history;
	int64_t now_us = (int64_t)(time_realtime() / 1000);
	int64_t recent_us = now_us - (int64_t)(2 * history->interval_ns / 1000);
	int r;

	question->tries++;
	question->request.deadline_ns = time_monotonic() + HISTORY_SECONDS * TIME_NS_PER_SECOND;
	if (question->request.until_us > recent_us)
		r = collector_start(history->collector, false, on_live, question);
	else
		r = start_work(question);
	if (r < 0)
		answer(question, r);
}

/* The oldest question that waits for its turn. */
static int run_next(struct history *history)
{
	struct history_question *oldest = NULL;
	unsigned int busy = 0;

	for (struct history_question *question = history->questions; question;
	     question = question->next) {
		if (question->tries)
			busy++;
		else
			oldest = question;
	}
	if (oldest && busy < HISTORY_RUNNING)
		collect_live(oldest);
	return 0;
}

int history_ask(struct history *history, struct history_question **question, int64_t since_us,
		int64_t until_us, history_work work, history_answer give, void *userdata)
{
	struct history_question *fresh;

	if (history->waiting >= HISTORY_WAITING)
		return -EBUSY;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	*fresh = (struct history_question){.next = history->questions,
					   .link = &history->questions,
					   .history = history,
					   .request = {.directory = history->directory,
						       .since_us = since_us,
						       .until_us = until_us},
					   .work = work,
					   .answer = give,
					   .userdata = userdata,
					   .handle = question};
	if (fresh->next)
		fresh->next->link = &fresh->next;
	fresh->request.cancel = &fresh->cancel;
	history->questions = fresh;
	history->waiting++;
	history->asked++;
	*question = fresh;
	run_next(history);
	return 0;
}

void history_forget(struct history_question **question, void (*release)(void *userdata))
{
	struct history_question *old = *question;

	if (!old)
		return;
	*question = NULL;
	old->release = release;
	/* Its thread uses the userdata: it is released when that has ended. */
	if (old->worker)
		atomic_store(&old->cancel, true);
	else
		question_free(old);
}
