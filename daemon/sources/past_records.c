/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDropRecords, GetLatencyRecords and GetSlotsRecords for the past, and the events of GetAlerts. */
#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "daemon/history/batch.h"
#include "daemon/history/stored_record.h"
#include "daemon/json/json.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/past.h"

#define RECORDS_BY_DEFAULT 100

/* Records in one reply: each takes about 10 KiB of memory until the client has taken it. */
#define RECORDS_MAX 2048

/* ---- what to take ------------------------------------------------------------------------- */

struct taking {
	const struct past *past;
	int kind;
	const struct filter *filter;
	struct stored_record *stored; /* room for one */
	json_t *newest;		      /* up to `limit`, the newest first */
	size_t limit, matched, hidden;
};

/* The skb of a journey may have crossed several devices; one of them must be there. */
static bool is_here(const struct past *past, const struct record *record)
{
	const struct journey *journey = &record->journey;

	if (record->kind == RECORDS_DROPS)
		return past_takes_place(past, &record->drop.device);
	if (record->kind == RECORDS_SLOTS)
		return past_takes_place(past, &record->transmit.device);
	if (!past_text(past, "device") && !past_text(past, "netns"))
		return true;
	for (size_t i = 0; i < journey->devices; i++)
		if (past_takes_place(past, &journey->device[i]))
			return true;
	return false;
}

static int add(struct taking *taking, json_t *(*to_json)(const void *), const void *of)
{
	if (taking->matched++ >= taking->limit)
		return 0;
	return json_array_append_new(taking->newest, to_json(of)) ? -ENOMEM : 0;
}

static json_t *to_json(const void *record)
{
	return json_record(record);
}

static int take_record(int64_t time_us, const void *body, size_t size, void *userdata)
{
	struct taking *taking = userdata;
	const struct record *record = &taking->stored->record;
	int r = stored_record_read(taking->stored, (enum record_kind)taking->kind, time_us, body,
				   size);

	if (r < 0)
		return r;
	if (!filter_takes_record(taking->filter, record) || !is_here(taking->past, record))
		return 0;
	if (!filter_hides_record(taking->filter, record))
		return add(taking, to_json, record);
	taking->hidden++;
	return 0;
}

static json_t *same(const void *event)
{
	return json_incref((json_t *)event);
}

static int take_event(int64_t time_us, const void *body, size_t size, void *userdata)
{
	OWN_JSON json_t *event = json_loadb(body, size, 0, NULL);

	(void)time_us;
	return event ? add(userdata, same, event) : -EBADMSG;
}

/* Append those that were taken, oldest first. */
static int append(json_t *records, const json_t *newest)
{
	for (size_t i = json_array_size(newest); i-- > 0;)
		if (json_array_append(records, json_array_get(newest, i)))
			return -ENOMEM;
	return 0;
}

static int take(struct reader *reader, struct taking *taking, json_t *records)
{
	OWN_JSON json_t *newest = json_array();
	OWN_FREE struct stored_record *stored = malloc(sizeof(*stored));
	int r;

	if (!newest || !stored)
		return -ENOMEM;
	taking->newest = newest;
	taking->stored = stored;
	r = reader_records(reader, taking->kind,
			   taking->kind == HISTORY_RECORD_ALERT ? take_event : take_record, taking);
	return r == 0 ? append(records, newest) : r;
}

int past_read_records(struct reader *reader, const struct past *past, int kind, size_t limit,
		      json_t *records, size_t *matched)
{
	static const struct filter none;
	struct taking taking = {.past = past, .kind = kind, .filter = &none, .limit = limit};
	int r = take(reader, &taking, records);

	*matched = taking.matched;
	return r;
}

/* ---- the methods ---------------------------------------------------------------------- */

static int prepare(struct past *past)
{
	struct filter *filter = calloc(1, sizeof(*filter));

	past->state = filter;
	return filter ? past_filter_read(past, filter) : -ENOMEM;
}

static void clear(void *state)
{
	filter_clear(state);
	free(state);
}

static int read_kind(struct reader *reader, struct past *past, int kind)
{
	static const struct filter none;
	struct taking taking = {.past = past,
				.kind = kind,
				.filter = past->state ? past->state : &none,
				.limit = past->limit < RECORDS_MAX ? past->limit : RECORDS_MAX};
	int r = take(reader, &taking, past->rows);

	if (r < 0)
		return r;
	json_object_del(past->head, "time");
	json_object_del(past->head, "since");
	json_object_del(past->head, "elapsed_ns");
	r = json_object_set_new(past->head, "matched", json_integer(json_count(taking.matched)));
	if (taking.filter->by_class)
		r |= json_object_set_new(past->head, "hidden",
					 json_integer(json_count(taking.hidden)));
	return r ? -ENOMEM : 0;
}

static int work_drops(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_DROP);
}

static int work_latency(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_LATENCY);
}

static int work_slots(struct reader *reader, struct past *past)
{
	return read_kind(reader, past, HISTORY_RECORD_SLOTS);
}

/* The states are those of now, and not part of the past. */
static int work_alerts(struct reader *reader, struct past *past)
{
	int r = read_kind(reader, past, HISTORY_RECORD_ALERT);

	if (r < 0)
		return r;
	r = json_object_set_new(past->head, "time", past_time(past->period.to_us));
	r |= json_object_set_new(past->head, "alerts", json_array());
	return r ? -ENOMEM : 0;
}

const struct past_kind past_drop_records = {.records = true,
					    .member = "records",
					    .rows_by_default = RECORDS_BY_DEFAULT,
					    .prepare = prepare,
					    .work = work_drops,
					    .clear = clear};
const struct past_kind past_latency_records = {.records = true,
					       .member = "records",
					       .rows_by_default = RECORDS_BY_DEFAULT,
					       .prepare = prepare,
					       .work = work_latency,
					       .clear = clear};
const struct past_kind past_slots_records = {.records = true,
					     .member = "records",
					     .rows_by_default = RECORDS_BY_DEFAULT,
					     .prepare = prepare,
					     .work = work_slots,
					     .clear = clear};
const struct past_kind past_alerts = {.records = true,
				      .member = "events",
				      .rows_by_default = RECORDS_BY_DEFAULT,
				      .work = work_alerts};
