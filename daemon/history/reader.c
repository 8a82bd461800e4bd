/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "common/time.h"
#include "daemon/core/keymap.h"
#include "daemon/history/archive.h"
#include "daemon/history/batch.h"
#include "daemon/history/database.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/sums.h"
#include "daemon/history/vector.h"
#include "daemon/json/json.h"

#define US INT64_C(1000000)

/* Virtual instructions of SQLite between two looks at the clock. */
#define LOOK_EVERY 20000

struct reader {
	sqlite3 *db;
	struct reader_request request;
	struct plan plan;
	const struct batch *live; /* of the request, if its numbers are of the period */
	int64_t incident;	  /* 0: none */
};

/* ---- rows --------------------------------------------------------------------- */

void reader_rows_clear(struct reader_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		json_decref(rows->row[i].name);
		free(rows->row[i].value);
	}
	free(rows->row);
	*rows = (struct reader_rows){0};
}

int reader_rows_add(struct reader_rows *rows, json_t *name, const uint64_t *value, uint32_t weight)
{
	uint64_t *copy = malloc(rows->width * sizeof(*copy));

	if (!copy || ARRAY_GROW(rows->row, rows->count, rows->room) < 0) {
		free(copy);
		json_decref(name);
		return -ENOMEM;
	}
	memcpy(copy, value, rows->width * sizeof(*copy));
	rows->row[rows->count++] =
		(struct reader_row){.name = name, .value = copy, .weight = weight};
	return 0;
}

void reader_period_clear(struct reader_period *period)
{
	json_decref(period->coverage);
	*period = (struct reader_period){0};
}

/* ---- opening -------------------------------------------------------------------- */

static int on_progress(void *userdata)
{
	const struct reader *reader = userdata;

	return time_monotonic() >= reader->request.deadline_ns ||
	       (reader->request.cancel && atomic_load(reader->request.cancel));
}

static int failure(struct reader *reader)
{
	return database_failure(reader->db, NULL, 0);
}

/* From here on, the connection sees the file as it is now. */
static int begin(struct reader *reader)
{
	int64_t batch, version;

	if (database_run(reader->db, "BEGIN") != SQLITE_OK)
		return failure(reader);
	version = database_number(reader->db, "PRAGMA user_version", 0);
	if (database_number(reader->db, "PRAGMA application_id", 0) != DATABASE_APPLICATION ||
	    version < DATABASE_VERSION_FIRST || version > DATABASE_VERSION)
		return -EPROTONOSUPPORT;
	/* A file that cannot be written is not upgraded. */
	if (database_run(reader->db,
			 version < DATABASE_VERSION_KINDS
				 ? "CREATE TEMP VIEW spans AS SELECT *, 0 AS kind FROM span"
				 : "CREATE TEMP VIEW spans AS SELECT * FROM span") != SQLITE_OK)
		return failure(reader);
	batch = database_number(reader->db, "SELECT value FROM meta WHERE name = 'batch'", 0);
	return reader->request.live && (uint64_t)batch > reader->request.batch &&
			       reader->request.batch
		       ? -EAGAIN
		       : 0;
}

static int64_t earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

static int64_t seconds_up(int64_t us)
{
	return us / US + (us % US > 0);
}

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
		"SELECT begun / 1000000, ended / 1000000 FROM spans"
		" WHERE kind = 2 AND ended > ?1 * 1000000 AND begun < ?2 * 1000000",
		-1, &spans, NULL);

	if (result != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(spans, 1, range->from);
	sqlite3_bind_int64(spans, 2, range->to);
	while ((result = sqlite3_step(spans)) == SQLITE_ROW)
		widen(range, sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1));
	return result == SQLITE_DONE ? 0 : failure(reader);
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
		return failure(reader);
	if (live && batch_buckets(live).first < wanted.to)
		reader->live = live;
	return plan_whole(reader, &levels, wanted);
}

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
		return failure(fresh);
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

/* ---- the period ------------------------------------------------------------------ */

/* What could not be seen in a part of the period, each once. */
static int add_coverage(json_t *all, const char *text)
{
	OWN_JSON json_t *list = json_loads(text ? text : "[]", 0, NULL);
	const json_t *entry, *other;
	size_t i, j;

	json_array_foreach(list, i, entry)
	{
		bool known = false;

		json_array_foreach(all, j, other) known |= json_equal(entry, other);
		if (!known && json_array_append(all, (json_t *)entry) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* Where the history begins: the first moment that was recorded and is not deleted; `otherwise` if there is none. */
static int64_t beginning(const struct reader *reader, bool records, int64_t otherwise)
{
	const struct batch *live = reader->request.live;
	int64_t kept = reader->plan.oldest * US;
	int64_t begun = database_number(reader->db, "SELECT min(begun) FROM spans WHERE kind = 0",
					INT64_MAX);

	if (live && live->from_us < begun)
		begun = live->from_us;
	if (begun == INT64_MAX)
		return otherwise;
	if (records)
		kept = later(kept, database_number(reader->db, DATABASE_RECORDS_FROM, 0));
	return later(begun, kept);
}

/* What is deleted is not covered, though its span may still be there. */
static void add_span(struct reader_period *period, int64_t from, int64_t to,
		     enum database_span kind)
{
	from = later(from, period->begun_us);
	if (kind == DATABASE_PAUSED) {
		covered_miss(&period->asked, from, to, READER_PAUSED);
		covered_miss(&period->counted, from, to, READER_PAUSED);
	} else {
		covered_add(&period->asked, from, to);
		covered_add(&period->counted, from, to);
	}
}

/* What the file does not have yet. */
static void add_live_spans(struct reader_period *period, const struct batch *live)
{
	int64_t from_us = live->from_us;

	for (size_t i = 0; i < live->gaps; i++) {
		add_span(period, from_us, live->gap[i].from_us, DATABASE_RECORDED);
		add_span(period, live->gap[i].from_us, live->gap[i].to_us, DATABASE_PAUSED);
		from_us = live->gap[i].to_us;
	}
	add_span(period, from_us, live->to_us, DATABASE_RECORDED);
}

static int read_spans(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *spans = NULL;
	int result =
		sqlite3_prepare_v2(reader->db,
				   "SELECT begun, ended, kind FROM spans"
				   " WHERE kind < 2 AND ended > ?1 AND begun < ?2 ORDER BY begun",
				   -1, &spans, NULL);

	if (result != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(spans, 1, earlier(period->since_us, period->from_us));
	sqlite3_bind_int64(spans, 2, later(period->until_us, period->to_us));
	while ((result = sqlite3_step(spans)) == SQLITE_ROW)
		add_span(period, sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1),
			 (enum database_span)sqlite3_column_int(spans, 2));
	return result == SQLITE_DONE ? 0 : failure(reader);
}

static int read_steps(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *steps = NULL;
	int result = sqlite3_prepare_v2(
		reader->db,
		"SELECT begun, begun - ended FROM spans WHERE kind = 3 AND begun >= ?1 AND begun <= ?2"
		" ORDER BY id DESC",
		-1, &steps, NULL);

	if (result != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(steps, 1, period->since_us);
	sqlite3_bind_int64(steps, 2, period->until_us);
	while (period->steps < READER_STEPS && (result = sqlite3_step(steps)) == SQLITE_ROW)
		period->step[period->steps++] = (struct reader_step){
			sqlite3_column_int64(steps, 0), sqlite3_column_int64(steps, 1)};
	return result == SQLITE_DONE || result == SQLITE_ROW ? 0 : failure(reader);
}

/* A host with thousands of spans has few texts. */
static int read_coverage(struct reader *reader, struct reader_period *period)
{
	OWN_STATEMENT sqlite3_stmt *texts = NULL;
	int result = sqlite3_prepare_v2(
		reader->db,
		"SELECT text FROM coverage WHERE id IN"
		" (SELECT coverage FROM spans WHERE ended > ?1 AND begun < ?2) ORDER BY id",
		-1, &texts, NULL);

	if (result != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(texts, 1, earlier(period->since_us, period->from_us));
	sqlite3_bind_int64(texts, 2, later(period->until_us, period->to_us));
	while ((result = sqlite3_step(texts)) == SQLITE_ROW)
		if (add_coverage(period->coverage, (const char *)sqlite3_column_text(texts, 0)) < 0)
			return -ENOMEM;
	return result == SQLITE_DONE ? 0 : failure(reader);
}

/* The buckets that count. */
static void choose_counted(const struct reader *reader, struct reader_period *period)
{
	const struct batch *live = reader->live;

	period->from_us = reader->plan.from * US;
	period->to_us = reader->plan.to * US;
	/* The bucket of now has not ended. */
	if (live)
		period->to_us = live->to_us;
	if (live && live->from_us < period->from_us && live->to_us > period->from_us &&
	    !reader->plan.count)
		period->from_us = live->from_us;
	/* Before that, the first bucket has nothing. */
	period->from_us = later(period->from_us, period->begun_us);
	period->to_us = later(period->to_us, period->from_us);
}

/* The recorded time around a period without any. */
static int read_around(struct reader *reader, struct reader_period *period)
{
	const struct batch *live = reader->request.live;
	OWN_STATEMENT sqlite3_stmt *around = NULL;

	if (sqlite3_prepare_v2(
		    reader->db,
		    "SELECT (SELECT max(ended) FROM spans WHERE kind = 0 AND ended <= ?1),"
		    " (SELECT min(begun) FROM spans WHERE kind = 0 AND begun >= ?2)",
		    -1, &around, NULL) != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(around, 1, period->since_us);
	sqlite3_bind_int64(around, 2, period->until_us);
	if (sqlite3_step(around) != SQLITE_ROW)
		return failure(reader);
	/* 0 if it is NULL. */
	period->before_us = sqlite3_column_int64(around, 0);
	period->after_us = sqlite3_column_int64(around, 1);
	if (live && live->from_us >= period->until_us &&
	    (!period->after_us || live->from_us < period->after_us))
		period->after_us = live->from_us;
	/* What was before is deleted, or a part of the span that was there goes on after it. */
	if (period->before_us <= period->begun_us)
		period->before_us = 0;
	if (!period->before_us && period->begun_us >= period->until_us)
		period->after_us = period->begun_us;
	return 0;
}

int reader_period(struct reader *reader, bool records, struct reader_period *period)
{
	const struct reader_request *request = &reader->request;
	const struct batch *live = request->live;
	int r;

	*period = (struct reader_period){.since_us = request->since_us,
					 .until_us = request->until_us,
					 .begun_us = beginning(reader, records, request->until_us),
					 .step_s = reader->plan.step,
					 .coverage = json_array()};
	/* The live part can be of a reading that others had asked for a moment before. */
	if (live)
		period->until_us = earlier(period->until_us, live->to_us);
	if (request->since_us == READER_BEGINNING)
		period->since_us = earlier(period->begun_us, period->until_us);
	choose_counted(reader, period);
	covered_begin(&period->asked, period->since_us, period->until_us);
	covered_begin(&period->counted, period->from_us, period->to_us);
	r = read_spans(reader, period);
	if (r == 0)
		r = read_steps(reader, period);
	if (r == 0)
		r = read_coverage(reader, period);
	if (r == 0 && live) {
		add_live_spans(period, live);
		if (reader->live)
			r = add_coverage(period->coverage, live->coverage);
	}
	covered_end(&period->asked);
	covered_end(&period->counted);
	if (r == 0 && !period->asked.covered_us)
		r = read_around(reader, period);
	if (r < 0)
		reader_period_clear(period);
	return r;
}

/* ---- sums ---------------------------------------------------------------------------- */

/* No row: the series is not wanted. */
#define NO_ROW 0

/* The series of a question, each with the row that it counts for.  Their names are forgotten again. */
struct question {
	struct reader *reader;
	int kind;
	reader_project project;
	void *userdata;
	struct sums series; /* value[0]: the number of its row + 1, or NO_ROW */
	size_t known;	    /* series that have one */
	struct keymap names;
	struct reader_rows *rows;
	sqlite3_stmt *find_name, *find_row;
	int64_t unknown; /* the last row of a series that the file does not have; below 0 */
};

/* The row of a name, which is stolen; it is new if no series before had the name. */
static int row_of(struct question *question, json_t *name, bool unsure, uint64_t *row)
{
	OWN_FREE char *text = json_dumps(name, JSON_COMPACT | JSON_SORT_KEYS);
	static const uint64_t zeros[VECTOR_MAX];
	struct keymap_key key = {{0}};
	size_t before = question->names.count, number;
	int r;

	if (!text) {
		json_decref(name);
		return -ENOMEM;
	}
	/* Two hashes and the length: other names do not have all three. */
	key.word[0] = series_hash(0, text);
	key.word[1] = series_hash(0x5bd1e995, text);
	key.word[2] = strlen(text) << 1 | unsure;
	if (keymap_add(&question->names, &key, &number) < 0) {
		json_decref(name);
		return -ENOMEM;
	}
	*row = number + 1;
	if (question->names.count == before) {
		json_decref(name);
		return 0;
	}
	r = reader_rows_add(question->rows, name, zeros, 0);
	if (r == 0)
		question->rows->row[number].unsure = unsure;
	return r;
}

static int add_name(struct question *question, const char *text, uint64_t *row)
{
	OWN_JSON json_t *name = text ? json_loads(text, 0, NULL) : NULL;
	bool full = question->rows->count >= READER_ROWS_MAX;
	bool unsure = name && json_object_del(name, SERIES_UNSURE) == 0;
	json_t *part = NULL;

	*row = NO_ROW;
	if (name && question->kind == HISTORY_DROPS)
		json_drop_renew(name);
	if (name)
		part = question->project ? question->project(name, full, question->userdata)
					 : json_incref(name);
	/* A part that says nothing of namespaces has no doubt. */
	unsure = unsure && json_object_get(part, "netns");
	return part ? row_of(question, part, unsure, row) : 0;
}

static int name_series(struct question *question, int64_t series, uint64_t *row)
{
	int result, r;

	sqlite3_bind_int64(question->find_name, 1, series);
	result = sqlite3_step(question->find_name);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		r = failure(question->reader);
	else
		r = add_name(question,
			     result == SQLITE_ROW
				     ? (const char *)sqlite3_column_text(question->find_name, 0)
				     : NULL,
			     row);
	sqlite3_reset(question->find_name);
	return r;
}

/* Add a vector to the row of its series; `text` is its name, NULL: the file has it. */
static int add_vector(struct question *question, int64_t series, const char *text, uint32_t weight,
		      const void *bytes, size_t size)
{
	struct reader_row *to;
	uint64_t row;
	size_t index;
	int r = sums_find(&question->series, series, &index);

	if (r < 0)
		return r;
	if (index == question->known) {
		r = text ? add_name(question, text, &row) : name_series(question, series, &row);
		if (r < 0)
			return r;
		question->known++;
		sums_value(&question->series, index)[0] = row;
	}
	row = sums_value(&question->series, index)[0];
	if (row == NO_ROW)
		return 0;
	to = &question->rows->row[row - 1];
	if (weight > to->weight)
		to->weight = weight;
	return vector_add(to->value, question->rows->width, bytes, size);
}

static int add_range(struct question *question, sqlite3_stmt *read)
{
	int result = SQLITE_ROW, r = 0;

	while (r == 0 && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = add_vector(question, sqlite3_column_int64(read, 0), NULL,
			       (uint32_t)sqlite3_column_int64(read, 1),
			       sqlite3_column_blob(read, 2), (size_t)sqlite3_column_bytes(read, 2));
	if (r == 0 && result != SQLITE_DONE)
		r = failure(question->reader);
	sqlite3_reset(read);
	return r;
}

static int read_ranges(struct question *question)
{
	const struct plan *plan = &question->reader->plan;
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(question->reader->db,
			       "SELECT series, weight, value FROM bucket"
			       " WHERE level = ?1 AND kind = ?2 AND time >= ?3 AND time < ?4",
			       -1, &read, NULL) != SQLITE_OK)
		return failure(question->reader);
	for (size_t i = 0; i < plan->count && r == 0; i++) {
		sqlite3_bind_int(read, 1, plan->range[i].level);
		sqlite3_bind_int(read, 2, question->kind);
		sqlite3_bind_int64(read, 3, plan->range[i].from);
		sqlite3_bind_int64(read, 4, plan->range[i].to);
		r = add_range(question, read);
	}
	return r;
}

static int read_incident(struct question *question)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;

	if (sqlite3_prepare_v2(
		    question->reader->db,
		    "SELECT series, weight, value FROM incident_bucket WHERE incident = ?1 AND kind = ?2",
		    -1, &read, NULL) != SQLITE_OK)
		return failure(question->reader);
	sqlite3_bind_int64(read, 1, question->reader->incident);
	sqlite3_bind_int(read, 2, question->kind);
	return add_range(question, read);
}

/* The row that the file has for a series of the live batch, or a new number below 0. */
static int find_row(struct question *question, const struct series *series, int64_t *row)
{
	sqlite3_stmt *find = question->find_row;
	int result;

	sqlite3_bind_int64(find, 1, (int64_t)series->hash);
	sqlite3_bind_int(find, 2, series->kind);
	sqlite3_bind_text(find, 3, series->name, -1, SQLITE_STATIC);
	result = sqlite3_step(find);
	*row = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : --question->unknown;
	sqlite3_reset(find);
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : failure(question->reader);
}

static int add_live(struct question *question)
{
	const struct batch *live = question->reader->live;
	int r = 0;

	for (size_t i = 0; live && i < live->rows && r == 0; i++) {
		const struct batch_row *from = &live->row[i];
		int64_t row;

		if (from->series->kind != question->kind)
			continue;
		r = find_row(question, from->series, &row);
		if (r == 0)
			r = add_vector(question, row, from->series->name, from->weight,
				       live->bytes + from->at, from->size);
	}
	return r;
}

/* What a row is about, without the name of the namespace; NULL: no memory. */
static char *place_of(const struct reader_row *row)
{
	OWN_JSON json_t *rest = json_copy(row->name);

	json_object_del(rest, "netns_name");
	return rest ? json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
}

/* The number of the row of each place; -1 where there are more than one, of several namespaces with one number. */
static json_t *index_places(const struct reader_rows *rows)
{
	json_t *places = json_object();

	for (size_t i = 0; i < rows->count; i++) {
		OWN_FREE char *place = rows->row[i].unsure ? NULL : place_of(&rows->row[i]);

		if (place)
			json_object_set_new(
				places, place,
				json_integer(json_object_get(places, place) ? -1 : (json_int_t)i));
	}
	return places;
}

static void join_row(struct reader_rows *rows, size_t from, json_int_t to)
{
	struct reader_row *row = &rows->row[from];

	vector_merge(rows->row[to].value, row->value, rows->width);
	if (row->weight > rows->row[to].weight)
		rows->row[to].weight = row->weight;
	json_decref(row->name);
	free(row->value);
	*row = (struct reader_row){0};
}

/* Under load a namespace has no name for an interval, and then its name: both rows are one. */
static void join_unsure(struct reader_rows *rows)
{
	OWN_JSON json_t *places = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		OWN_FREE char *place = rows->row[i].unsure ? place_of(&rows->row[i]) : NULL;
		const json_t *to;

		if (place && !places)
			places = index_places(rows);
		to = place ? json_object_get(places, place) : NULL;
		if (to && json_integer_value(to) >= 0)
			join_row(rows, i, json_integer_value(to));
	}
	for (size_t i = 0; i < rows->count; i++)
		if (rows->row[i].value)
			rows->row[kept++] = rows->row[i];
	rows->count = kept;
}

static void question_clear(struct question *question)
{
	sums_clear(&question->series);
	keymap_clear(&question->names);
	database_finalize(&question->find_name);
	database_finalize(&question->find_row);
}

int reader_sums(struct reader *reader, int kind, reader_project project, void *userdata,
		struct reader_rows *rows)
{
	struct question question = {.reader = reader,
				    .kind = kind,
				    .project = project,
				    .userdata = userdata,
				    .rows = rows};
	int r = 0;

	rows->width = history_width(kind);
	sums_init(&question.series, 1);
	if (sqlite3_prepare_v2(reader->db, "SELECT name FROM series WHERE id = ?1", -1,
			       &question.find_name, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(reader->db,
			       "SELECT id FROM series WHERE hash = ?1 AND kind = ?2 AND name = ?3",
			       -1, &question.find_row, NULL) != SQLITE_OK)
		r = failure(reader);
	if (r == 0)
		r = reader->incident ? read_incident(&question) : read_ranges(&question);
	if (r == 0 && !reader->incident)
		r = add_live(&question);
	question_clear(&question);
	if (r == 0)
		join_unsure(rows);
	return r;
}

/* ---- records ----------------------------------------------------------------------------- */

/* Newest first, up to `limit` of those that are wanted; the others are counted. */
struct found {
	int kind;
	json_t *newest;
	size_t limit, matched;
	reader_wants wants;
	void *userdata;
};

static int add_record(struct found *found, const char *text)
{
	OWN_JSON json_t *record = text ? json_loads(text, 0, NULL) : NULL;

	if (record && found->kind == HISTORY_RECORD_DROP)
		json_drop_renew(record);
	/* A text that is no JSON can only come from a damaged file. */
	if (!record || (found->wants && !found->wants(record, found->userdata)))
		return 0;
	if (found->matched++ >= found->limit)
		return 0;
	return json_array_append(found->newest, record) == 0 ? 0 : -ENOMEM;
}

static int add_live_records(struct reader *reader, int kind, struct found *found)
{
	const struct batch *live = reader->request.live;
	int r = 0;

	for (size_t i = live ? live->records : 0; i-- > 0 && r == 0;) {
		const struct batch_record *record = &live->record[i];

		if (record->kind == kind && record->time_us >= reader->request.since_us &&
		    record->time_us < reader->request.until_us)
			r = add_record(found, record->text);
	}
	return r;
}

static int add_stored_records(struct reader *reader, int kind, struct found *found)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	const char *sql =
		reader->incident
			? "SELECT text FROM incident_record WHERE incident = ?4 AND kind = ?1 ORDER BY time DESC, id DESC"
			: "SELECT text FROM record WHERE kind = ?1 AND time >= ?2 AND time < ?3 ORDER BY time DESC, id DESC";
	int result, r = 0;

	if (sqlite3_prepare_v2(reader->db, sql, -1, &read, NULL) != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int(read, 1, kind);
	if (!reader->incident) {
		sqlite3_bind_int64(read, 2, reader->request.since_us);
		sqlite3_bind_int64(read, 3, reader->request.until_us);
	} else {
		sqlite3_bind_int64(read, 4, reader->incident);
	}
	while (r == 0 && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = add_record(found, (const char *)sqlite3_column_text(read, 0));
	if (r == 0 && result != SQLITE_DONE)
		r = failure(reader);
	return r;
}

int reader_records(struct reader *reader, int kind, size_t limit, reader_wants wants,
		   void *userdata, json_t *records, size_t *matched)
{
	OWN_JSON json_t *newest = json_array();
	struct found found = {.kind = kind,
			      .newest = newest,
			      .limit = limit,
			      .wants = wants,
			      .userdata = userdata};
	int r = newest ? 0 : -ENOMEM;

	if (r == 0 && !reader->incident)
		r = add_live_records(reader, kind, &found);
	if (r == 0)
		r = add_stored_records(reader, kind, &found);
	for (size_t i = json_array_size(newest); i-- > 0 && r == 0;)
		if (json_array_append(records, json_array_get(newest, i)) != 0)
			r = -ENOMEM;
	*matched = found.matched;
	return r;
}

/* ---- incidents ------------------------------------------------------------------------------ */

static json_t *incident_of(sqlite3_stmt *read)
{
	const char *alert = (const char *)sqlite3_column_text(read, 4);
	const char *rule = (const char *)sqlite3_column_text(read, 3);

	return json_pack("{s:I, s:I, s:I, s:s, s:b, s:I, s:o*}", "id",
			 (json_int_t)sqlite3_column_int64(read, 0), "time_us",
			 (json_int_t)sqlite3_column_int64(read, 1), "begun_us",
			 (json_int_t)sqlite3_column_int64(read, 2), "rule", rule ? rule : "",
			 "complete", sqlite3_column_int(read, 5), "bytes",
			 (json_int_t)sqlite3_column_int64(read, 6), "event",
			 alert ? json_loads(alert, 0, NULL) : NULL);
}

#define INCIDENT_COLUMNS "SELECT id, time, begun, rule, alert, complete, bytes FROM incident "

int reader_incidents(struct reader *reader, json_t *incidents)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int result;

	if (sqlite3_prepare_v2(reader->db,
			       INCIDENT_COLUMNS "WHERE time >= ?1 AND time < ?2 ORDER BY time, id",
			       -1, &read, NULL) != SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(read, 1, reader->request.since_us);
	sqlite3_bind_int64(read, 2, reader->request.until_us);
	while ((result = sqlite3_step(read)) == SQLITE_ROW)
		if (json_array_append_new(incidents, incident_of(read)) != 0)
			return -ENOMEM;
	return result == SQLITE_DONE ? 0 : failure(reader);
}

int reader_use_incident(struct reader *reader, int64_t id, json_t **incident)
{
	OWN_STATEMENT sqlite3_stmt *read = NULL;
	int result;

	if (sqlite3_prepare_v2(reader->db, INCIDENT_COLUMNS "WHERE id = ?1", -1, &read, NULL) !=
	    SQLITE_OK)
		return failure(reader);
	sqlite3_bind_int64(read, 1, id);
	result = sqlite3_step(read);
	if (result == SQLITE_DONE)
		return -ENODATA;
	if (result != SQLITE_ROW)
		return failure(reader);
	*incident = incident_of(read);
	reader->incident = id;
	return *incident ? 0 : -ENOMEM;
}
