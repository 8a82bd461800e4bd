/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDropRecords, GetLatencyRecords and GetSlotsRecords for the past, and the events of GetAlerts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/filter.h"
#include "daemon/control/past.h"
#include "daemon/core/reason.h"
#include "daemon/core/selection.h"
#include "daemon/core/stages.h"
#include "daemon/core/verdict.h"
#include "daemon/history/batch.h"
#include "daemon/history/place_key.h"
#include "daemon/json/json.h"

#define RECORDS_BY_DEFAULT 100

/* Records in one reply: each takes about 10 KiB of memory until the client has taken it. */
#define RECORDS_MAX 2048

struct records_question {
	struct filter filter; /* without device and netns, whose names can be gone by now */
	uint64_t hidden;
};

/* ---- a journey -------------------------------------------------------------------------- */

static bool read_outcome(const char *text, enum nf_outcome *outcome)
{
	for (int i = NF_OUTCOME_DELIVERED; text && i <= NF_OUTCOME_FORWARDED; i++) {
		if (strcmp(outcome_name((enum nf_outcome)i), text) != 0)
			continue;
		*outcome = (enum nf_outcome)i;
		return true;
	}
	return false;
}

static bool read_stage(const json_t *entry, struct stage_time *stage)
{
	const char *name = json_string_value(json_object_get(entry, "stage"));

	for (int i = 0; name && i < NF_STAGE_COUNT; i++) {
		if (strcmp(stage_name((enum nf_stage)i), name) != 0)
			continue;
		stage->stage = (enum nf_stage)i;
		/* Only differences matter, and 0 would mean not known. */
		stage->time_ns = 1 + (uint64_t)json_integer_value(json_object_get(entry, "at_ns"));
		return true;
	}
	return false;
}

static bool read_stages(const json_t *record, struct stages *stages)
{
	const json_t *list = json_object_get(record, "stages"), *entry;
	size_t i;

	*stages = (struct stages){
		.total_ns = (uint64_t)json_integer_value(json_object_get(record, "total_ns"))};
	json_array_foreach(list, i, entry)
	{
		if (stages->count == NF_STAGE_COUNT ||
		    !read_stage(entry, &stages->stage[stages->count++]))
			return false;
	}
	return stages->count >= 2 &&
	       read_outcome(json_string_value(json_object_get(record, "outcome")),
			    &stages->outcome);
}

static bool takes_journey(const struct filter *filter, const json_t *record)
{
	struct stages stages;
	uint64_t ns;

	if (filter->by_slow && filter->slow != json_is_true(json_object_get(record, "slow")))
		return false;
	if (!filter->by_segment && !filter->by_over)
		return true;
	if (!read_stages(record, &stages) || !segment_time(&stages, &filter->segment, &ns))
		return false;
	return !filter->by_over || ns > filter->over_ns;
}

/* ---- what to take ------------------------------------------------------------------------- */

static bool is_here(const struct past *past, const json_t *of)
{
	struct device device;

	place_read(&device, of);
	return past_takes_place(past, &device);
}

static bool takes_place(const struct past *past, const json_t *record)
{
	const json_t *devices = json_object_get(record, "devices"), *device;
	size_t i;

	if (!devices || (!past_text(past, "device") && !past_text(past, "netns")))
		return is_here(past, record);
	json_array_foreach(devices, i, device) if (is_here(past, device)) return true;
	return false;
}

static bool takes(const json_t *record, void *userdata)
{
	const struct past *past = userdata;
	struct records_question *question = past->state;
	const struct filter *filter = &question->filter;
	const json_t *number = json_object_get(record, "reason_number");
	const char *reason = json_string_value(json_object_get(record, "reason"));
	const char *class = json_string_value(json_object_get(record, "class"));
	struct nf_bytes bytes;

	if (json_is_true(json_object_get(record, "message")))
		return false;
	if (filter->by_reason &&
	    !reason_is(&filter->reason, reason, number, (uint32_t)json_integer_value(number)))
		return false;
	if (!takes_place(past, record) || !takes_journey(filter, record))
		return false;
	if (filter->selection) {
		json_packet_bytes(record, &bytes);
		if (!selection_takes_bytes(filter->selection, &bytes))
			return false;
	}
	if (!filter->by_class ||
	    (class && filter->classes & VERDICT_CLASS_BIT(verdict_class(class))))
		return true;
	question->hidden++;
	return false;
}

static int prepare(struct past *past)
{
	OWN_JSON json_t *parameters = json_copy(past->parameters);
	struct records_question *question = calloc(1, sizeof(*question));

	past->state = question;
	if (!question || !parameters)
		return -ENOMEM;
	json_object_del(parameters, "device");
	json_object_del(parameters, "netns");
	return filter_read(&question->filter, past->control, past->call, parameters);
}

static void clear(void *state)
{
	struct records_question *question = state;

	filter_clear(&question->filter);
	free(question);
}

static int read_kind(struct reader *reader, struct past *past, int kind)
{
	const struct records_question *question = past->state;
	size_t matched;
	size_t limit = past->limit < RECORDS_MAX ? past->limit : RECORDS_MAX;
	int r = reader_records(reader, kind, limit, question ? takes : NULL, past, past->rows,
			       &matched);

	if (r < 0)
		return r;
	json_object_del(past->head, "time");
	json_object_del(past->head, "since");
	json_object_del(past->head, "elapsed_ns");
	r = json_object_set_new(past->head, "matched", json_integer(json_count(matched)));
	if (question && question->filter.by_class)
		r |= json_object_set_new(past->head, "hidden",
					 json_integer(json_count(question->hidden)));
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
