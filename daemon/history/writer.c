/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/thread.h"
#include "common/time.h"
#include "daemon/history/baseline.h"
#include "daemon/history/baseline_view.h"
#include "daemon/history/batch.h"

/* SQLite's own need is below 100 KiB. */
#define STACK_BYTES (512u << 10)

/* Seconds between two views of the baseline. */
#define SHOW_S 60

struct writer {
	char directory[ARCHIVE_PATH_MAX];
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* of what stands below */
	struct batch *first, **last;
	size_t waiting, bytes;
	uint64_t pushed; /* the number of the last batch that found room */
	uint64_t done;	 /* of the last one that was written or not */
	bool stop;
	bool new_limits;
	struct archive_limits limits;
	struct writer_status status;
	struct baseline_view *view; /* NULL: none was made */
	/* Of the thread. */
	struct archive *archive; /* NULL: not open */
	struct baseline *baseline;
	bool loaded;   /* the baseline has what the file had */
	int64_t shown; /* the minute of the batch with which the view was made */
};

static void lock(struct writer *writer)
{
	pthread_mutex_lock(&writer->mutex);
}

static void unlock(struct writer *writer)
{
	pthread_mutex_unlock(&writer->mutex);
}

/* ---- the thread --------------------------------------------------------------------- */

static void set_phase(struct writer *writer, enum writer_phase phase, const char *reason)
{
	lock(writer);
	writer->status.phase = phase;
	snprintf(writer->status.reason, sizeof(writer->status.reason), "%s", reason);
	pthread_cond_broadcast(&writer->changed);
	unlock(writer);
}

/* From now on `status` shows what the file has, before this process wrote anything into it. */
static int open_archive(struct writer *writer)
{
	char aside[ARCHIVE_REASON_MAX], reason[ARCHIVE_REASON_MAX] = "";
	struct archive_state state = {0};
	struct archive_limits limits;
	int r;

	lock(writer);
	limits = writer->limits;
	writer->new_limits = false;
	unlock(writer);
	r = archive_open(&writer->archive, writer->directory, &limits, aside, reason);
	if (r == 0)
		archive_state(writer->archive, &state);
	lock(writer);
	if (aside[0])
		strcpy(writer->status.set_aside, aside);
	if (r == 0)
		writer->status.archive = state;
	unlock(writer);
	if (r < 0)
		set_phase(writer, r == -EPROTONOSUPPORT ? WRITER_STOPPED : WRITER_FAILING, reason);
	return r;
}

static void show_baseline(struct writer *writer)
{
	struct baseline_view *fresh = NULL, *old;

	/* Without memory, the view of the minute before stays. */
	if (baseline_show(writer->baseline, &fresh) < 0)
		return;
	lock(writer);
	old = writer->view;
	writer->view = fresh;
	unlock(writer);
	baseline_view_release(&old);
}

/* Once, from the first file that can be read; all later drops come in batches.  Only the marks depend on it. */
static void load_baseline(struct writer *writer)
{
	if (writer->loaded)
		return;
	writer->loaded = true;
	archive_read_baseline(writer->archive, writer->baseline, (int64_t)(time_realtime() / 1000));
	show_baseline(writer);
}

/* What was recorded while the clock was ahead is elsewhere now, and the baseline had forgotten what was before. */
static void reload_baseline(struct writer *writer)
{
	struct baseline *fresh = NULL;

	if (baseline_new(&fresh) < 0)
		return;
	baseline_free(&writer->baseline);
	writer->baseline = fresh;
	writer->loaded = false;
	load_baseline(writer);
}

/* A view is made once per minute of the batches: it takes milliseconds if there are thousands of causes. */
static void add_to_baseline(struct writer *writer, const struct batch *batch)
{
	int64_t minute = batch->to_us / 1000000 / SHOW_S;

	baseline_add_batch(writer->baseline, batch);
	if (minute != writer->shown)
		show_baseline(writer);
	writer->shown = minute;
}

/* The file as it must be for the next batch. */
static int prepare(struct writer *writer)
{
	if (writer->archive && !archive_is_there(writer->archive))
		archive_free(&writer->archive);
	if (!writer->archive) {
		int r = open_archive(writer);

		if (r == 0)
			load_baseline(writer);
		return r;
	}
	lock(writer);
	if (writer->new_limits)
		archive_set_limits(writer->archive, &writer->limits);
	writer->new_limits = false;
	unlock(writer);
	return 0;
}

static int write_batch(struct writer *writer, const struct batch *batch)
{
	char reason[ARCHIVE_REASON_MAX] = "";
	int r = prepare(writer);

	if (r < 0)
		return r;
	r = archive_write(writer->archive, batch, reason);
	/* The file is corrupt: a new one takes the batch. */
	if (r == -EBADMSG) {
		archive_free(&writer->archive);
		r = prepare(writer);
		if (r == 0)
			r = archive_write(writer->archive, batch, reason);
	}
	if (r < 0 && writer->archive)
		set_phase(writer, WRITER_FAILING, reason);
	return r;
}

static void note(struct writer *writer, const struct batch *batch, int result)
{
	struct archive_state state = {0};

	if (writer->archive)
		archive_state(writer->archive, &state);
	lock(writer);
	writer->done = batch->number;
	if (writer->archive)
		writer->status.archive = state;
	if (result < 0) {
		writer->status.lost++;
		writer->status.lost_records += batch->records;
	} else {
		writer->status.phase = WRITER_WRITING;
		writer->status.reason[0] = 0;
		writer->status.written++;
		writer->status.written_us = batch->to_us;
	}
	pthread_cond_broadcast(&writer->changed);
	unlock(writer);
}

/* The next batch; NULL: there is none, and there will be none. */
static struct batch *next(struct writer *writer)
{
	struct batch *batch;

	lock(writer);
	while (!writer->first && !writer->stop)
		pthread_cond_wait(&writer->changed, &writer->mutex);
	batch = writer->first;
	if (batch) {
		writer->first = batch->next;
		if (!writer->first)
			writer->last = &writer->first;
		writer->waiting--;
		writer->bytes -= batch_memory(batch);
	}
	unlock(writer);
	return batch;
}

static bool is_idle(struct writer *writer)
{
	bool idle;

	lock(writer);
	idle = !writer->first && !writer->stop;
	unlock(writer);
	return idle;
}

/* No question waits for this: questions wait for batches. */
static void tidy(struct writer *writer)
{
	int r = 1;

	while (writer->archive && r == 1 && is_idle(writer))
		r = archive_tidy(writer->archive);
	/* The next batch opens the file again, which finds that it is corrupt. */
	if (r == -EBADMSG)
		archive_free(&writer->archive);
}

static void *run(void *userdata)
{
	struct writer *writer = userdata;
	struct batch *batch;

	/* So that `status` says soon whether it can write. */
	if (open_archive(writer) == 0) {
		set_phase(writer, WRITER_WRITING, "");
		load_baseline(writer);
	}
	while ((batch = next(writer))) {
		note(writer, batch, write_batch(writer, batch));
		if (writer->archive && archive_has_moved(writer->archive))
			reload_baseline(writer);
		else
			add_to_baseline(writer, batch);
		batch_free(&batch);
		tidy(writer);
	}
	archive_free(&writer->archive);
	return NULL;
}

/* ---- for the loop --------------------------------------------------------------------- */

int writer_new(struct writer **writer, const char *directory, const struct archive_limits *limits)
{
	struct writer *fresh = calloc(1, sizeof(*fresh));
	pthread_condattr_t monotonic;
	int r;

	if (!fresh)
		return -ENOMEM;
	snprintf(fresh->directory, sizeof(fresh->directory), "%s", directory);
	fresh->limits = *limits;
	fresh->last = &fresh->first;
	pthread_mutex_init(&fresh->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&fresh->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = baseline_new(&fresh->baseline);
	if (r == 0)
		r = thread_start(&fresh->thread, STACK_BYTES, run, fresh);
	if (r < 0) {
		baseline_free(&fresh->baseline);
		pthread_cond_destroy(&fresh->changed);
		pthread_mutex_destroy(&fresh->mutex);
		free(fresh);
		return r;
	}
	*writer = fresh;
	return 0;
}

void writer_free(struct writer **writer)
{
	struct writer *old = *writer;

	if (!old)
		return;
	lock(old);
	old->stop = true;
	pthread_cond_broadcast(&old->changed);
	unlock(old);
	pthread_join(old->thread, NULL);
	baseline_view_release(&old->view);
	baseline_free(&old->baseline);
	pthread_cond_destroy(&old->changed);
	pthread_mutex_destroy(&old->mutex);
	free(old);
	*writer = NULL;
}

bool writer_push(struct writer *writer, struct batch *batch)
{
	size_t bytes = batch_memory(batch);
	bool room;

	lock(writer);
	room = writer->waiting < WRITER_BATCHES &&
	       (!writer->waiting || writer->bytes + bytes <= WRITER_BYTES);
	if (room) {
		batch->next = NULL;
		*writer->last = batch;
		writer->last = &batch->next;
		writer->waiting++;
		writer->bytes += bytes;
		writer->pushed = batch->number;
		pthread_cond_broadcast(&writer->changed);
	} else {
		writer->status.lost++;
		writer->status.lost_records += batch->records;
	}
	unlock(writer);
	if (!room)
		batch_free(&batch);
	return room;
}

void writer_set_limits(struct writer *writer, const struct archive_limits *limits)
{
	lock(writer);
	writer->limits = *limits;
	writer->new_limits = true;
	unlock(writer);
}

struct baseline_view *writer_baseline(struct writer *writer)
{
	struct baseline_view *view;

	lock(writer);
	view = baseline_view_hold(writer->view);
	unlock(writer);
	return view;
}

void writer_get_status(struct writer *writer, struct writer_status *status)
{
	lock(writer);
	*status = writer->status;
	status->waiting = writer->waiting;
	unlock(writer);
}

int writer_wait(struct writer *writer, uint64_t number, uint64_t deadline_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(deadline_ns / TIME_NS_PER_SECOND),
				       .tv_nsec = (long)(deadline_ns % TIME_NS_PER_SECOND)};
	int r = 0;

	lock(writer);
	/* A batch that found no room is not waited for. */
	while ((writer->status.phase == WRITER_STARTING ||
		(writer->done < number && writer->done < writer->pushed)) &&
	       r == 0)
		r = pthread_cond_timedwait(&writer->changed, &writer->mutex, &until);
	unlock(writer);
	return r == ETIMEDOUT ? -ETIMEDOUT : 0;
}
