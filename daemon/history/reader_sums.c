/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/core/keymap.h"
#include "daemon/history/batch.h"
#include "daemon/history/place_key.h"
#include "daemon/history/reader_internal.h"
#include "daemon/history/series.h"
#include "daemon/history/sums.h"
#include "daemon/history/vector.h"
#include "daemon/json/json.h"

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

static int place_name(struct question *question, const char *text, size_t *place)
{
	OWN_JSON json_t *name = text ? json_loads(text, 0, NULL) : NULL;
	bool unsure = name && json_object_del(name, SERIES_UNSURE) == 0;

	*place = READER_NOWHERE;
	return name ? question->sink->place(name, unsure, place, question->sink->userdata) : 0;
}

static int place_series(struct question *question, int64_t series, size_t *place)
{
	int result, r;

	sqlite3_bind_int64(question->find_name, 1, series);
	result = sqlite3_step(question->find_name);
	if (result != SQLITE_ROW && result != SQLITE_DONE)
		r = reader_failure(question->reader);
	else
		r = place_name(question,
			       result == SQLITE_ROW
				       ? (const char *)sqlite3_column_text(question->find_name, 0)
				       : NULL,
			       place);
	sqlite3_reset(question->find_name);
	return r;
}

/* Give a vector to the place of its series; `text` is its name, NULL: the file has it. */
static int add_vector(struct question *question, int64_t series, const char *text, uint32_t weight,
		      const void *bytes, size_t size)
{
	size_t index, place;
	int r = sums_find(&question->series, series, &index);

	if (r < 0)
		return r;
	if (index == question->known) {
		r = text ? place_name(question, text, &place)
			 : place_series(question, series, &place);
		if (r < 0)
			return r;
		question->known++;
		sums_value(&question->series, index)[0] = place + 1;
	}
	place = sums_value(&question->series, index)[0] - 1;
	if (place == READER_NOWHERE)
		return 0;
	return question->sink->add(place, weight, bytes, size, question->sink->userdata);
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
	sqlite3_bind_text(find, 3, series->name, -1, SQLITE_STATIC);
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
			r = add_vector(question, row, from->series->name, from->weight,
				       live->bytes + from->at, from->size);
	}
	return r;
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

/* The identity of a row's namespace, as the name of a member; false: it is not known. */
static bool netns_of(const struct reader_row *row, char key[static 24])
{
	json_int_t number = json_integer_value(json_object_get(row->name, PLACE_NETNS));

	snprintf(key, 24, "%" JSON_INTEGER_FORMAT, number);
	return number;
}

/* The name of each namespace; null if it had several. */
static json_t *learn_names(const struct reader_rows *rows)
{
	json_t *names = json_object();

	for (size_t i = 0; names && i < rows->count; i++) {
		json_t *name = json_object_get(rows->row[i].name, "netns_name"), *known;
		char key[24];

		if (rows->row[i].unsure || !name || !netns_of(&rows->row[i], key))
			continue;
		known = json_object_get(names, key);
		if (!known)
			json_object_set(names, key, name);
		else if (!json_equal(known, name))
			json_object_set_new(names, key, json_null());
	}
	return names;
}

/* Whether a row has its name now. */
static bool give_name(struct reader_row *row, const json_t *names)
{
	char key[24];
	json_t *name = netns_of(row, key) ? json_object_get(names, key) : NULL;

	return json_is_string(name) && json_object_set(row->name, "netns_name", name) == 0;
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

/* Rows that have the same name now are one. */
static int join_equal(struct reader_rows *rows)
{
	OWN_JSON json_t *index = json_object();
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		OWN_FREE char *text = NULL;
		const json_t *first;

		if (rows->row[i].unsure)
			continue;
		text = json_dumps(rows->row[i].name, JSON_COMPACT | JSON_SORT_KEYS);
		if (!text || !index)
			return -ENOMEM;
		first = json_object_get(index, text);
		if (first)
			join_row(rows, i, json_integer_value(first));
		else
			json_object_set_new(index, text, json_integer((json_int_t)i));
	}
	for (size_t i = 0; i < rows->count; i++)
		if (rows->row[i].value)
			rows->row[kept++] = rows->row[i];
	rows->count = kept;
	return 0;
}

/* Under load a namespace has no name for an interval, and then its name: both rows are one. */
static int name_unsure(struct reader_rows *rows)
{
	OWN_JSON json_t *names = NULL;
	bool any = false;

	for (size_t i = 0; i < rows->count; i++) {
		struct reader_row *row = &rows->row[i];

		if (!row->unsure)
			continue;
		if (!names)
			names = learn_names(rows);
		if (!names)
			return -ENOMEM;
		if (give_name(row, names)) {
			row->unsure = false;
			any = true;
		}
	}
	return any ? join_equal(rows) : 0;
}

/* ---- sums ---------------------------------------------------------------------- */

/* A sink that makes a row of each name. */
struct summing {
	reader_project project;
	void *userdata;
	struct keymap names;
	struct reader_rows *rows;
};

/* The row of a name, which is stolen; it is new if no series before had the name. */
static int row_of(struct summing *summing, json_t *name, bool unsure, size_t *row)
{
	OWN_FREE char *text = json_dumps(name, JSON_COMPACT | JSON_SORT_KEYS);
	static const uint64_t zeros[VECTOR_MAX];
	struct keymap_key key = {{0}};
	size_t before = summing->names.count;
	int r;

	if (!text) {
		json_decref(name);
		return -ENOMEM;
	}
	/* Two hashes and the length: other names do not have all three. */
	key.word[0] = series_hash(0, text);
	key.word[1] = series_hash(0x5bd1e995, text);
	key.word[2] = strlen(text) << 1 | unsure;
	if (keymap_add(&summing->names, &key, row) < 0) {
		json_decref(name);
		return -ENOMEM;
	}
	if (summing->names.count == before) {
		json_decref(name);
		return 0;
	}
	r = reader_rows_add(summing->rows, name, zeros, 0);
	if (r == 0)
		summing->rows->row[*row].unsure = unsure;
	return r;
}

static int place_sum(json_t *name, bool unsure, size_t *place, void *userdata)
{
	struct summing *summing = userdata;
	bool full = summing->rows->count >= READER_ROWS_MAX;
	json_t *part = summing->project ? summing->project(name, full, summing->userdata)
					: json_incref(name);

	/* A part that says nothing of namespaces has no doubt. */
	unsure = unsure && json_object_get(part, "netns");
	return part ? row_of(summing, part, unsure, place) : 0;
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
	keymap_clear(&summing.names);
	return r == 0 ? name_unsure(rows) : r;
}
