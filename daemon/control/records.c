/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDropRecords, GetLatencyRecords and GetSlotsRecords. */
#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/question.h"
#include "daemon/json/json.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/ledger_json.h"

/*
 * A walk over the records that were held when it began, in slices.  Records come and go between slices, so a record is
 * identified by its time, and looked for near its expected place.
 */
struct walk {
	struct control *control;
	enum record_kind kind;
	struct filter filter;
	size_t limit;
	uint64_t *time_ns; /* of each record, newest first */
	bool *matches;
	size_t count, seen; /* records, and those that were compared with the filter */
	size_t matched, hidden;
	size_t next;	/* the last record of the reply is 0; this many are left */
	uint64_t added; /* control->added[] when the walk began */
	uint64_t
		replaced; /* since then, of the records newer than the last one that was found; about */
};

/*
 * The place that the record has now; -ENOENT: it is no longer held.  New records have moved it back, and those that
 * were replaced since have moved it forward.  The record before it was moved about as far, so the search begins there.
 */
static int find(struct walk *walk, size_t i, size_t *at)
{
	struct records *records = walk->control->sources->records;
	size_t held = records_count(records, walk->kind);
	uint64_t moved = walk->control->added[walk->kind] - walk->added;
	uint64_t time_ns = walk->time_ns[i];

	*at = i + (size_t)(moved > walk->replaced ? moved - walk->replaced : 0);
	if (*at >= held)
		*at = held ? held - 1 : 0;
	while (*at + 1 < held && records_time(records, walk->kind, *at) > time_ns)
		(*at)++;
	while (*at && records_time(records, walk->kind, *at) < time_ns)
		(*at)--;
	if (!held || records_time(records, walk->kind, *at) != time_ns)
		return -ENOENT;
	walk->replaced = i + moved - *at;
	return 0;
}

static int read_at(struct walk *walk, size_t i, struct record *record)
{
	size_t at;
	int r = find(walk, i, &at);

	if (r == 0)
		r = records_get(walk->control->sources->records, walk->kind, at, record);
	return r;
}

static void compare(struct walk *walk, size_t i)
{
	struct record record;

	if (read_at(walk, i, &record) < 0 || !filter_takes_record(&walk->filter, &record))
		return;
	if (filter_hides_record(&walk->filter, &record)) {
		walk->hidden++;
		return;
	}
	walk->matches[i] = true;
	if (walk->matched++ < walk->limit)
		walk->next = i + 1;
}

/* First all records are compared, from the newest on; then those that match become rows, from the oldest on. */
static int next_row(void *state, json_t **row)
{
	struct record record;
	struct walk *walk = state;

	if (walk->seen < walk->count) {
		compare(walk, walk->seen++);
		return 1;
	}
	while (walk->next > 0) {
		size_t i = --walk->next;

		if (!walk->matches[i] || read_at(walk, i, &record) < 0)
			continue;
		*row = json_record(&record);
		return *row ? 1 : -ENOMEM;
	}
	return 0;
}

static json_t *ledger_of(const struct walk *walk)
{
	const struct reading *counters = control_reading(walk->control, COUNTERS);

	switch (walk->kind) {
	case RECORDS_LATENCY:
		return ledger_latency_json(counters);
	case RECORDS_SLOTS:
		return ledger_slots_json(counters);
	default:
		return NULL;
	}
}

static json_t *head(void *state)
{
	const struct walk *walk = state;
	struct records *records = walk->control->sources->records;
	json_t *hidden = walk->filter.by_class ? json_integer(json_count(walk->hidden)) : NULL;

	return json_pack("{s:I, s:I, s:I, s:o*, s:o*}", "held",
			 json_count(records_count(records, walk->kind)), "capacity",
			 json_count(records_capacity(records, walk->kind)), "matched",
			 json_count(walk->matched), "hidden", hidden, "ledger", ledger_of(walk));
}

static void walk_free(void *state)
{
	struct walk *walk = state;

	filter_clear(&walk->filter);
	free(walk->time_ns);
	free(walk->matches);
	free(walk);
}

static struct walk *walk_new(struct control *control, enum record_kind kind)
{
	struct records *records = control->sources->records;
	size_t count = records_count(records, kind);
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->control = control;
	walk->kind = kind;
	walk->added = control->added[kind];
	walk->time_ns = calloc(count + 1, sizeof(*walk->time_ns));
	walk->matches = calloc(count + 1, sizeof(*walk->matches));
	if (!walk->time_ns || !walk->matches) {
		walk_free(walk);
		return NULL;
	}
	walk->count = count;
	for (size_t i = 0; i < count; i++)
		walk->time_ns[i] = records_time(records, kind, i);
	return walk;
}

static const struct pages_source source = {
	.member = "records", .head = head, .next = next_row, .free = walk_free};

static int reply(struct control *control, struct call *call, json_t *parameters,
		 enum record_kind kind)
{
	size_t limit = pages_read_limit(call, parameters, RECORDS_BY_DEFAULT);
	struct walk *walk;
	int r;

	if (!limit)
		return -EINVAL;
	if (!call_wants_more(call) && limit > PAGES_ROWS_MAX)
		limit = PAGES_ROWS_MAX;
	walk = walk_new(control, kind);
	if (!walk)
		return -ENOMEM;
	walk->limit = limit;
	r = filter_read(&walk->filter, control->sources, call, parameters);
	if (r < 0) {
		walk_free(walk);
		return r;
	}
	return pages_reply(control, call, &source, walk, limit);
}

/* ---- the methods ------------------------------------------------------------------------- */

static int answer_drops(struct call *call, json_t *parameters, void *userdata)
{
	return reply(userdata, call, parameters, RECORDS_DROPS);
}

int method_get_drop_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"reason", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"faults", PARAMETER_BOOL, true},
		{"classes", PARAMETER_ARRAY, true},
		{"filter", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	/* Only the other kinds reply with a ledger. */
	static const struct question question = {
		.parameters = table, .past = &past_drop_records, .now = answer_drops};

	return question_answer(userdata, call, parameters, &question);
}

static int answer_latency(struct call *call, json_t *parameters, void *userdata)
{
	return reply(userdata, call, parameters, RECORDS_LATENCY);
}

int method_get_latency_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"over_ns", PARAMETER_INT, true},
		{"segment", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true},
		{"slow", PARAMETER_BOOL, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {.parameters = table,
						 .past = &past_latency_records,
						 .parts = READING_BIT(COUNTERS),
						 .now = answer_latency};

	return question_answer(userdata, call, parameters, &question);
}

static int answer_slots(struct call *call, json_t *parameters, void *userdata)
{
	return reply(userdata, call, parameters, RECORDS_SLOTS);
}

int method_get_slots_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {.parameters = table,
						 .past = &past_slots_records,
						 .parts = READING_BIT(COUNTERS),
						 .now = answer_slots};

	return question_answer(userdata, call, parameters, &question);
}
