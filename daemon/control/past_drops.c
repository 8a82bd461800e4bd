/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDrops and GetDropRecords for the past. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/drop_marks.h"
#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/core/reason.h"
#include "daemon/core/verdict.h"
#include "daemon/history/batch.h"
#include "daemon/history/place_key.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"
#include "daemon/store/records.h"

/* Marks sums that are no rows, by their enum lot. */
#define LOT_MEMBER "lot"

struct drops_question {
	bool by_class;
	unsigned int classes; /* VERDICT_CLASS_BIT() */
	bool by_reason;
	struct reason_wanted reason;
	const char *by;
	size_t top;
	uint64_t class[KNOWLEDGE_CLASSES]; /* packets of each class, hidden or not */
	uint64_t messages, folded;
	struct baseline_view *view; /* NULL: the period has no marks */
	size_t rows;		    /* of the reply, before its limit */
};

/* ---- what to take ----------------------------------------------------------------- */

static enum knowledge_class class_of(const json_t *name)
{
	const char *text = json_string_value(json_object_get(name, "class"));
	enum knowledge_class class = text ? verdict_class(text) : KNOWLEDGE_CLASSES;

	return class == KNOWLEDGE_CLASSES ? KNOWLEDGE_UNKNOWN : class;
}

static bool is_hidden(const struct drops_question *question, const json_t *name)
{
	return !(question->classes & VERDICT_CLASS_BIT(class_of(name)));
}

/* Whether it lacks a field that the call asks for, because its key has folded. */
static bool has_lost_place(const struct past *past, const json_t *name)
{
	bool folded = json_is_true(json_object_get(name, "gone")) ||
		      json_is_true(json_object_get(name, "unkeyed"));
	bool coarse = json_is_true(json_object_get(name, "coarse"));

	return (past_text(past, "device") && (folded || coarse)) ||
	       (past_text(past, "netns") && folded);
}

/* By name, because an older kernel may have had other numbers. */
static bool is_reason(const struct past *past, const json_t *name)
{
	const struct drops_question *question = past->state;
	const char *reason = json_string_value(json_object_get(name, "reason"));
	const json_t *number = json_object_get(name, "reason_number");

	return !question->by_reason ||
	       reason_is(&question->reason, reason, number, (uint32_t)json_integer_value(number));
}

static bool takes(const json_t *name, void *userdata)
{
	const struct past *past = userdata;

	return is_reason(past, name) &&
	       (has_lost_place(past, name) || past_place(past, name) != PAST_ELSEWHERE);
}

static int prepare(struct past *past)
{
	const char *reason = past_text(past, "reason"), *nearest;
	struct drops_question *question = calloc(1, sizeof(*question));

	past->state = question;
	if (!question)
		return -ENOMEM;
	if (filter_read_classes(past->call, past->parameters, &question->classes) < 0)
		return -EINVAL;
	question->by_class = question->classes;
	if (!question->by_class)
		question->classes = VERDICT_CLASSES_ALL;
	question->by = past_text(past, "by");
	question->by_reason = reason;
	past->records = question->by && !strcmp(question->by, "flow");
	if (!past->records)
		question->view = drop_marks_of_period(past->control, past->until_us);
	question->top = control_read_count(past->call, past->parameters, "top", SIZE_MAX);
	if (!question->top)
		return -EINVAL;
	if (reason && records_find_reason(past->control->parts.records, reason, &question->reason,
					  &nearest) < 0) {
		call_error(past->call, "io.netflowd.UnknownReason",
			   json_pack("{s:s, s:s*}", "reason", reason, "nearest", nearest));
		return -EINVAL;
	}
	return 0;
}

/* ---- grouping ------------------------------------------------------------------------ */

/* The members that the rows of a group have in common. */
static const struct grouping {
	const char *by;
	const char *member[9];
} groupings[] = {
	{"reason",
	 {"reason", "inferred", "kernel_reason", "reason_number", "subsystem", "candidates",
	  "class"}},
	{"location", {"location", "function", "class"}},
	{"dev", {"device", "ifindex", "netns", "netns_name", "class", PLACE_DEVICE, PLACE_NETNS}},
	{"proto", {"protocol", "class"}},
	{"netns", {"netns", "netns_name", "class", PLACE_NETNS}},
	{"cgroup", {"cgroup_id", "owner", "class"}},
	{"flow", {"flow", "class"}},
};

static json_t *project(const json_t *name, const char *by)
{
	json_t *part = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++)
		for (size_t j = 0; !strcmp(groupings[i].by, by) && groupings[i].member[j]; j++) {
			json_t *value = json_object_get(name, groupings[i].member[j]);

			if (value)
				json_object_set(part, groupings[i].member[j], value);
		}
	return part;
}

/* The sums that the reply has, of rows that were taken, hidden, or lack what was asked for. */
enum lot { LOT_ROW, LOT_MESSAGE, LOT_FOLDED, LOT_HIDDEN /* and its class */ };

static enum lot lot_of(const struct past *past, const json_t *name)
{
	if (json_is_true(json_object_get(name, "message")))
		return LOT_MESSAGE;
	if (has_lost_place(past, name) || past_place(past, name) == PAST_EARLIER)
		return LOT_FOLDED;
	return is_hidden(past->state, name) ? LOT_HIDDEN : LOT_ROW;
}

/* What is left of a row when there are too many: it counts as one whose key is not known. */
static json_t *reduce(json_t *name)
{
	json_t *part = project(name, "reason");
	json_t *location = json_object_get(name, "location");
	json_t *function = json_object_get(name, "function");

	if (part && location)
		json_object_set(part, "location", location);
	if (part && function)
		json_object_set(part, "function", function);
	if (part)
		json_object_set_new(part, "coarse", json_true());
	return part;
}

static json_t *part_of(json_t *name, bool full, void *userdata)
{
	const struct past *past = userdata;
	const struct drops_question *question = past->state;

	enum lot lot;

	if (!takes(name, userdata))
		return NULL;
	lot = lot_of(past, name);
	if (lot == LOT_HIDDEN)
		return json_pack("{s:i}", LOT_MEMBER, LOT_HIDDEN + (int)class_of(name));
	if (lot != LOT_ROW)
		return json_pack("{s:i}", LOT_MEMBER, (int)lot);
	if (question->by) {
		json_t *part = project(name, question->by);

		drop_marks_note(part, name, question->view);
		return part;
	}
	return full ? reduce(name) : json_incref(name);
}

static int by_packets(const void *a, const void *b)
{
	const struct reader_row *one = a, *other = b;
	uint64_t x = one->value[DROPS_PACKETS], y = other->value[DROPS_PACKETS];
	int order = verdict_rank(class_of(one->name)) - verdict_rank(class_of(other->name));

	if (!order)
		order = drop_marks_order((enum baseline_mark)one->mark,
					 (enum baseline_mark)other->mark);
	if (order)
		return order;
	return x > y ? -1 : x < y;
}

/* ---- evidence --------------------------------------------------------------------------- */

/* Leave the words that both lists have; without one of them, nothing is left. */
static void join_evidence(json_t *name, const json_t *other)
{
	json_t *words = json_object_get(name, "evidence");
	const json_t *others = json_object_get(other, "evidence");

	if (!others) {
		json_object_del(name, "evidence");
		return;
	}
	for (size_t i = json_array_size(words); i-- > 0;) {
		const json_t *word;
		bool both = false;
		size_t j;

		json_array_foreach(others, j, word) both |=
			json_equal(word, json_array_get(words, i));
		if (!both)
			json_array_remove(words, i);
	}
}

/* Rows that only their evidence distinguishes, and that mean the same, are one row with what they have in common. */
static int join_rows(struct reader_rows *rows)
{
	OWN_JSON json_t *index = json_object();

	for (size_t i = 0; index && i < rows->count; i++) {
		struct reader_row *row = &rows->row[i];
		OWN_JSON json_t *rest = json_copy(row->name);
		OWN_FREE char *text = NULL;
		const json_t *first;

		json_object_del(rest, "evidence");
		text = json_dumps(rest, JSON_COMPACT | JSON_SORT_KEYS);
		if (!text)
			return -ENOMEM;
		first = json_object_get(index, text);
		if (!first) {
			json_object_set_new(index, text, json_integer((json_int_t)i));
			continue;
		}
		join_evidence(rows->row[json_integer_value(first)].name, row->name);
		vector_merge(rows->row[json_integer_value(first)].value, row->value, rows->width);
		/* Rows without packets are left out. */
		row->value[DROPS_PACKETS] = 0;
	}
	return index ? 0 : -ENOMEM;
}

/* ---- the rows ------------------------------------------------------------------------- */

/* `lot`: LOT_HIDDEN and above are the classes. */
static void add_lot(struct drops_question *question, int lot, uint64_t packets)
{
	if (lot == LOT_MESSAGE)
		question->messages += packets;
	else if (lot == LOT_FOLDED)
		question->folded += packets;
	else if (lot >= LOT_HIDDEN && lot - LOT_HIDDEN < KNOWLEDGE_CLASSES)
		question->class[lot - LOT_HIDDEN] += packets;
}

/* The packets of each class; *hidden: of the classes that were not asked for. */
static json_t *classes_to_json(const struct drops_question *question, uint64_t *hidden)
{
	json_t *classes = json_object();

	*hidden = 0;
	for (int i = 0; i < KNOWLEDGE_CLASSES; i++) {
		json_object_set_new(classes, knowledge_class_name((enum knowledge_class)i),
				    json_integer(json_count(question->class[i])));
		if (!(question->classes & VERDICT_CLASS_BIT(i)))
			*hidden += question->class[i];
	}
	return classes;
}

static void mark_row(const struct drops_question *question, struct reader_row *row)
{
	struct baseline_rate rate;

	/* Rows of several causes have their marks already. */
	if (question->by)
		return;
	drop_marks_of_series(question->view, row->name, (int64_t)row->value[DROPS_LAST_US], &rate);
	row->mark = rate.mark;
}

/* Sort the rows, and move those that are no rows of the reply to its sums. */
static void sort_rows(struct past *past, struct reader_rows *rows)
{
	struct drops_question *question = past->state;
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct reader_row row = rows->row[i];
		const json_t *lot = json_object_get(row.name, LOT_MEMBER);

		if (row.weight > past->weight)
			past->weight = row.weight;
		if (lot)
			add_lot(question, (int)json_integer_value(lot), row.value[DROPS_PACKETS]);
		else
			question->class[class_of(row.name)] += row.value[DROPS_PACKETS];
		if (!lot && row.value[DROPS_PACKETS]) {
			/* The others stay behind those that are kept, to be freed. */
			mark_row(question, &row);
			rows->row[i] = rows->row[kept];
			rows->row[kept++] = row;
		}
	}
	question->rows = kept;
	if (kept)
		qsort(rows->row, kept, sizeof(*rows->row), by_packets);
}

/* NULL: it is not known, of some of the packets. */
static json_t *measured(const uint64_t *value, int which)
{
	return value[DROPS_UNMEASURED] ? NULL : json_integer(json_count(value[which]));
}

static int put_measured(json_t *object, const char *member, const uint64_t *value, int which)
{
	json_t *known = measured(value, which);

	return known ? json_object_set_new(object, member, known) : 0;
}

static int put_rows(struct past *past, const struct reader_rows *rows)
{
	const struct drops_question *question = past->state;
	bool flows = question->by && !strcmp(question->by, "flow");
	size_t limit = question->top < past->limit ? question->top : past->limit;
	bool lossy = past_text(past, "device") || past_text(past, "netns");
	uint64_t sum[DROPS_VALUES] = {0}, hidden;
	int r;

	for (size_t i = 0; i < question->rows; i++) {
		const struct reader_row *row = &rows->row[i];
		const uint64_t *value = row->value;
		struct baseline_rate rate;
		json_t *object;

		vector_merge(sum, value, DROPS_VALUES);
		if (i >= limit)
			continue;
		object = json_pack("{s:I, s:o*, s:o*, s:o}", "packets",
				   json_count(value[DROPS_PACKETS]), "segments",
				   measured(value, DROPS_SEGMENTS), "bytes",
				   measured(value, DROPS_BYTES), "last",
				   past_time((int64_t)value[DROPS_LAST_US]));
		rate = (struct baseline_rate){.mark = (enum baseline_mark)row->mark};
		if (!question->by)
			drop_marks_of_series(question->view, row->name,
					     (int64_t)value[DROPS_LAST_US], &rate);
		drop_marks_put(object, &rate, question->by);
		if (!object || json_object_update(object, row->name) != 0 ||
		    json_array_append_new(past->rows, object) != 0)
			return -ENOMEM;
	}
	r = json_object_set_new(past->head, "exact",
				json_boolean(!flows && past_is_whole(past, COVERAGE_DROPS)));
	r |= json_object_set_new(past->head, "packets",
				 json_integer(json_count(sum[DROPS_PACKETS])));
	r |= put_measured(past->head, "segments", sum, DROPS_SEGMENTS);
	r |= put_measured(past->head, "bytes", sum, DROPS_BYTES);
	if (question->view)
		r |= json_object_set_new(past->head, "baseline",
					 drop_marks_json(past->control, question->view));
	r |= json_object_set_new(past->head, "matched", json_integer(json_count(question->rows)));
	r |= json_object_set_new(past->head, "classes", classes_to_json(question, &hidden));
	r |= json_object_set_new(past->head, "messages",
				 json_integer(json_count(question->messages)));
	if (question->by_class)
		r |= json_object_set_new(past->head, "hidden", json_integer(json_count(hidden)));
	if (lossy)
		r |= json_object_set_new(past->head, "folded",
					 json_integer(json_count(question->folded)));
	return r ? -ENOMEM : 0;
}

/* Records are counted by flow as they are read, and not kept. */
struct flows {
	struct past *past;
	struct reader_rows *rows;
	json_t *number; /* of each flow: its row */
	int error;
};

static int add_flow(struct flows *flows, const json_t *record)
{
	const char *flow = json_string_value(json_object_get(record, "flow"));
	const char *class = knowledge_class_name(class_of(record));
	OWN_FREE char *key = NULL;
	const json_t *segments = json_object_get(record, "segments");
	const json_t *bytes = json_object_get(record, "length_bytes");
	const uint64_t value[DROPS_VALUES] = {
		[DROPS_PACKETS] = 1,
		[DROPS_SEGMENTS] = (uint64_t)json_integer_value(segments),
		[DROPS_BYTES] = (uint64_t)json_integer_value(bytes),
		[DROPS_UNMEASURED] = !segments || !bytes,
	};
	const json_t *known;

	if (!flow)
		flow = json_string_value(json_object_get(record, "protocol"));
	if (!flow)
		return 0;
	if (asprintf(&key, "%s %s", class, flow) < 0)
		return -ENOMEM;
	if (flows->rows->count >= READER_ROWS_MAX && !json_object_get(flows->number, key)) {
		flow = "(others)";
		snprintf(key, strlen(key) + 1, "%s", class);
	}
	known = json_object_get(flows->number, key);
	if (known) {
		vector_merge(flows->rows->row[json_integer_value(known)].value, value,
			     DROPS_VALUES);
		return 0;
	}
	if (json_object_set_new(flows->number, key, json_integer((json_int_t)flows->rows->count)))
		return -ENOMEM;
	return reader_rows_add(flows->rows, json_pack("{s:s, s:s}", "flow", flow, "class", class),
			       value, 1);
}

static bool count_flow(const json_t *record, void *userdata)
{
	struct flows *flows = userdata;
	struct drops_question *question = flows->past->state;

	if (!takes(record, flows->past) || flows->error)
		return false;
	if (lot_of(flows->past, record) == LOT_MESSAGE)
		question->messages++;
	else if (is_hidden(question, record))
		question->class[class_of(record)]++;
	else
		flows->error = add_flow(flows, record);
	return false;
}

static int read_flows(struct reader *reader, struct past *past, struct reader_rows *rows)
{
	OWN_JSON json_t *records = json_array(), *number = json_object();
	struct flows flows = {.past = past, .rows = rows, .number = number};
	size_t matched;
	int r = records && number ? 0 : -ENOMEM;

	rows->width = DROPS_VALUES;
	if (r == 0)
		r = reader_records(reader, HISTORY_RECORD_DROP, 0, count_flow, &flows, records,
				   &matched);
	return r == 0 ? flows.error : r;
}

static int work(struct reader *reader, struct past *past)
{
	const struct drops_question *question = past->state;
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r;

	if (question->by && !strcmp(question->by, "flow"))
		r = read_flows(reader, past, &rows);
	else
		r = reader_sums(reader, HISTORY_DROPS, part_of, past, &rows);
	if (r == 0)
		r = question->by ? drop_marks_rows(&rows, question->view) : join_rows(&rows);
	if (r < 0)
		return r;
	sort_rows(past, &rows);
	return put_rows(past, &rows);
}

int past_read_drops(struct reader *reader, struct past *past)
{
	struct drops_question all = {.top = SIZE_MAX, .classes = VERDICT_CLASSES_ALL};
	void *state = past->state;
	int r;

	past->state = &all;
	r = work(reader, past);
	past->state = state;
	return r;
}

static void clear(void *state)
{
	struct drops_question *question = state;

	baseline_view_release(&question->view);
	free(question);
}

const struct past_kind past_drops = {
	.member = "rows", .rows_by_default = 100, .prepare = prepare, .work = work, .clear = clear};
