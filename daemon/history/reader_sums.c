/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "daemon/history/batch.h"
#include "daemon/history/reader_internal.h"
#include "daemon/history/series.h"
#include "daemon/history/sums.h"
#include "daemon/history/vector.h"
#include "daemon/rows/late_names.h"

/* ---- rows --------------------------------------------------------------------- */

void reader_rows_clear(struct reader_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->row[i].value);
	free(rows->row);
	texts_clear(&rows->texts);
	map_clear(&rows->map);
	*rows = (struct reader_rows){0};
}

static bool is(const void *items, size_t number, const void *key)
{
	const struct reader_row *rows = items;

	return !memcmp(&rows[number].name, key, sizeof(struct series_name));
}

/* Strangers choose parts of the name: they do not know where the rows are kept. */
static uint64_t hash_of(const struct reader_rows *rows, const struct series_name *name)
{
	_Static_assert(sizeof(*name) % sizeof(uint64_t) == 0, "a name is words");
	return hash_words((uintptr_t)rows, name, sizeof(*name));
}

static bool has_row(const struct reader_rows *rows, const struct series_name *wanted)
{
	struct series_name name = *wanted;
	bool found = false;
	size_t number;

	if (!series_name_find(&name, &rows->texts))
		return false;
	/* One that is unsure is joined with the others at the end. */
	for (uint8_t i = 0; i < 2 && !found; i++) {
		name.unsure = i;
		found = map_find(&rows->map, hash_of(rows, &name), is, rows->row, &name, &number);
	}
	return found;
}

struct reader_row *reader_rows_find(struct reader_rows *rows, const struct series_name *name)
{
	struct series_name kept = *name;
	uint64_t *value, hash;
	size_t number;

	series_name_keep(&kept, &rows->texts);
	if (rows->texts.failed)
		return NULL;
	hash = hash_of(rows, &kept);
	if (map_find(&rows->map, hash, is, rows->row, &kept, &number))
		return &rows->row[number];
	value = calloc(rows->width, sizeof(*value));
	if (!value || ARRAY_GROW(rows->row, rows->count, rows->room) < 0 ||
	    map_add(&rows->map, hash, rows->count) < 0) {
		free(value);
		return NULL;
	}
	rows->row[rows->count] = (struct reader_row){.name = kept, .value = value};
	return &rows->row[rows->count++];
}

/* ---- series ---------------------------------------------------------------------- */

/* The series of a question, each with its place + 1, or 0.  Their names are forgotten again. */
struct question {
	struct reader *reader;
	int kind;
	const struct reader_sink *sink;
	struct sums series;
	size_t known; /* series that have a place */
	sqlite3_stmt *find_name, *find_row;
	int64_t unknown; /* the last row of a series that the file does not have; below 0 */
};

/* A name or a vector that is damaged is only one of many: it is left out. */
static int leave_out_damaged(struct question *question, int r)
{
	question->reader->damaged |= r == -EBADMSG;
	return r == -EBADMSG ? 0 : r;
}

static int place_name(struct question *question, const uint8_t *name, size_t size, size_t *place)
{
	int r;

	*place = READER_NOWHERE;
	r = question->sink->place(name, size, place, question->sink->userdata);
	if (r < 0)
		*place = READER_NOWHERE;
	return leave_out_damaged(question, r);
}

static int place_series(struct question *question, int64_t series, size_t *place)
{
	int result, r = 0;

	sqlite3_bind_int64(question->find_name, 1, series);
	result = sqlite3_step(question->find_name);
	*place = READER_NOWHERE;
	if (result == SQLITE_ROW)
		r = place_name(question, sqlite3_column_blob(question->find_name, 0),
			       (size_t)sqlite3_column_bytes(question->find_name, 0), place);
	else if (result != SQLITE_DONE)
		r = reader_failure(question->reader);
	sqlite3_reset(question->find_name);
	return r;
}

/* Give a vector to the place of its series; `live`: of a batch, NULL: the file has its name. */
static int add_vector(struct question *question, int64_t series, const struct series *live,
		      uint32_t weight, const void *bytes, size_t size)
{
	size_t index, place;
	int r = sums_find(&question->series, series, &index);

	if (r < 0)
		return r;
	if (index == question->known) {
		r = live ? place_name(question, live->name, live->size, &place)
			 : place_series(question, series, &place);
		if (r < 0)
			return r;
		question->known++;
		sums_value(&question->series, index)[0] = place + 1;
	}
	place = sums_value(&question->series, index)[0] - 1;
	if (place == READER_NOWHERE)
		return 0;
	r = question->sink->add(place, weight, bytes, size, question->sink->userdata);
	return leave_out_damaged(question, r);
}

static int add_range(struct question *question, sqlite3_stmt *read)
{
	int result = SQLITE_ROW, r = 0;

	while (r == 0 && (result = sqlite3_step(read)) == SQLITE_ROW)
		r = add_vector(question, sqlite3_column_int64(read, 0), NULL,
			       (uint32_t)sqlite3_column_int64(read, 1),
			       sqlite3_column_blob(read, 2), (size_t)sqlite3_column_bytes(read, 2));
	if (r == 0 && result != SQLITE_DONE)
		r = reader_failure(question->reader);
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
		return reader_failure(question->reader);
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
		return reader_failure(question->reader);
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
	sqlite3_bind_blob64(find, 3, series->name, series->size, SQLITE_STATIC);
	result = sqlite3_step(find);
	*row = result == SQLITE_ROW ? sqlite3_column_int64(find, 0) : --question->unknown;
	sqlite3_reset(find);
	return result == SQLITE_ROW || result == SQLITE_DONE ? 0 : reader_failure(question->reader);
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
			r = add_vector(question, row, from->series, from->weight,
				       live->bytes + from->at, from->size);
	}
	return r;
}

bool reader_is_damaged(const struct reader *reader)
{
	return reader->damaged;
}

static void question_clear(struct question *question)
{
	sums_clear(&question->series);
	database_finalize(&question->find_name);
	database_finalize(&question->find_row);
}

int reader_read(struct reader *reader, int kind, const struct reader_sink *sink)
{
	struct question question = {.reader = reader, .kind = kind, .sink = sink};
	int r = 0;

	sums_init(&question.series, 1);
	if (sqlite3_prepare_v2(reader->db, "SELECT name FROM series WHERE id = ?1", -1,
			       &question.find_name, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(reader->db,
			       "SELECT id FROM series WHERE hash = ?1 AND kind = ?2 AND name = ?3",
			       -1, &question.find_row, NULL) != SQLITE_OK)
		r = reader_failure(reader);
	if (r == 0)
		r = reader->incident ? read_incident(&question) : read_ranges(&question);
	if (r == 0 && !reader->incident)
		r = add_live(&question);
	question_clear(&question);
	return r;
}

/* ---- names of namespaces ---------------------------------------------------------- */

static void add_values(struct reader_row *row, const struct reader_row *other, size_t width)
{
	vector_merge(row->value, other->value, width);
	if (other->weight > row->weight)
		row->weight = other->weight;
}

/* Rows that have the same name now are one.  The map has room for all of them. */
static int join_equal(struct reader_rows *rows)
{
	size_t count = rows->count;
	int r = 0;

	rows->count = 0;
	map_forget(&rows->map);
	for (size_t i = 0; i < count; i++) {
		struct reader_row one = rows->row[i];
		uint64_t hash = hash_of(rows, &one.name);
		size_t number;

		if (map_find(&rows->map, hash, is, rows->row, &one.name, &number)) {
			add_values(&rows->row[number], &one, rows->width);
			free(one.value);
		} else {
			r |= map_add(&rows->map, hash, rows->count);
			rows->row[rows->count++] = one;
		}
	}
	return r;
}

static int name_unsure(struct reader_rows *rows)
{
	OWN_LATE_NAMES struct late_names names = {0};
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < rows->count && r == 0; i++)
		if (!rows->row[i].name.unsure)
			r = late_names_learn(&names, &rows->row[i].name.device);
	for (size_t i = 0; i < rows->count && r == 0; i++) {
		struct series_name *name = &rows->row[i].name;

		if (!name->unsure)
			continue;
		late_names_give(&names, &name->device);
		name->unsure = 0;
		any = true;
	}
	return r == 0 && any ? join_equal(rows) : r;
}

/* ---- sums ---------------------------------------------------------------------- */

/* A sink that makes a row of each name. */
struct summing {
	reader_project project;
	void *userdata;
	struct reader_rows *rows;
};

/* The part of a name that its row has.  1; 0: the series is not wanted; -EBADMSG. */
static int name_part(const struct summing *summing, const uint8_t *bytes, size_t size, bool full,
		     struct series_name *name)
{
	int r;

	*name = (struct series_name){0};
	r = series_name_decode(name, bytes, size);
	if (r < 0)
		return r;
	if (summing->project && !summing->project(name, full, summing->userdata))
		return 0;
	/* A part that says nothing of namespaces has no doubt. */
	if (!name->device.netns)
		name->unsure = 0;
	return 1;
}

static int place_sum(const uint8_t *bytes, size_t size, size_t *place, void *userdata)
{
	const struct summing *summing = userdata;
	struct reader_rows *rows = summing->rows;
	struct series_name name;
	struct reader_row *row;
	int r = name_part(summing, bytes, size, false, &name);

	/* What has a row keeps it. */
	if (r > 0 && rows->count >= READER_ROWS_MAX && !has_row(rows, &name))
		r = name_part(summing, bytes, size, true, &name);
	if (r <= 0)
		return r;
	row = reader_rows_find(rows, &name);
	if (!row)
		return -ENOMEM;
	*place = (size_t)(row - rows->row);
	return 0;
}

static int add_sum(size_t place, uint32_t weight, const uint8_t *bytes, size_t size, void *userdata)
{
	const struct summing *summing = userdata;
	struct reader_row *row = &summing->rows->row[place];

	if (weight > row->weight)
		row->weight = weight;
	return vector_add(row->value, summing->rows->width, bytes, size);
}

int reader_sums(struct reader *reader, int kind, reader_project project, void *userdata,
		struct reader_rows *rows)
{
	struct summing summing = {.project = project, .userdata = userdata, .rows = rows};
	const struct reader_sink sink = {place_sum, add_sum, &summing};
	int r;

	rows->width = history_width(kind);
	r = reader_read(reader, kind, &sink);
	if (r == 0)
		r = name_unsure(rows);
	/* The caller may sort them. */
	map_clear(&rows->map);
	return r;
}
