/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDrops and GetDropRecords for the past. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/past.h"
#include "daemon/history/batch.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"
#include "daemon/store/records.h"

/* Marks sums that are no rows: false, of what lacks a field that was asked for; true, of what `faults` hides. */
#define LOT_MEMBER "lot"

struct drops_question {
	bool faults;
	bool by_reason;
	uint32_t reason;
	const char *by;
	size_t top;
	uint64_t hidden, folded;
	size_t rows; /* of the reply, before its limit */
};

/* ---- what to take ----------------------------------------------------------------- */

static bool is_hidden(const json_t *name)
{
	const char *class = json_string_value(json_object_get(name, "class"));

	return class && strcmp(class, "fault") != 0;
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
	const char *wanted = past_text(past, "reason");
	const char *own = json_string_value(json_object_get(name, "reason"));
	const json_t *number = json_object_get(name, "reason_number");

	if (!question->by_reason || (own && !strcasecmp(own, wanted)))
		return true;
	return number && json_integer_value(number) == question->reason;
}

static bool takes(const json_t *name, void *userdata)
{
	const struct past *past = userdata;

	return is_reason(past, name) &&
	       (has_lost_place(past, name) || past_takes_place(past, name));
}

static int prepare(struct past *past)
{
	const char *reason = past_text(past, "reason"), *nearest;
	struct drops_question *question = calloc(1, sizeof(*question));

	past->state = question;
	if (!question)
		return -ENOMEM;
	question->faults = json_is_true(json_object_get(past->parameters, "faults"));
	question->by = past_text(past, "by");
	question->by_reason = reason;
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
	const char *member[5];
} groupings[] = {
	{"reason", {"reason", "reason_number", "subsystem", "class"}},
	{"location", {"location"}},
	{"dev", {"device", "ifindex", "netns", "netns_name"}},
	{"proto", {"protocol"}},
	{"netns", {"netns", "netns_name"}},
	{"cgroup", {"cgroup_id", "owner"}},
	{"flow", {"flow"}},
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
enum lot { LOT_ROW, LOT_HIDDEN, LOT_FOLDED };

static enum lot lot_of(const struct past *past, const json_t *name)
{
	const struct drops_question *question = past->state;

	if (has_lost_place(past, name))
		return LOT_FOLDED;
	return question->faults && is_hidden(name) ? LOT_HIDDEN : LOT_ROW;
}

/* What is left of a row when there are too many: it counts as one whose key is not known. */
static json_t *reduce(json_t *name)
{
	json_t *part = project(name, "reason");
	json_t *location = json_object_get(name, "location");

	if (part && location)
		json_object_set(part, "location", location);
	if (part)
		json_object_set_new(part, "coarse", json_true());
	return part;
}

static json_t *part_of(json_t *name, bool full, void *userdata)
{
	const struct past *past = userdata;
	const struct drops_question *question = past->state;

	if (!takes(name, userdata))
		return NULL;
	switch (lot_of(past, name)) {
	case LOT_FOLDED:
		return json_pack("{s:b}", LOT_MEMBER, 0);
	case LOT_HIDDEN:
		return json_pack("{s:b}", LOT_MEMBER, 1);
	default:
		break;
	}
	if (question->by)
		return project(name, question->by);
	return full ? reduce(name) : json_incref(name);
}

static int by_packets(const void *a, const void *b)
{
	uint64_t x = ((const struct reader_row *)a)->value[DROPS_PACKETS];
	uint64_t y = ((const struct reader_row *)b)->value[DROPS_PACKETS];

	return x > y ? -1 : x < y;
}

/* ---- the rows ------------------------------------------------------------------------- */

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
		if (json_is_true(lot))
			question->hidden += row.value[DROPS_PACKETS];
		else if (lot)
			question->folded += row.value[DROPS_PACKETS];
		if (!lot && row.value[DROPS_PACKETS]) {
			/* The others stay behind those that are kept, to be freed. */
			rows->row[i] = rows->row[kept];
			rows->row[kept++] = row;
		}
	}
	question->rows = kept;
	if (kept)
		qsort(rows->row, kept, sizeof(*rows->row), by_packets);
}

static int put_rows(struct past *past, const struct reader_rows *rows)
{
	const struct drops_question *question = past->state;
	bool flows = question->by && !strcmp(question->by, "flow");
	size_t limit = question->top < past->limit ? question->top : past->limit;
	bool lossy = past_text(past, "device") || past_text(past, "netns");
	uint64_t sum[DROPS_VALUES] = {0};
	int r;

	for (size_t i = 0; i < question->rows; i++) {
		const struct reader_row *row = &rows->row[i];
		const uint64_t *value = row->value;
		json_t *object;

		for (int j = DROPS_PACKETS; j < DROPS_VALUES; j++)
			sum[j] += value[j];
		if (i >= limit)
			continue;
		object = json_pack("{s:I, s:I, s:I, s:o}", "packets",
				   json_count(value[DROPS_PACKETS]), "segments",
				   json_count(value[DROPS_SEGMENTS]), "bytes",
				   json_count(value[DROPS_BYTES]), "last",
				   past_time((int64_t)value[DROPS_LAST_US]));
		if (!object || json_object_update(object, row->name) != 0 ||
		    json_array_append_new(past->rows, object) != 0)
			return -ENOMEM;
	}
	r = json_object_set_new(past->head, "exact", json_boolean(!flows));
	r |= json_object_set_new(past->head, "packets",
				 json_integer(json_count(sum[DROPS_PACKETS])));
	r |= json_object_set_new(past->head, "segments",
				 json_integer(json_count(sum[DROPS_SEGMENTS])));
	r |= json_object_set_new(past->head, "bytes", json_integer(json_count(sum[DROPS_BYTES])));
	r |= json_object_set_new(past->head, "matched", json_integer(json_count(question->rows)));
	if (question->faults)
		r |= json_object_set_new(past->head, "hidden",
					 json_integer(json_count(question->hidden)));
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
	json_int_t segments = json_integer_value(json_object_get(record, "segments"));
	const uint64_t value[DROPS_VALUES] = {
		[DROPS_PACKETS] = 1,
		[DROPS_SEGMENTS] = segments > 0 ? (uint64_t)segments : 1,
		[DROPS_BYTES] =
			(uint64_t)json_integer_value(json_object_get(record, "length_bytes")),
	};
	const json_t *known;

	if (!flow)
		flow = json_string_value(json_object_get(record, "protocol"));
	if (flow && flows->rows->count >= READER_ROWS_MAX && !json_object_get(flows->number, flow))
		flow = "(others)";
	if (!flow)
		return 0;
	known = json_object_get(flows->number, flow);
	if (known) {
		vector_merge(flows->rows->row[json_integer_value(known)].value, value,
			     DROPS_VALUES);
		return 0;
	}
	if (json_object_set_new(flows->number, flow, json_integer((json_int_t)flows->rows->count)))
		return -ENOMEM;
	return reader_rows_add(flows->rows, json_pack("{s:s}", "flow", flow), value, 1);
}

static bool count_flow(const json_t *record, void *userdata)
{
	struct flows *flows = userdata;
	struct drops_question *question = flows->past->state;

	if (!takes(record, flows->past) || flows->error)
		return false;
	if (lot_of(flows->past, record) == LOT_HIDDEN)
		question->hidden++;
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
	if (r < 0)
		return r;
	sort_rows(past, &rows);
	return put_rows(past, &rows);
}

int past_read_drops(struct reader *reader, struct past *past)
{
	struct drops_question all = {.top = SIZE_MAX};
	void *state = past->state;
	int r;

	past->state = &all;
	r = work(reader, past);
	past->state = state;
	return r;
}

const struct past_kind past_drops = {
	.member = "rows", .rows_by_default = 100, .prepare = prepare, .work = work, .clear = free};
