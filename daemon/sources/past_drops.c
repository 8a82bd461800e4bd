/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDrops for the past. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/core/reason.h"
#include "daemon/core/verdict.h"
#include "daemon/history/batch.h"
#include "daemon/history/series.h"
#include "daemon/history/stored_record.h"
#include "daemon/history/vector.h"
#include "daemon/sources/drop_list.h"
#include "daemon/sources/drop_marks.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/past.h"

struct drops_question {
	struct drop_list list;
	struct filter filter; /* without places, see past_place() */
	struct past *past;
	struct drop_place *place; /* of the series, in the order in which they came */
	size_t places, room;
	struct stored_record *stored; /* by flow: room for one */
};

/* ---- what to take ----------------------------------------------------------------- */

/* Whether it lacks a field that the call asks for, because its key has folded. */
static bool has_lost_place(const struct past *past, const struct drop_row *row)
{
	bool folded = row->lost & (DROP_GONE | DROP_UNKEYED);

	return (past_text(past, "device") && row->lost) || (past_text(past, "netns") && folded);
}

/* By name, because an older kernel may have had other numbers. */
static bool is_reason(const struct filter *filter, const struct drop_row *row)
{
	return !filter->by_reason || reason_is(&filter->reason, row->key.reason, row->key.numbered,
					       row->key.reason_number);
}

/* The place of a series. */
static int find_place(struct drops_question *question, struct drop_row *row,
		      struct drop_place *place)
{
	struct drop_list *list = &question->list;
	enum past_place where;
	bool folded;

	*place = (struct drop_place){0};
	if (!is_reason(&question->filter, row))
		return 0;
	where = past_place(question->past, &row->key.device);
	folded = has_lost_place(question->past, row);
	if (!folded && where == PAST_ELSEWHERE)
		return 0;
	return drop_list_place(list, row, folded || where == PAST_EARLIER, place);
}

static int prepare(struct past *past)
{
	struct drops_question *question = calloc(1, sizeof(*question));
	struct baseline_view *view;

	past->state = question;
	if (!question)
		return -ENOMEM;
	question->past = past;
	if (drop_list_read(&question->list, past->call, past->parameters) < 0)
		return -EINVAL;
	/* Of a week of pods that came and went, only the texts of the rows are kept. */
	question->list.rows.texts = &question->list.texts;
	question->list.rows.most = READER_ROWS_MAX;
	past->records = question->list.by_flow;
	if (!past->records) {
		view = drop_marks_of_period(past->sources, past->until_us);
		drop_list_mark(&question->list, view, view ? view->seen_us * 1000 : 0);
	}
	return past_filter_read(past, &question->filter);
}

/* ---- series -------------------------------------------------------------------------- */

static int place_series(const uint8_t *name, size_t size, size_t *place, void *userdata)
{
	struct drops_question *question = userdata;
	struct drop_row row = {0};
	int r = series_name_decode_drops(&row, name, size);

	if (r < 0)
		return r;
	if (ARRAY_GROW(question->place, question->places, question->room) < 0)
		return -ENOMEM;
	*place = question->places++;
	return find_place(question, &row, &question->place[*place]);
}

static int add_series(size_t place, uint32_t weight, const uint8_t *bytes, size_t size,
		      void *userdata)
{
	struct drops_question *question = userdata;
	uint64_t value[DROPS_VALUES] = {0};
	struct drop_row count;
	int r = vector_add(value, DROPS_VALUES, bytes, size);

	if (r < 0)
		return r;
	if (weight > question->past->weight)
		question->past->weight = weight;
	count = (struct drop_row){.packets = value[DROPS_PACKETS],
				  .segments = value[DROPS_SEGMENTS],
				  .bytes = value[DROPS_BYTES],
				  .unmeasured = value[DROPS_UNMEASURED],
				  .last_ns = (int64_t)value[DROPS_LAST_US] * 1000};
	drop_rows_count(&question->list.rows, &question->place[place], &count);
	return 0;
}

/* ---- records ------------------------------------------------------------------------- */

static int take_record(int64_t time_us, const void *body, size_t size, void *userdata)
{
	struct drops_question *question = userdata;
	const struct drop *drop = &question->stored->record.drop;
	int r = stored_record_read(question->stored, RECORDS_DROPS, time_us, body, size);
	enum past_place where;

	if (r < 0)
		return r;
	where = past_place(question->past, &drop->device);
	if (where == PAST_ELSEWHERE || !filter_takes_drop(&question->filter, drop))
		return 0;
	return drop_list_add_record(&question->list, drop, where == PAST_EARLIER);
}

static int read_records(struct reader *reader, struct drops_question *question)
{
	OWN_FREE struct stored_record *stored = malloc(sizeof(*stored));

	question->stored = stored;
	return stored ? reader_records(reader, HISTORY_RECORD_DROP, take_record, question)
		      : -ENOMEM;
}

/* ---- the reply ------------------------------------------------------------------------ */

static int put_rows(const struct reader *reader, struct past *past, const struct drop_list *list)
{
	size_t limit = list->top < past->limit ? list->top : past->limit;

	for (size_t i = 0; i < list->rows.count && i < limit; i++)
		if (json_array_append_new(past->rows, drop_list_row(list, i)) != 0)
			return -ENOMEM;
	if (list->view && json_object_set_new(past->head, "baseline",
					      drop_marks_json(past->sources, list->view)) != 0)
		return -ENOMEM;
	return drop_list_put(list, past_is_whole(past, reader, COVERAGE_DROPS), past->head);
}

static int answer(struct reader *reader, struct drops_question *question)
{
	const struct reader_sink sink = {place_series, add_series, question};
	int r = question->list.by_flow ? read_records(reader, question)
				       : reader_read(reader, HISTORY_DROPS, &sink);

	if (r == 0)
		r = drop_rows_finish(&question->list.rows);
	return r == 0 ? put_rows(reader, question->past, &question->list) : r;
}

static int work(struct reader *reader, struct past *past)
{
	return answer(reader, past->state);
}

static void question_clear(struct drops_question *question)
{
	drop_list_clear(&question->list);
	filter_clear(&question->filter);
	free(question->place);
}

int past_read_drops(struct reader *reader, struct past *past)
{
	struct drops_question all = {.past = past,
				     .list = {.top = SIZE_MAX,
					      .rows = {.by = DROP_GROUPING_NONE,
						       .classes = VERDICT_CLASSES_ALL,
						       .new_after_ns = INT64_MAX}}};
	int r;

	all.list.rows.texts = &all.list.texts;
	all.list.rows.most = READER_ROWS_MAX;
	r = answer(reader, &all);
	question_clear(&all);
	return r;
}

static void clear(void *state)
{
	question_clear(state);
	free(state);
}

const struct past_kind past_drops = {
	.member = "rows", .rows_by_default = 100, .prepare = prepare, .work = work, .clear = clear};
