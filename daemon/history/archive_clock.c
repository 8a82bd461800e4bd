/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's clock can be wrong: ahead by days at startup, or for a while.  CLOCK_BOOTTIME says by how much it was set,
 * also while netflowd did not run; and by how much it went on.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "common/when.h"
#include "daemon/history/archive_internal.h"
#include "daemon/history/batch.h"
#include "daemon/history/database.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"

#define US INT64_C(1000000)

/* A smaller step is one of NTP, for which buckets have room. */
#define STEP_US (10 * US)

/* A still smaller one is an error of reading two clocks. */
#define SLACK_US (US / 10)

/* ---- what is too old ----------------------------------------------------------------- */

/*
 * The present of the file, by which things get old: the host's clock, but it goes at most twice as fast as time does.
 * So a clock that is ahead for a while deletes nothing, and a host that was off for a week catches up in a week.
 */
static void follow_present(struct archive *archive, const struct batch *batch)
{
	int64_t up_us = batch->to_us - batch->clock_us, now_us = batch->to_us;
	int64_t passed_us = batch->to_us - batch->from_us;

	if (archive->up_us && archive->boot == batch->boot)
		passed_us = up_us - archive->up_us;
	archive->up_us = up_us;
	if (passed_us > 0 && archive->present_us < now_us)
		archive->present_us = now_us - archive->present_us < 2 * passed_us
					      ? now_us
					      : archive->present_us + 2 * passed_us;
}

/* In a file that has no present: the last that was recorded and is not still to come. */
static int begin_present(struct archive *archive, int64_t now_us)
{
	int64_t last_us;
	int result;

	if (archive->present_us)
		return SQLITE_OK;
	result = archive_number(archive, LAST_ENDED, 1, &now_us, &last_us, now_us);
	archive->present_us = last_us;
	return result;
}

/* ---- a clock that was set back ----------------------------------------------------------- */

/* What the clock said, and says now, of a time that it was ahead. */
struct shift {
	int64_t now_us, end_us; /* the time now, and what it was called before */
	int64_t by_us, by_s;	/* to subtract; by_s: of buckets */
};

/*
 * Write a text's times that are still to come as what they are now: netflowd made them from the clock.  Records, which
 * are no text, have ages instead of times.
 */
static void correct(sqlite3_context *context, int count, sqlite3_value **value)
{
	/* Looked at first: sqlite3_value_text() makes a text of it. */
	bool is_text = sqlite3_value_type(value[0]) == SQLITE_TEXT;
	const char *text = is_text ? (const char *)sqlite3_value_text(value[0]) : NULL;
	int64_t now_ns = sqlite3_value_int64(value[1]) * 1000;
	int64_t by_ns = sqlite3_value_int64(value[2]) * 1000;
	OWN_FREE char *copy = text ? strdup(text) : NULL;

	(void)count;
	if (!is_text) {
		sqlite3_result_value(context, value[0]);
		return;
	}
	for (char *at = copy; at && (at = strchr(at, '"')); at++) {
		size_t length = strcspn(at + 1, "\"");
		char one[TIME_TEXT_MAX], other[TIME_TEXT_MAX];
		int64_t ns;

		if (length >= sizeof(one) || !isdigit((unsigned char)at[1]))
			continue;
		memcpy(one, at + 1, length);
		one[length] = 0;
		if (when_parse_rfc3339(one, &ns) < 0 || ns < now_ns)
			continue;
		time_format_realtime(ns - by_ns, other);
		/* netflowd writes all of them with nine digits. */
		if (strlen(other) == length)
			memcpy(at + 1, other, length);
	}
	if (copy)
		sqlite3_result_text(context, copy, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(context);
}

/* Run a statement with the parameters ?1: from then on, ?2: until then, ?3: to subtract, ?4: of buckets. */
static int run_shift(struct archive *archive, const struct shift *shift, const char *sql)
{
	OWN_STATEMENT sqlite3_stmt *statement = NULL;
	const int64_t number[] = {shift->now_us, shift->end_us, shift->by_us, shift->by_s};
	int result = sqlite3_prepare_v2(archive->db, sql, -1, &statement, NULL);

	for (int i = 0; i < 4 && result == SQLITE_OK; i++)
		if (i < sqlite3_bind_parameter_count(statement))
			sqlite3_bind_int64(statement, i + 1, number[i]);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	return result == SQLITE_DONE || result == SQLITE_ROW ? SQLITE_OK : result;
}

/* Spans, records and incidents. */
static int shift_times(struct archive *archive, const struct shift *shift)
{
	static const char *const sql[] = {
		/* What began before and goes on is there twice. */
		"UPDATE span SET ended = ?1 WHERE kind < 2 AND begun < ?1 AND ended > ?1 AND ended <= ?2",
		"UPDATE span SET begun = begun - ?3, ended = ended - ?3"
		" WHERE kind != 2 AND begun >= ?1 AND begun <= ?2",
		"UPDATE span SET begun = begun - ?4 * 1000000, ended = ended - ?4 * 1000000"
		" WHERE kind = 2 AND begun >= ?1 AND begun <= ?2",
		"UPDATE record SET time = time - ?3, body = correct(body, ?1, ?3)"
		" WHERE time > ?1 AND time <= ?2",
		/* In two steps: a row must not meet the next one at its new time. */
		"UPDATE incident_bucket SET time = ?4 - time WHERE incident IN"
		" (SELECT id FROM incident WHERE time > ?1 AND time <= ?2)",
		"UPDATE incident_bucket SET time = -time WHERE time < 0",
		"UPDATE incident_record SET time = time - ?3, body = correct(body, ?1, ?3)"
		" WHERE time > ?1 AND time <= ?2",
		"UPDATE incident SET time = time - ?3, begun = begun - ?3, alert = correct(alert, ?1, ?3)"
		" WHERE time > ?1 AND time <= ?2",
	};
	int result = SQLITE_OK;

	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]) && result == SQLITE_OK; i++)
		result = run_shift(archive, shift, sql[i]);
	return result;
}

/*
 * Coarse buckets of now and of later are made again from finer ones, when their time has come.  Where these are
 * deleted, what is added to the fine ones is added to the coarse one, too.
 */
static int unroll(struct archive *archive, const struct shift *shift)
{
	struct plan_levels *levels = &archive->levels;
	int result = SQLITE_OK;

	for (int level = 1; level < PLAN_LEVELS && result == SQLITE_OK; level++) {
		int64_t from = plan_floor(shift->now_us / US, level);
		int64_t to = plan_floor(shift->end_us / US, level);

		if (levels->rolled[level] <= from)
			continue;
		if (levels->cut[level - 1] > from)
			from += plan_step[level];
		else
			levels->rolled[level] = from;
		for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++)
			result = archive_change(archive, DELETE_RANGE, 4,
						(const int64_t[]){level, kind, from, to});
		if (result == SQLITE_OK)
			result = archive_set_meta(archive, "rolled", level, levels->rolled[level]);
	}
	return result;
}

static bool is_timed(int kind)
{
	return kind == HISTORY_DROPS || kind == HISTORY_SLOTS || kind == HISTORY_TRAFFIC;
}

/* The first bucket of a kind from `from` on goes where it belongs.  SQLITE_DONE: there is none. */
static int shift_bucket(struct archive *archive, const struct shift *shift, int kind, int64_t from,
			int64_t to)
{
	sqlite3_stmt *first = archive_prepare(archive, FIRST_OF_RANGE);
	struct archive_bucket bucket = {.kind = kind};
	uint64_t value[VECTOR_MAX] = {0};
	uint8_t bytes[VECTOR_BYTES_MAX];
	size_t width = history_width(kind);
	int result, r = 0;

	if (!first)
		return SQLITE_ERROR;
	sqlite3_bind_int(first, 1, kind);
	sqlite3_bind_int64(first, 2, from);
	sqlite3_bind_int64(first, 3, to);
	result = sqlite3_step(first);
	if (result == SQLITE_ROW) {
		bucket.time = sqlite3_column_int64(first, 0);
		bucket.series = sqlite3_column_int64(first, 1);
		bucket.weight = sqlite3_column_int64(first, 2);
		r = vector_add(value, width, sqlite3_column_blob(first, 3),
			       (size_t)sqlite3_column_bytes(first, 3));
	}
	sqlite3_reset(first);
	if (result != SQLITE_ROW)
		return result;
	if (r < 0)
		return SQLITE_CORRUPT;
	result = archive_change(archive, DELETE_BUCKET, 3,
				(const int64_t[]){kind, bucket.time, bucket.series});
	bucket.time -= shift->by_s;
	if (is_timed(kind) && (int64_t)value[0] > shift->now_us)
		value[0] -= (uint64_t)shift->by_us;
	if (result == SQLITE_OK)
		result = archive_add_bucket(archive, &bucket, bytes,
					    vector_encode(value, width, bytes));
	return result;
}

static int shift_buckets(struct archive *archive, const struct shift *shift)
{
	/* That of now stays. */
	int64_t from = plan_floor(shift->now_us / US, 0) + plan_step[0];
	int64_t to = shift->end_us / US;
	int result = SQLITE_OK;

	for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++) {
		do
			result = shift_bucket(archive, shift, kind, from, to);
		while (result == SQLITE_OK);
		if (result == SQLITE_DONE)
			result = SQLITE_OK;
	}
	return result;
}

/* A level that begins in the future has nothing before: the file was new when the clock was ahead. */
static int begin_earlier(struct archive *archive, const struct shift *shift)
{
	int64_t begun_us = database_number(
		archive->db, "SELECT min(begun) FROM span WHERE kind = 0", shift->now_us);
	int64_t records_us = database_number(archive->db, DATABASE_RECORDS_FROM, 0);
	int64_t begun = plan_floor((begun_us < shift->now_us ? begun_us : shift->now_us) / US,
				   PLAN_LEVELS - 1);
	int result = SQLITE_OK;

	for (int level = 0; level < PLAN_LEVELS && result == SQLITE_OK; level++)
		if (archive->levels.cut[level] > shift->now_us / US)
			result = archive_set_cut(archive, level, begun);
	if (result == SQLITE_OK && records_us > shift->now_us)
		result = archive_set_meta(archive, "records", -1, shift->now_us);
	return result;
}

static int shift_all(struct archive *archive, const struct shift *shift)
{
	int result = shift_times(archive, shift);

	if (result == SQLITE_OK)
		result = begin_earlier(archive, shift);
	if (result == SQLITE_OK)
		result = unroll(archive, shift);
	if (result == SQLITE_OK)
		result = shift_buckets(archive, shift);
	return result;
}

/* ---- each batch ---------------------------------------------------------------------------- */

/*
 * The clock was set, and the time is `now_us`.  What was recorded while it was ahead is moved to where it was; without
 * room for that, it stays in the future.
 */
static int on_step(struct archive *archive, int64_t now_us, int64_t by_us)
{
	struct shift shift = {.now_us = now_us,
			      .end_us = now_us - by_us + US,
			      .by_us = -by_us,
			      .by_s = (-by_us / US + plan_step[0] / 2) / plan_step[0] *
				      plan_step[0]};
	struct plan_levels levels = archive->levels;
	int result;

	if (by_us < 0) {
		result = database_run(archive->db, "SAVEPOINT shift");
		if (result == SQLITE_OK && shift_all(archive, &shift) != SQLITE_OK) {
			result = database_run(archive->db, "ROLLBACK TO shift");
			archive->levels = levels;
		}
		if (result == SQLITE_OK)
			result = database_run(archive->db, "RELEASE shift");
		if (result != SQLITE_OK)
			return result;
		archive->moved = true;
	}
	/* From what the clock said to what it says. */
	return archive_change(archive, ADD_SPAN, 4,
			      (const int64_t[]){now_us, now_us - by_us, 0, DATABASE_STEP});
}

static int follow_clock(struct archive *archive, int64_t boot, int64_t clock_us, int64_t now_us)
{
	int64_t by_us = clock_us - archive->clock_us;
	bool same = boot == archive->boot;
	int result = SQLITE_OK;

	if (!same)
		archive->up_us = 0;
	archive->boot = boot;
	archive->clock_us = clock_us;
	if (same && llabs(by_us) < SLACK_US)
		return SQLITE_OK;
	if (boot && same && llabs(by_us) >= STEP_US)
		result = on_step(archive, now_us, by_us);
	if (result == SQLITE_OK)
		result = archive_set_meta(archive, "boot", -1, boot);
	return result == SQLITE_OK ? archive_set_meta(archive, "clock", -1, clock_us) : result;
}

int archive_before_batch(struct archive *archive, const struct batch *batch)
{
	int result = SQLITE_OK;

	archive->moved = false;
	if (archive->first && archive->levels.rolled[1])
		result = begin_present(archive, batch->from_us);
	if (result == SQLITE_OK)
		result = follow_clock(archive, batch->boot, batch->clock_us, batch->from_us);
	if (!archive->present_us)
		archive->present_us = batch->to_us;
	return result;
}

int archive_after_batch(struct archive *archive, const struct batch *batch)
{
	int result;

	follow_present(archive, batch);
	result = archive_set_meta(archive, "present", -1, archive->present_us);
	if (result == SQLITE_OK)
		result = archive_set_meta(archive, "up", -1, archive->up_us);
	if (result == SQLITE_OK && batch->step_us)
		result = follow_clock(archive, batch->boot, batch->clock_us + batch->step_us,
				      batch->to_us + batch->step_us);
	return result;
}

int archive_read_clock(struct archive *archive)
{
	sqlite3 *db = archive->db;

	archive->boot = database_number(db, "SELECT value FROM meta WHERE name = 'boot'", 0);
	archive->clock_us = database_number(db, "SELECT value FROM meta WHERE name = 'clock'", 0);
	archive->up_us = database_number(db, "SELECT value FROM meta WHERE name = 'up'", 0);
	archive->present_us =
		database_number(db, "SELECT value FROM meta WHERE name = 'present'", 0);
	return sqlite3_create_function_v2(db, "correct", 3,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
					  NULL, correct, NULL, NULL, NULL);
}
