/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/time.h"
#include "daemon/history/archive.h"
#include "daemon/history/batch.h"
#include "daemon/history/reader_internal.h"

/* Virtual instructions of SQLite between two looks at the clock. */
#define LOOK_EVERY 20000

/* ---- the file ------------------------------------------------------------------- */

static int on_progress(void *userdata)
{
	const struct reader *reader = userdata;

	return time_monotonic() >= reader->request.deadline_ns ||
	       (reader->request.cancel && atomic_load(reader->request.cancel));
}

int reader_failure(struct reader *reader)
{
	return database_failure(reader->db, NULL, 0);
}

/* From here on, the connection sees the file as it is now. */
static int begin(struct reader *reader)
{
	int64_t batch;

	if (database_run(reader->db, "BEGIN") != SQLITE_OK)
		return reader_failure(reader);
	if (database_number(reader->db, "PRAGMA application_id", 0) != DATABASE_APPLICATION ||
	    database_number(reader->db, "PRAGMA user_version", 0) != DATABASE_VERSION)
		return -EPROTONOSUPPORT;
	batch = database_number(reader->db, "SELECT value FROM meta WHERE name = 'batch'", 0);
	return reader->request.live && (uint64_t)batch > reader->request.batch &&
			       reader->request.batch
		       ? -EAGAIN
		       : 0;
}

static int64_t seconds_up(int64_t us)
{
	return us / US + (us % US > 0);
}

/* ---- the plan --------------------------------------------------------------------- */

/* A time, in buckets: seconds. */
struct range {
	int64_t from, to;
};

/* Add buckets that cannot be divided, if a part of them is wanted. */
static void widen(struct range *range, int64_t from, int64_t to)
{
	if (from >= range->to || to <= range->from)
		return;
	range->from = earlier(range->from, from);
	range->to = later(range->to, to);
}

/*
 * An interval of a daemon that was stopped is as long as that: all its numbers are in one bucket, so an answer has all
 * of it or nothing.
 */
static int widen_by_file(struct reader *reader, struct range *range)
{
	OWN_STATEMENT sqlite3_stmt *spans = NULL;
	int result = sqlite3_prepare_v2(
		reader->db,
		"SELECT begun / 1000000, ended / 1000000 FROM span"
		" WHERE kind = 2 AND ended > ?1 * 1000000 AND begun < ?2 * 1000000",
		-1, &spans, NULL);

	if (result != SQLITE_OK)
		return reader_failure(reader);
	sqlite3_bind_int64(spans, 1, range->from);
	sqlite3_bind_int64(spans, 2, range->to);
	while ((result = sqlite3_step(spans)) == SQLITE_ROW)
		widen(range, sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1));
	return result == SQLITE_DONE ? 0 : reader_failure(reader);
}

/* Such intervals can follow each other; those after the first few are divided. */
#define WIDENED 64

/* The plan, with ends that divide no interval. */
static int plan_whole(struct reader *reader, const struct plan_levels *levels, struct range wanted)
{
	const struct batch *live = reader->live;
	struct range range = wanted, whole;
	int r = 0;

	for (int i = 0; i < WIDENED && r == 0; i++) {
		plan_make(&reader->plan, levels, range.from, range.to);
		whole = (struct range){earlier(range.from, reader->plan.from),
				       later(range.to, reader->plan.to)};
		if (live && batch_buckets(live).first != batch_buckets(live).last)
			widen(&whole, batch_buckets(live).first,
			      batch_buckets(live).last + plan_step[0]);
		r = widen_by_file(reader, &whole);
		if (whole.from == range.from && whole.to == range.to)
			break;
		range = whole;
	}
	/* How far the ends are from what was asked for. */
	reader->plan.step = later(reader->plan.step, plan_step[0] + later(wanted.from - range.from,
									  range.to - wanted.to));
	return r;
}

static int make_plan(struct reader *reader)
{
	const struct batch *live = reader->request.live;
	/* The end of the bucket that the end is in. */
	struct range wanted = {
		plan_floor(reader->request.since_us / US, 0),
		plan_floor(seconds_up(reader->request.until_us) + plan_step[0] - 1, 0)};
	struct plan_levels levels;

	if (database_levels(reader->db, &levels) != SQLITE_OK)
		return reader_failure(reader);
	if (live && batch_buckets(live).first < wanted.to)
		reader->live = live;
	return plan_whole(reader, &levels, wanted);
}

/* ---- both -------------------------------------------------------------------------- */

int reader_open(struct reader **reader, const struct reader_request *request)
{
	OWN_READER struct reader *fresh = calloc(1, sizeof(*fresh));
	char path[ARCHIVE_PATH_MAX];
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->request = *request;
	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, request->directory);
	if (sqlite3_open_v2(path, &fresh->db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			    NULL) != SQLITE_OK)
		return reader_failure(fresh);
	sqlite3_extended_result_codes(fresh->db, 1);
	sqlite3_busy_timeout(fresh->db, 1000);
	sqlite3_db_config(fresh->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_progress_handler(fresh->db, LOOK_EVERY, on_progress, fresh);
	r = begin(fresh);
	if (r == 0)
		r = make_plan(fresh);
	if (r < 0)
		return r;
	*reader = TAKE_PTR(fresh);
	return 0;
}

void reader_free(struct reader **reader)
{
	if (!*reader)
		return;
	database_close(&(*reader)->db);
	free(*reader);
	*reader = NULL;
}
