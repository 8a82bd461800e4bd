/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDrops. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/question.h"
#include "daemon/core/drop.h"
#include "daemon/json/json.h"
#include "daemon/sources/drop_list.h"
#include "daemon/sources/drop_marks.h"
#include "daemon/sources/drop_source.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/kernel_drops.h"

/* Rows in one reply by default. */
#define ROWS_BY_DEFAULT 100

struct drops_reply {
	const struct control *control;
	struct filter filter;
	struct drop_list list;
	uint64_t time_ns;
	bool complete;	/* all rows are there */
	size_t record;	/* by = flow: the next one, counted from the newest when the call came */
	uint64_t added; /* control->added[] at that time */
	size_t next;
};

/* ---- counters ---------------------------------------------------------- */

/* Whether the filter asks for a field that the row has lost, and takes it otherwise. */
static bool has_lost_field(const struct filter *filter, const struct backend_drops *drops,
			   const struct cause *cause)
{
	bool folded = drops->gone || drops->unkeyed;
	bool by_device = filter->by_device &&
			 (folded || drops->key.flags & NF_KEY_COARSE ||
			  filter_place(filter, drops->device, drops->identity) == DEVICE_EARLIER);
	bool by_netns = filter->by_netns && folded;

	if (filter->by_reason && !reason_takes(&filter->reason, cause))
		return false;
	if (filter->by_netns && !folded && filter->netns != drops->netns)
		return false;
	return by_device || by_netns;
}

/*
 * The kernel uses the inode number of a namespace that is gone again.  Of the namespaces with the number that the
 * filter asks for, only the one with the newest drop can exist: its identity.  The others count as folded.
 */
static uint32_t find_alive(const struct drops_reply *reply, struct drop_source *source,
			   const struct reading *reading)
{
	const struct filter *filter = &reply->filter;
	const struct backend_drops *newest = NULL;

	for (size_t i = 0; filter->by_netns && i < reading_count(reading); i++) {
		const struct backend_drops *drops = reading_drops(reading, i);
		const struct cause *cause = drop_source_cause(source, drops);

		if (cause && (!newest || drops->last_ns > newest->last_ns) &&
		    filter_takes(filter, cause, drops->device, drops->identity, drops->netns))
			newest = drops;
	}
	return newest ? newest->key.netns : 0;
}

static int collect_counter(struct drops_reply *reply, struct drop_source *source,
			   const struct backend_drops *drops, uint32_t alive)
{
	const struct filter *filter = &reply->filter;
	const struct cause *cause = drop_source_cause(source, drops);
	struct drop_place place;
	struct drop_row row;
	bool folded;
	int r;

	if (!cause)
		return -ENOMEM;
	folded = has_lost_field(filter, drops, cause);
	if (!folded && !filter_takes(filter, cause, drops->device, drops->identity, drops->netns))
		return 0;
	folded |= filter->by_netns && drops->key.netns != alive;
	r = drop_source_row(source, drops, cause, reply->list.rows.by.fields & DROP_CGROUP, &row);
	if (r == 0)
		r = drop_list_place(&reply->list, &row, folded, &place);
	if (r == 0)
		drop_rows_count(&reply->list.rows, &place, &row);
	return r;
}

static int collect_counters(struct drops_reply *reply)
{
	const struct reading *reading = control_reading(reply->control, DROPS);
	OWN_DROP_SOURCE struct drop_source *source = NULL;
	int r = drop_source_new(&source, reply->control->sources, &reply->list.texts);
	uint32_t alive = r == 0 ? find_alive(reply, source, reading) : 0;
	struct baseline_view *view = drop_marks_view(reply->control->sources);

	reply->time_ns = reading_time(reading);
	drop_list_mark(&reply->list, view, view ? (int64_t)time_realtime_of(view->seen_ns) : 0);
	for (size_t i = 0; r == 0 && i < reading_count(reading); i++)
		r = collect_counter(reply, source, reading_drops(reading, i), alive);
	reply->complete = true;
	return r == 0 ? drop_rows_finish(&reply->list.rows) : r;
}

/* ---- records ----------------------------------------------------------- */

static int collect_record(struct drops_reply *reply, const struct drop *drop)
{
	return filter_takes_drop(&reply->filter, drop)
		       ? drop_list_add_record(&reply->list, drop, false)
		       : 0;
}

/* The next record; newer ones that came since the call are left out. */
static int collect_next_record(struct drops_reply *reply)
{
	const struct control *control = reply->control;
	size_t newer = (size_t)(control->added[RECORDS_DROPS] - reply->added);
	struct drop drop;

	if (records_drop(control->sources->records, newer + reply->record++, &drop) == 0)
		return collect_record(reply, &drop);
	reply->complete = true;
	return drop_rows_finish(&reply->list.rows);
}

/* ---- GetDrops ---------------------------------------------------------- */

static json_t *head(void *state)
{
	const struct drops_reply *reply = state;
	const struct control *control = reply->control;
	json_t *object = json_pack(
		"{s:o, s:o, s:I, s:s*, s:o*, s:o*}", "time", json_time(reply->time_ns), "since",
		json_time(control->sources->started_ns), "elapsed_ns",
		control_elapsed(control, reply->time_ns), "renamed",
		reply->filter.renamed ? reply->filter.device : NULL, "baseline",
		reply->list.by_flow ? NULL : drop_marks_json(control->sources, reply->list.view),
		"elsewhere", kernel_drops_json(control->sources, &reply->filter));

	if (object && drop_list_put(&reply->list, true, object) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static int next_row(void *state, json_t **row)
{
	struct drops_reply *reply = state;
	int r;

	if (!reply->complete) {
		r = collect_next_record(reply);
		return r < 0 ? r : 1;
	}
	if (reply->next == reply->list.rows.count)
		return 0;
	*row = drop_list_row(&reply->list, reply->next++);
	return *row ? 1 : -ENOMEM;
}

static void drops_reply_free(void *state)
{
	struct drops_reply *reply = state;

	filter_clear(&reply->filter);
	drop_list_clear(&reply->list);
	free(reply);
}

static const struct pages_source source = {
	.member = "rows", .head = head, .next = next_row, .free = drops_reply_free};

static int begin_rows(struct drops_reply *reply, struct call *call, json_t *parameters)
{
	int r = drop_list_read(&reply->list, call, parameters);

	if (r == 0)
		r = filter_read(&reply->filter, reply->control->sources, call, parameters);
	if (r < 0)
		return r;
	reply->time_ns = time_monotonic();
	reply->added = reply->control->added[RECORDS_DROPS];
	return reply->list.by_flow ? 0 : collect_counters(reply);
}

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	size_t limit = pages_read_limit(call, parameters, ROWS_BY_DEFAULT);
	struct drops_reply *reply;
	int r;

	if (!limit)
		return -EINVAL;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->control = userdata;
	r = begin_rows(reply, call, parameters);
	if (r < 0) {
		drops_reply_free(reply);
		return r;
	}
	if (reply->list.top < limit)
		limit = reply->list.top;
	return pages_reply(userdata, call, &source, reply, limit);
}

int method_get_drops(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"by", PARAMETER_STRING, true},
		{"reason", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"faults", PARAMETER_BOOL, true},
		{"classes", PARAMETER_ARRAY, true},
		{"top", PARAMETER_INT, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {.parameters = table,
						 .past = &past_drops,
						 .parts = READING_BIT(DROPS),
						 .now = answer};

	return question_answer(userdata, call, parameters, &question);
}
