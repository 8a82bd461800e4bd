/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes batches to the file, and rolls up what is complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/history/archive_internal.h"
#include "daemon/history/batch.h"
#include "daemon/history/database.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/sums.h"
#include "daemon/history/vector.h"

#define US INT64_C(1000000)

/* A pause between two batches that is no gap: the clock was slewed, or the loop was late. */
#define SPAN_SLACK_US (US / 10)

/* How often a series that is in use is marked so in the file. */
#define USED_S 3600

/* ---- series --------------------------------------------------------------------- */

static int step_named(sqlite3_stmt *statement, const struct series *series, int64_t time)
{
	sqlite3_bind_int64(statement, 1, (int64_t)series->hash);
	sqlite3_bind_int64(statement, 2, series->kind);
	sqlite3_bind_blob64(statement, 3, series->name, series->size, SQLITE_STATIC);
	if (sqlite3_bind_parameter_count(statement) > 3)
		sqlite3_bind_int64(statement, 4, time);
	return sqlite3_step(statement);
}

static int look_up_series(struct archive *archive, struct series *series, int64_t time)
{
	sqlite3_stmt *find = archive_prepare(archive, FIND_SERIES);
	sqlite3_stmt *insert = archive_prepare(archive, ADD_SERIES);
	int result;

	if (!find || !insert)
		return SQLITE_ERROR;
	result = step_named(find, series, time);
	if (result == SQLITE_ROW)
		series->row = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	if (result == SQLITE_ROW) {
		series->used_s = 0;
		return SQLITE_OK;
	}
	if (result != SQLITE_DONE)
		return result;
	result = step_named(insert, series, time);
	sqlite3_reset(insert);
	if (result != SQLITE_DONE)
		return result;
	series->row = sqlite3_last_insert_rowid(archive->db);
	series->used_s = time;
	return SQLITE_OK;
}

/* Make series->row the row of this file. */
static int find_series(struct archive *archive, struct series *series, int64_t time)
{
	int result = SQLITE_OK;

	if (!series->row || series->generation != archive->generation)
		result = look_up_series(archive, series, time);
	if (result != SQLITE_OK)
		return result;
	series->generation = archive->generation;
	if (time - series->used_s < USED_S && time >= series->used_s)
		return SQLITE_OK;
	series->used_s = time;
	return archive_change(archive, USE_SERIES, 2, (const int64_t[]){series->row, time});
}

/* ---- buckets ---------------------------------------------------------------------- */

static int put_bucket(struct archive *archive, const struct archive_bucket *bucket,
		      const void *bytes, size_t size)
{
	sqlite3_stmt *put = archive_prepare(archive, PUT_BUCKET);
	int result;

	if (!put)
		return SQLITE_ERROR;
	sqlite3_bind_int(put, 1, bucket->level);
	sqlite3_bind_int(put, 2, bucket->kind);
	sqlite3_bind_int64(put, 3, bucket->time);
	sqlite3_bind_int64(put, 4, bucket->series);
	sqlite3_bind_int64(put, 5, bucket->weight);
	sqlite3_bind_blob(put, 6, bytes, (int)size, SQLITE_STATIC);
	result = sqlite3_step(put);
	sqlite3_reset(put);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Add to the bucket what it has already. */
static int merge_bucket(struct archive *archive, struct archive_bucket *bucket,
			const uint8_t *bytes, size_t size)
{
	sqlite3_stmt *find = archive_prepare(archive, FIND_BUCKET);
	size_t width = history_width(bucket->kind);
	uint64_t value[VECTOR_MAX] = {0};
	uint8_t merged[VECTOR_BYTES_MAX];
	int result, r = 0;

	if (!find)
		return SQLITE_ERROR;
	sqlite3_bind_int(find, 1, bucket->level);
	sqlite3_bind_int(find, 2, bucket->kind);
	sqlite3_bind_int64(find, 3, bucket->time);
	sqlite3_bind_int64(find, 4, bucket->series);
	result = sqlite3_step(find);
	if (result == SQLITE_ROW) {
		if (sqlite3_column_int64(find, 0) > bucket->weight)
			bucket->weight = sqlite3_column_int64(find, 0);
		r = vector_add(value, width, sqlite3_column_blob(find, 1),
			       (size_t)sqlite3_column_bytes(find, 1));
	}
	sqlite3_reset(find);
	if (result == SQLITE_DONE)
		return put_bucket(archive, bucket, bytes, size);
	if (result != SQLITE_ROW)
		return result;
	if (r == 0)
		r = vector_add(value, width, bytes, size);
	if (r < 0)
		return SQLITE_CORRUPT;
	return put_bucket(archive, bucket, merged, vector_encode(value, width, merged));
}

/* After the clock was set back, a bucket may be older than the buckets that were rolled up. */
int archive_add_bucket(struct archive *archive, const struct archive_bucket *bucket,
		       const uint8_t *bytes, size_t size)
{
	int result = SQLITE_OK;

	for (int level = 0; level < PLAN_LEVELS && result == SQLITE_OK; level++) {
		struct archive_bucket one = *bucket;

		if (level && bucket->time >= archive->levels.rolled[level])
			break;
		one.level = level;
		one.time = plan_floor(bucket->time, level);
		result = merge_bucket(archive, &one, bytes, size);
	}
	return result;
}

static int write_row(struct archive *archive, const struct batch *batch,
		     const struct batch_row *row, int64_t time)
{
	int result = find_series(archive, row->series, time);
	const struct archive_bucket bucket = {.kind = row->series->kind,
					      .time = time,
					      .series = row->series->row,
					      .weight = row->weight};

	if (result != SQLITE_OK)
		return result;
	return archive_add_bucket(archive, &bucket, batch->bytes + row->at, row->size);
}

/* ---- rolling up ----------------------------------------------------------------------- */

static int read_sums(struct archive *archive, struct sums *sums, int level, int kind, int64_t from,
		     int64_t to)
{
	sqlite3_stmt *read = archive_prepare(archive, READ_BUCKETS);
	int result, r = 0;

	if (!read)
		return SQLITE_ERROR;
	sqlite3_bind_int(read, 1, level);
	sqlite3_bind_int(read, 2, kind);
	sqlite3_bind_int64(read, 3, from);
	sqlite3_bind_int64(read, 4, to);
	while (r == 0 && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = sums_add(sums, sqlite3_column_int64(read, 0),
			     (uint32_t)sqlite3_column_int64(read, 1), sqlite3_column_blob(read, 2),
			     (size_t)sqlite3_column_bytes(read, 2));
	sqlite3_reset(read);
	if (r == -EBADMSG)
		return SQLITE_CORRUPT;
	if (r < 0)
		return SQLITE_NOMEM;
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* Make the bucket of `level` that begins at `time` from those of the level below. */
static int roll_kind(struct archive *archive, int level, int kind, int64_t time)
{
	OWN_SUMS struct sums sums = {.width = history_width(kind)};
	uint8_t bytes[VECTOR_BYTES_MAX];
	int result = read_sums(archive, &sums, level - 1, kind, time, time + plan_step[level]);

	for (size_t i = 0; i < sums.count && result == SQLITE_OK; i++) {
		const struct archive_bucket bucket = {.level = level,
						      .kind = kind,
						      .time = time,
						      .series = sums.row[i],
						      .weight = sums.weight[i]};
		size_t size = vector_encode(sums_value(&sums, i), sums.width, bytes);

		result = put_bucket(archive, &bucket, bytes, size);
	}
	return result;
}

/* The first bucket of the level below from `time` on; INT64_MAX: there is none. */
static int next_below(struct archive *archive, int level, int64_t time, int64_t *next)
{
	int result = SQLITE_OK;

	*next = INT64_MAX;
	for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++) {
		int64_t found;

		result =
			archive_number(archive, NEXT_BUCKET, 3,
				       (const int64_t[]){level - 1, kind, time}, &found, INT64_MAX);
		if (found < *next)
			*next = found;
	}
	return result;
}

/* Times without a bucket are skipped, so that a long pause costs nothing. */
static int roll_level(struct archive *archive, int level, int64_t now)
{
	int64_t end = plan_floor(now, level), at = archive->levels.rolled[level];
	int result = SQLITE_OK;

	if (at >= end)
		return SQLITE_OK;
	while (result == SQLITE_OK) {
		result = next_below(archive, level, at, &at);
		if (result != SQLITE_OK || at >= end)
			break;
		at = plan_floor(at, level);
		for (int kind = 1; kind < HISTORY_KIND_END && result == SQLITE_OK; kind++)
			result = roll_kind(archive, level, kind, at);
		at += plan_step[level];
	}
	if (result == SQLITE_OK)
		result = archive_set_meta(archive, "rolled", level, end);
	if (result == SQLITE_OK)
		archive->levels.rolled[level] = end;
	return result;
}

/* In a new file, all levels begin with the coarsest bucket of the first batch. */
static int begin_levels(struct archive *archive, int64_t time)
{
	int result = SQLITE_OK;

	if (archive->levels.rolled[1])
		return SQLITE_OK;
	for (int level = 0; level < PLAN_LEVELS && result == SQLITE_OK; level++) {
		result = archive_set_cut(archive, level, plan_floor(time, PLAN_LEVELS - 1));
		archive->levels.rolled[level] = plan_floor(time, level);
		if (result == SQLITE_OK)
			result = archive_set_meta(archive, "rolled", level,
						  archive->levels.rolled[level]);
	}
	return result;
}

/* ---- spans ------------------------------------------------------------------------------ */

static int find_coverage(struct archive *archive, const char *text, int64_t *id)
{
	sqlite3_stmt *find = archive_prepare(archive, FIND_COVERAGE);
	sqlite3_stmt *insert = archive_prepare(archive, ADD_COVERAGE);
	int result;

	if (!find || !insert)
		return SQLITE_ERROR;
	sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
	result = sqlite3_step(find);
	if (result == SQLITE_ROW)
		*id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	if (result == SQLITE_ROW)
		return SQLITE_OK;
	if (result != SQLITE_DONE)
		return result;
	sqlite3_bind_text(insert, 1, text, -1, SQLITE_STATIC);
	result = sqlite3_step(insert);
	sqlite3_reset(insert);
	*id = sqlite3_last_insert_rowid(archive->db);
	return result == SQLITE_DONE ? SQLITE_OK : result;
}

/* A time of the batch, from its start to its end. */
struct stretch {
	int64_t from_us, to_us, coverage;
	enum database_span kind;
};

/* The first batch of a run begins a span, also if the daemon was away only for a moment. */
static int write_span(struct archive *archive, const struct stretch *stretch, bool first)
{
	int64_t id = 0, ended = 0;
	bool same = false;
	sqlite3_stmt *last = archive_prepare(archive, LAST_SPAN);
	int result;

	if (stretch->from_us >= stretch->to_us)
		return SQLITE_OK;
	if (!last)
		return SQLITE_ERROR;
	result = sqlite3_step(last);
	if (result == SQLITE_ROW) {
		id = sqlite3_column_int64(last, 0);
		ended = sqlite3_column_int64(last, 1);
		same = sqlite3_column_int64(last, 2) == stretch->coverage &&
		       sqlite3_column_int64(last, 3) == stretch->kind;
	}
	sqlite3_reset(last);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		return result;
	if (id && same && !first && llabs(stretch->from_us - ended) <= SPAN_SLACK_US)
		return archive_change(archive, EXTEND_SPAN, 2,
				      (const int64_t[]){id, stretch->to_us});
	return archive_change(archive, ADD_SPAN, 4,
			      (const int64_t[]){stretch->from_us, stretch->to_us, stretch->coverage,
						stretch->kind});
}

/* What was recorded, and what was not; and the buckets of an interval that is longer than one. */
static int write_spans(struct archive *archive, const struct batch *batch)
{
	struct batch_buckets buckets = batch_buckets(batch);
	struct stretch stretch = {.from_us = batch->from_us};
	bool first = archive->first;
	OWN_FREE char *coverage = coverage_write(&batch->coverage);
	int result = coverage ? find_coverage(archive, coverage, &stretch.coverage) : SQLITE_NOMEM;

	for (size_t i = 0; i < batch->gaps && result == SQLITE_OK; i++) {
		const struct batch_gap *gap = &batch->gap[i];

		stretch.kind = DATABASE_RECORDED;
		stretch.to_us = gap->from_us;
		result = write_span(archive, &stretch, first);
		first = false;
		stretch.kind = DATABASE_PAUSED;
		stretch.from_us = gap->from_us;
		stretch.to_us = gap->to_us;
		if (result == SQLITE_OK)
			result = write_span(archive, &stretch, first);
		stretch.from_us = gap->to_us;
	}
	stretch.kind = DATABASE_RECORDED;
	stretch.to_us = batch->to_us;
	if (result == SQLITE_OK)
		result = write_span(archive, &stretch, first);
	if (result != SQLITE_OK || buckets.first == buckets.last || !batch->rows)
		return result;
	return archive_change(archive, ADD_SPAN, 4,
			      (const int64_t[]){buckets.first * US,
						(buckets.last + plan_step[0]) * US,
						stretch.coverage, DATABASE_LONG});
}

/* ---- a batch ------------------------------------------------------------------------------------ */

static int write_all(struct archive *archive, const struct batch *batch, int64_t time)
{
	int result = archive_before_batch(archive, batch);

	if (result == SQLITE_OK)
		result = begin_levels(archive, time);
	for (size_t i = 0; i < batch->rows && result == SQLITE_OK; i++)
		result = write_row(archive, batch, &batch->row[i], time);
	if (result == SQLITE_OK)
		result = write_spans(archive, batch);
	for (size_t i = 0; i < batch->records && result == SQLITE_OK; i++)
		result = archive_add_record(archive, batch, &batch->record[i]);
	for (size_t i = 0; i < batch->records && result == SQLITE_OK; i++)
		if (batch->record[i].incident)
			result = archive_begin_incident(archive, batch, &batch->record[i]);
	if (result == SQLITE_OK)
		result = archive_end_incidents(archive, batch, time);
	for (int level = 1; level < PLAN_LEVELS && result == SQLITE_OK; level++)
		result = roll_level(archive, level, time);
	if (result == SQLITE_OK)
		result = archive_after_batch(archive, batch);
	/* So that a reader knows which batches it sees. */
	if (result == SQLITE_OK)
		result = archive_set_meta(archive, "batch", -1, (int64_t)batch->number);
	return result;
}

/* What a transaction that failed had learned is not true. */
static int roll_back(struct archive *archive, int result, char *reason)
{
	int r = database_failure(archive->db, reason, ARCHIVE_REASON_MAX);

	/* A value that SQLite could read, and that is not a vector. */
	if (result == SQLITE_CORRUPT) {
		snprintf(reason, ARCHIVE_REASON_MAX, "a value is not readable");
		r = -EBADMSG;
	}

	database_run(archive->db, "ROLLBACK");
	database_levels(archive->db, &archive->levels);
	archive_read_clock(archive);
	archive->generation += UINT64_C(1) << 32;
	if (r == -EBADMSG)
		archive->failed = true;
	return r;
}

static int write_once(struct archive *archive, const struct batch *batch, int64_t time,
		      char *reason)
{
	int result = database_run(archive->db, "BEGIN IMMEDIATE");

	if (result == SQLITE_OK)
		result = write_all(archive, batch, time);
	if (result == SQLITE_OK)
		result = database_run(archive->db, "COMMIT");
	if (result == SQLITE_OK)
		return 0;
	return roll_back(archive, result, reason);
}

int archive_write(struct archive *archive, const struct batch *batch, char *reason)
{
	int64_t time = batch_buckets(batch).middle;
	int r;

	reason[0] = 0;
	r = write_once(archive, batch, time, reason);
	/* The bound is reached, and old pages make room; or the disk is full, and the log's room may be enough. */
	if (r == -ENOSPC && (archive_at_bound(archive) ? archive_make_room(archive) == 0
						       : archive_empty_log(archive))) {
		reason[0] = 0;
		r = write_once(archive, batch, time, reason);
	}
	if (r < 0)
		return r;
	if (archive->first || archive->moved)
		archive_read_begin(archive);
	archive->first = false;
	archive->time_s = time;
	return 0;
}
