/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/drop_list.h"

#include <errno.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/core/drop.h"
#include "daemon/core/verdict.h"
#include "daemon/history/baseline_view.h"
#include "daemon/json/json.h"
#include "daemon/sources/drop_marks.h"
#include "daemon/sources/filter.h"
#include "daemon/varlink/call.h"

/* Flows of one reply; those behind are one row of each class. */
#define FLOWS_MAX 8192

/* -EINVAL: the call has ended. */
static int read_grouping(struct drop_list *list, struct call *call, const json_t *parameters)
{
	const char *names = json_string_value(json_object_get(parameters, "by"));
	struct drop_grouping_error error;

	list->rows.by = DROP_GROUPING_NONE;
	if (!names || drop_grouping_read(&list->rows.by, names, &error) == 0)
		return 0;
	call_error(call, "io.netflowd.UnknownField",
		   json_pack("{s:s%, s:s*}", "field", error.name, error.length, "nearest",
			     error.nearest));
	return -EINVAL;
}

int drop_list_read(struct drop_list *list, struct call *call, json_t *parameters)
{
	if (read_grouping(list, call, parameters) < 0)
		return -EINVAL;
	list->rows.first_mark = BASELINE_GROWN;
	list->rows.new_mark = BASELINE_NEW;
	list->rows.new_after_ns = INT64_MAX;
	list->by_flow = list->rows.by.fields & DROP_FLOW;
	/* A scan has more flows than rows: only the texts of rows are kept. */
	if (list->by_flow) {
		list->rows.texts = &list->texts;
		list->rows.most = FLOWS_MAX;
	}
	list->by_place =
		json_object_get(parameters, "device") || json_object_get(parameters, "netns");
	if (filter_read_classes(call, parameters, &list->rows.classes) < 0)
		return -EINVAL;
	list->by_class = list->rows.classes;
	if (!list->by_class)
		list->rows.classes = VERDICT_CLASSES_ALL;
	list->top = call_read_count(call, parameters, "top", SIZE_MAX);
	return list->top ? 0 : -EINVAL;
}

void drop_list_clear(struct drop_list *list)
{
	drop_rows_clear(&list->rows);
	texts_clear(&list->texts);
	baseline_view_release(&list->view);
}

void drop_list_mark(struct drop_list *list, struct baseline_view *view, int64_t seen_ns)
{
	list->view = view;
	list->seen_ns = seen_ns;
	/* Where the view has no room for all causes, one that it lacks is not new. */
	list->rows.new_after_ns = view && !view->full ? seen_ns : INT64_MAX;
}

int drop_list_place(struct drop_list *list, struct drop_row *cause, bool folded,
		    struct drop_place *place)
{
	drop_key_project(&cause->key, drop_row_fields(cause, DROP_FIELDS | DROP_FLOW));
	if (!list->by_flow)
		drop_marks_place(list->view, cause);
	if (list->texts.failed)
		return -ENOMEM;
	return drop_rows_place(&list->rows, cause, folded, place);
}

int drop_list_add_record(struct drop_list *list, const struct drop *drop, bool folded)
{
	const struct contents *contents = &drop->contents;
	struct drop_row row = {.packets = 1,
			       .segments = contents->bytes->segments,
			       .bytes = contents->bytes->len,
			       .unmeasured = !contents->bytes->segments ||
					     contents->bytes->flags & NF_BYTES_UNKNOWN,
			       .last_ns = (int64_t)time_realtime_of(drop->time_ns)};
	struct drop_place place;
	int r;

	row.key.class = (uint8_t)drop->cause.verdict.class;
	row.key.flow = contents->flow[0] ? contents->flow : contents->protocol;
	r = drop_list_place(list, &row, folded, &place);
	if (r == 0)
		drop_rows_count(&list->rows, &place, &row);
	return r;
}

json_t *drop_list_row(const struct drop_list *list, size_t i)
{
	unsigned int fields = list->rows.by.fields;
	const struct drop_row *row = &list->rows.row[i];
	json_t *object = json_drop_row(row, fields);

	drop_marks_put(object, list->view, row, list->seen_ns, fields != DROP_FIELDS);
	return object;
}

/* The packets of each class, hidden or not. */
static json_t *classes_to_json(const struct drop_rows *rows)
{
	json_t *classes = json_object();

	for (int i = 0; i < KNOWLEDGE_CLASSES; i++)
		json_object_set_new(classes, knowledge_class_name((enum knowledge_class)i),
				    json_integer(json_count(rows->class[i])));
	return classes;
}

static int put_count(json_t *reply, const char *member, uint64_t count)
{
	return json_object_set_new(reply, member, json_integer(json_count(count)));
}

int drop_list_put(const struct drop_list *list, bool exact, json_t *reply)
{
	const struct drop_rows *rows = &list->rows;
	int r = json_object_set_new(reply, "exact", json_boolean(exact && !list->by_flow));

	r |= put_count(reply, "packets", rows->sum.packets);
	if (!rows->sum.unmeasured) {
		r |= put_count(reply, "segments", rows->sum.segments);
		r |= put_count(reply, "bytes", rows->sum.bytes);
	}
	r |= json_object_set_new(reply, "classes", classes_to_json(rows));
	r |= put_count(reply, "messages", rows->messages);
	if (list->by_class)
		r |= put_count(reply, "hidden", drop_rows_hidden(rows));
	if (list->by_place)
		r |= put_count(reply, "folded", rows->folded);
	r |= put_count(reply, "matched", rows->count);
	return r ? -ENOMEM : 0;
}
