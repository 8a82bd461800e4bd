/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the file within its limits: deletes what is too old, and the oldest of what is too much.  It deletes in slices,
 * each in a transaction of a few ms, because a question may wait for the batch that comes after it.
 */
#include <errno.h>

#include "common/array.h"
#include "daemon/history/archive_internal.h"
#include "daemon/history/batch.h"
#include "daemon/history/database.h"
#include "daemon/history/series.h"

#define US INT64_C(1000000)
#define HOUR 3600
#define DAY (24 * HOUR)

/* How often to look for what is too old. */
#define EXPIRE_S 60

/* 4 MiB. */
#define LOG_PAGES 1024

/* How long a level is kept; the age of all limits it, too. */
static const int64_t keep_s[PLAN_LEVELS] = {DAY, 3 * DAY, INT64_MAX, INT64_MAX};

/* Records of a kind in a slice. */
#define RECORDS_IN_SLICE INT64_C(512)

/* Run a slice in a transaction of its own.  0 or a negative errno; *more: there is more to delete. */
static int run_slice(struct archive *archive, int (*slice)(struct archive *archive, bool *more),
		     bool *more)
{
	int result = database_run(archive->db, "BEGIN IMMEDIATE"), r;

	*more = false;
	if (result == SQLITE_OK)
		result = slice(archive, more);
	if (result == SQLITE_OK)
		result = database_run(archive->db, "COMMIT");
	if (result == SQLITE_OK)
		return 0;
	r = database_failure(archive->db, NULL, 0);
	database_run(archive->db, "ROLLBACK");
	database_levels(archive->db, &archive->levels);
	if (r == -EBADMSG)
		archive->failed = true;
	return r;
}

/* ---- slices --------------------------------------------------------------------- */

static int next_level(int level)
{
	return level < PLAN_LEVELS - 1 ? level + 1 : level;
}

/* The oldest bucket of a level; INT64_MAX: it has none. */
static int first_bucket(struct archive *archive, int level, int64_t *first)
{
	int result = SQLITE_OK;

	*first = INT64_MAX;
	for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++) {
		int64_t time;

		result = archive_number(archive, NEXT_BUCKET, 3, (const int64_t[]){level, kind, 0},
					&time, INT64_MAX);
		if (time < *first)
			*first = time;
	}
	return result;
}

/*
 * Delete the oldest buckets of a level before `cut`, as many as one bucket of the next level has, and none that the
 * next level does not have yet.
 */
static int cut_level(struct archive *archive, int level, int64_t cut, bool *more)
{
	int next = next_level(level), result;
	int64_t first;

	cut = plan_floor(cut, next);
	if (level != next && cut > archive->levels.rolled[next])
		cut = archive->levels.rolled[next];
	if (cut <= archive->levels.cut[level])
		return SQLITE_OK;
	result = first_bucket(archive, level, &first);
	if (first < cut && plan_floor(first, next) + plan_step[next] < cut) {
		cut = plan_floor(first, next) + plan_step[next];
		*more = true;
	}
	for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK && first < cut; kind++)
		result = archive_change(archive, DELETE_BUCKETS, 3,
					(const int64_t[]){level, kind, cut});
	return result == SQLITE_OK && cut > archive->levels.cut[level]
		       ? archive_set_cut(archive, level, cut)
		       : result;
}

/* The file says from when on it has all records that were stored: they are deleted before the counters. */
static int cut_records(struct archive *archive, int64_t cut_us, bool *more)
{
	int64_t before = sqlite3_total_changes64(archive->db);
	int result = SQLITE_OK;

	for (int kind = 0; kind < HISTORY_RECORD_KINDS && result == SQLITE_OK; kind++) {
		result = archive_change(archive, DELETE_RECORDS, 3,
					(const int64_t[]){kind, cut_us, RECORDS_IN_SLICE});
		*more |= sqlite3_changes64(archive->db) == RECORDS_IN_SLICE;
	}
	if (result == SQLITE_OK && sqlite3_total_changes64(archive->db) != before &&
	    cut_us > database_number(archive->db, DATABASE_RECORDS_FROM, 0))
		result = archive_set_meta(archive, "records", -1, cut_us);
	return result;
}

/* ---- by age --------------------------------------------------------------------- */

/* What nothing refers to any more. */
static int sweep(struct archive *archive)
{
	int64_t oldest = archive->levels.cut[PLAN_LEVELS - 1], oldest_us;
	int result;

	for (int level = 0; level < PLAN_LEVELS; level++)
		if (archive->levels.cut[level] < oldest)
			oldest = archive->levels.cut[level];
	oldest_us = oldest * US;
	/* A series in use was marked within the last hour of its use. */
	oldest -= 2 * HOUR;
	result = archive_change(archive, DELETE_SPANS, 1, &oldest_us);
	archive_read_begin(archive);
	if (result == SQLITE_OK)
		result = archive_change(archive, DELETE_COVERAGE, 0, NULL);
	if (result == SQLITE_OK)
		result = archive_change(archive, DELETE_SERIES, 1, &oldest);
	if (result == SQLITE_OK)
		archive->generation += UINT64_C(1) << 32;
	return result;
}

/* A clock that is ahead makes nothing old, and one that is behind makes nothing too old. */
static int64_t present(const struct archive *archive)
{
	int64_t present_s = archive->present_us / US;

	return present_s < archive->time_s ? present_s : archive->time_s;
}

static bool is_due(const struct archive *archive)
{
	int64_t since = present(archive) - archive->expired_s;

	return !archive->expired_s || since < 0 || since >= EXPIRE_S;
}

static int expire(struct archive *archive, bool *more)
{
	int64_t age = archive->limits.age_s, now = present(archive);
	int result = SQLITE_OK;

	for (int level = 0; level < PLAN_LEVELS && result == SQLITE_OK; level++)
		result = cut_level(archive, level,
				   now - (keep_s[level] < age ? keep_s[level] : age), more);
	if (result == SQLITE_OK)
		result = cut_records(archive, (now - age) * US, more);
	if (result != SQLITE_OK || *more)
		return result;
	result = archive_trim_incidents(archive, now);
	/* Hourly. */
	if (result == SQLITE_OK && now / HOUR != archive->expired_s / HOUR)
		result = sweep(archive);
	if (result == SQLITE_OK)
		archive->expired_s = now;
	return result;
}

/* ---- by size ---------------------------------------------------------------------- */

/* What is deleted first, and how much of it stays as long as there is something after it. */
static const struct stock {
	int level; /* -1: records */
	int64_t least_s;
} stocks[] = {
	{-1, HOUR},	 {0, HOUR},	 {1, 6 * HOUR}, {2, DAY},      {3, 3 * DAY},
	{-1, HOUR / 4},	 {0, HOUR / 4},	 {1, HOUR},	{2, 6 * HOUR}, {3, DAY},
	{-1, HOUR / 12}, {0, HOUR / 12}, {1, HOUR / 6}, {2, HOUR},     {3, 6 * HOUR},
	{-1, 0},	 {0, 0},	 {1, 0},	{2, 0},	       {3, 0},
};

/* The times of the oldest and the newest of a stock, in seconds; false: it is empty. */
static bool extent(struct archive *archive, const struct stock *stock, int64_t *from, int64_t *to)
{
	int kinds = stock->level < 0 ? HISTORY_RECORD_KINDS : HISTORY_KIND_END;

	*from = INT64_MAX;
	*to = INT64_MIN;
	for (int kind = stock->level < 0 ? 0 : 1; kind < kinds; kind++) {
		int64_t first, last;

		if (stock->level < 0) {
			archive_number(archive, FIRST_RECORD, 1, (const int64_t[]){kind}, &first,
				       INT64_MAX);
			archive_number(archive, LAST_RECORD, 1, (const int64_t[]){kind}, &last,
				       INT64_MIN);
			first = first == INT64_MAX ? first : first / US;
			last = last == INT64_MIN ? last : last / US;
		} else {
			archive_number(archive, NEXT_BUCKET, 3,
				       (const int64_t[]){stock->level, kind, 0}, &first, INT64_MAX);
			archive_number(archive, LAST_BUCKET, 2,
				       (const int64_t[]){stock->level, kind}, &last, INT64_MIN);
		}
		if (first < *from)
			*from = first;
		if (last > *to)
			*to = last;
	}
	/* What a clock that was ahead has left in the future. */
	if (archive->time_s && *to > archive->time_s)
		*to = archive->time_s;
	return *from <= *to;
}

/* Delete a slice of a stock; *more: something was deleted. */
static int cut_stock(struct archive *archive, const struct stock *stock, bool *more)
{
	int64_t from, to, before = sqlite3_total_changes64(archive->db);
	bool rest;
	int result;

	if (!extent(archive, stock, &from, &to) || to - from < stock->least_s)
		return SQLITE_OK;
	if (stock->level < 0)
		result = cut_records(archive, (from + (to - from) / 16 + 1) * US, &rest);
	else
		result = cut_level(archive, stock->level,
				   from + plan_step[next_level(stock->level)], &rest);
	*more |= sqlite3_total_changes64(archive->db) != before;
	return result;
}

static uint64_t used(const struct archive *archive)
{
	int64_t pages = database_number(archive->db, "PRAGMA page_count", 0);

	pages -= database_number(archive->db, "PRAGMA freelist_count", 0);
	return (uint64_t)pages * DATABASE_PAGE;
}

bool archive_empty_log(struct archive *archive)
{
	return sqlite3_wal_checkpoint_v2(archive->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
					 NULL) == SQLITE_OK;
}

bool archive_at_bound(struct archive *archive)
{
	int64_t pages = database_number(archive->db, "PRAGMA page_count", 0);

	return (uint64_t)pages * DATABASE_PAGE > archive->limits.bytes / 32 * 27;
}

static int cut_any(struct archive *archive, bool *more)
{
	int result = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_SIZE(stocks) && result == SQLITE_OK && !*more; i++)
		result = cut_stock(archive, &stocks[i], more);
	return result;
}

/*
 * A file that is larger than a new, smaller bound gives its free pages back, some at a time.  True: there may be more.
 */
static bool give_back(struct archive *archive)
{
	const struct archive_limits limits = archive->limits;
	int64_t most = (int64_t)(limits.bytes / 8 * 7 / DATABASE_PAGE);

	if (database_number(archive->db, "PRAGMA page_count", 0) <= most ||
	    !database_number(archive->db, "PRAGMA freelist_count", 0))
		return false;
	database_run(archive->db, "PRAGMA incremental_vacuum(256)");
	archive_empty_log(archive);
	/* SQLite accepts no bound below the size that the file has. */
	archive_set_limits(archive, &limits);
	return true;
}

/*
 * The log takes every interval; its pages go to the file when it has many, so that a page that changes again and
 * again is written there once.  A reader can keep the log growing; without one, it begins at its start again.
 */
static void checkpoint(struct archive *archive)
{
	uint64_t bytes = (uint64_t)archive->log_pages * DATABASE_PAGE;

	if (bytes > archive->limits.bytes / 16)
		sqlite3_wal_checkpoint_v2(archive->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
					  NULL);
	else if (archive->log_pages > LOG_PAGES || bytes > archive->limits.bytes / 32)
		sqlite3_wal_checkpoint_v2(archive->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

/* Whether the file is to shrink: from the upper mark on, until it is below the lower one. */
static bool is_large(struct archive *archive)
{
	uint64_t mark = archive->limits.bytes / 32 * (archive->shrinks ? 24 : 26);

	archive->shrinks = used(archive) > mark;
	return archive->shrinks;
}

int archive_tidy(struct archive *archive)
{
	bool more = false;
	int r = 0;

	if (is_due(archive))
		r = run_slice(archive, expire, &more);
	if (r == 0 && !more && is_large(archive))
		r = run_slice(archive, cut_any, &more);
	if (r == 0 && !more)
		more = give_back(archive);
	checkpoint(archive);
	return r < 0 ? r : more;
}

int archive_make_room(struct archive *archive)
{
	bool any = false, more = true;
	int r = 0;

	while (r == 0 && more && (!any || is_large(archive))) {
		r = run_slice(archive, cut_any, &more);
		any |= more;
		/* Each slice has its own room in the log. */
		sqlite3_wal_checkpoint_v2(archive->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	}
	checkpoint(archive);
	if (r < 0)
		return r;
	return any ? 0 : -ENOSPC;
}
