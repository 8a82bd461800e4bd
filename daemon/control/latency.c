/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatency. */
#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/question.h"
#include "daemon/core/histogram.h"
#include "daemon/core/ledger.h"
#include "daemon/cost/governor.h"
#include "daemon/json/json.h"
#include "daemon/sources/counted.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/latency_list.h"
#include "daemon/sources/ledger_json.h"

/* Rows in one reply by default. */
#define ROWS_BY_DEFAULT 100

struct latency_reply {
	const struct control *control;
	const struct reading *reading, *traffic;
	struct filter filter;
	struct latency_list list; /* worst.row[].row: the device and its segment, see number_of() */
	bool placed;		  /* the call asks for some devices, and `list` has their sums */
	bool rows;		  /* it asks for single devices */
	bool begun;		  /* the first page was made */
	size_t device, segment;	  /* the next row */
	size_t summed;		  /* devices of the reading that were considered */
	json_t *unseen;		  /* the ledger of latency; NULL: all packets were followed */
	json_t *counted;	  /* by the kernel; NULL: not known */
	json_t *followed;	  /* for how much of the time; NULL: all of it */
};

static bool is_taken(const struct latency_reply *reply, size_t i)
{
	struct backend_device device;
	const char *name = reading_device_name(reply->reading, i);

	reading_device(reply->reading, i, &device);
	return filter_takes(&reply->filter, 0, name ? name : "", device.identity, device.netns);
}

/* The row of a device's segment. */
static void get_row(const struct latency_reply *reply, size_t i, enum nf_segment segment,
		    struct latency_row *row)
{
	struct backend_device device;

	reading_device(reply->reading, i, &device);
	*row = (struct latency_row){.segment = segment};
	reading_segment(reply->reading, i, segment, &row->hist);
	row->variance = row->hist.variance;
	if (device.name)
		row->device = (struct device){
			.name = device.name, .ifindex = device.ifindex, .netns = device.netns};
	row->packets = counted_packets(reply->traffic, &row->device, segment);
	row->group = device.group ? device.kind : NULL;
	row->devices = (int64_t)device.devices;
}

static json_t *row_to_json(const struct latency_reply *reply, size_t i, enum nf_segment segment)
{
	struct latency_row row;

	get_row(reply, i, segment, &row);
	return json_latency(&row, &reply->list.doubt);
}

/* ---- all selected devices together -------------------------------------------- */

static size_t number_of(size_t device, enum nf_segment segment)
{
	return device * NF_SEGMENT_COUNT + (size_t)segment;
}

static void consider(struct latency_reply *reply, size_t i)
{
	const struct reading_worst *worst = reading_worst(reply->reading, i);

	if (worst->count)
		worst_consider(&reply->list.worst,
			       &(struct worst_row){.row = number_of(i, worst->segment),
						   .count = worst->count,
						   .p99_ns = worst->p99_ns});
	for (int segment = 0; reply->placed && segment < NF_SEGMENT_COUNT; segment++) {
		struct latency_row row;

		get_row(reply, i, (enum nf_segment)segment, &row);
		latency_list_add(&reply->list, &row);
	}
}

static void add_all_devices(struct latency_reply *reply)
{
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		struct latency_row row = {.segment = (enum nf_segment)i};

		row.hist = *reading_all_devices(reply->reading, row.segment);
		row.variance = row.hist.variance;
		latency_list_add(&reply->list, &row);
	}
}

static json_t *worst(const struct latency_reply *reply)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < worst_count(&reply->list.worst); i++) {
		size_t row = reply->list.worst.row[i].row;

		json_array_append_new(rows, row_to_json(reply, row / NF_SEGMENT_COUNT,
							(enum nf_segment)(row % NF_SEGMENT_COUNT)));
	}
	return rows;
}

/* ---- the reply ------------------------------------------------------------------ */

/* The summary is in the first page only. */
static json_t *head(void *state)
{
	struct latency_reply *reply = state;
	bool first = !reply->begun;
	json_t *object;

	reply->begun = true;
	object = json_pack("{s:o, s:o, s:I, s:I, s:o, s:o}", "time",
			   json_time(reading_time(reply->reading)), "since",
			   json_time(reply->control->sources->started_ns), "elapsed_ns",
			   control_elapsed(reply->control, reading_time(reply->reading)), "devices",
			   json_count(reply->list.worst.considered), "segments",
			   first ? latency_list_segments(&reply->list) : json_array(), "worst",
			   first ? worst(reply) : json_array());
	if (first && reply->counted)
		json_object_set(object, "counted", reply->counted);
	/* What is not in the histograms, only if there is such a thing. */
	if (first && reply->unseen)
		json_object_set(object, "ledger", reply->unseen);
	if (first && reply->followed)
		json_object_set(object, "followed", reply->followed);
	return object;
}

/* First all devices are considered, then those that were selected become rows. */
static int next_row(void *state, json_t **row)
{
	struct latency_reply *reply = state;
	size_t count = reading_count(reply->reading);
	enum nf_segment segment;
	struct nf_hist hist;

	if (reply->summed < count) {
		size_t i = reply->summed++;

		if (is_taken(reply, i))
			consider(reply, i);
		return 1;
	}
	if (!reply->rows || reply->device == count)
		return 0;
	if (reply->segment == NF_SEGMENT_COUNT || !is_taken(reply, reply->device)) {
		reply->device++;
		reply->segment = 0;
		return 1;
	}
	segment = (enum nf_segment)reply->segment++;
	reading_segment(reply->reading, reply->device, segment, &hist);
	if (!histogram_count(&hist))
		return 1;
	*row = row_to_json(reply, reply->device, segment);
	return *row ? 1 : -ENOMEM;
}

static void latency_reply_free(void *state)
{
	struct latency_reply *reply = state;

	reading_release(&reply->reading);
	reading_release(&reply->traffic);
	filter_clear(&reply->filter);
	latency_list_clear(&reply->list);
	json_decref(reply->unseen);
	json_decref(reply->counted);
	json_decref(reply->followed);
	free(reply);
}

static const struct pages_source source = {
	.member = "latencies", .head = head, .next = next_row, .free = latency_reply_free};

static int set_up(struct latency_reply *reply, struct call *call, json_t *parameters)
{
	int r = filter_read(&reply->filter, reply->control->sources, call, parameters);

	if (r == 0)
		r = latency_list_init(&reply->list);
	if (r < 0)
		return r;
	reply->placed = reply->filter.by_device || reply->filter.by_netns;
	reply->rows = reply->placed || json_is_true(json_object_get(parameters, "all"));
	if (!reply->placed)
		add_all_devices(reply);
	return 0;
}

static json_t *unseen(const struct control *control)
{
	const struct reading *reading = control_reading(control, COUNTERS);
	struct ledger_latency ledger;

	ledger_of_latency(&ledger, reading_counters(reading)->events);
	return ledger.passed ? ledger_latency_json(reading) : NULL;
}

/*
 * What was counted before the histograms were read does not have all that they have: then it limits nothing.
 */
static void set_doubt(struct latency_reply *reply)
{
	const struct control *control = reply->control;
	const struct reading_counters *counters =
		reading_counters(control_reading(control, COUNTERS));
	const struct seen_part seen = governor_seen(control->sources->governor, 0);
	struct latency_list *list = &reply->list;

	list->unended = reading_unended(counters, NULL);
	list->doubt = (struct latency_doubt){
		.unseen = governor_unseen(control->sources->governor).packets,
		.unended = reading_unended_packets(list->unended),
		.missable = reading_missable(counters, NULL),
		.limits = reading_time(reply->traffic) >= reading_time(reply->reading)};
	reply->followed = latency_list_followed(list, &seen);
}

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	size_t limit = pages_read_limit(call, parameters, ROWS_BY_DEFAULT);
	struct control *control = userdata;
	struct latency_reply *reply;
	int r;

	if (!limit)
		return -EINVAL;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->control = control;
	reply->reading = reading_hold(control_reading(control, DEVICES));
	reply->traffic = reading_hold(control_reading(control, TRAFFIC));
	reply->unseen = unseen(control);
	set_doubt(reply);
	r = set_up(reply, call, parameters);
	if (r < 0) {
		latency_reply_free(reply);
		return r;
	}
	reply->counted = counted_json(reply->traffic, reply->reading, &reply->filter);
	return pages_reply(control, call, &source, reply, limit);
}

int method_get_latency(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"all", PARAMETER_BOOL, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {
		.parameters = table,
		.past = &past_latency,
		.parts = READING_BIT(DEVICES) | READING_BIT(COUNTERS) | READING_BIT(TRAFFIC),
		.now = answer};

	return question_answer(userdata, call, parameters, &question);
}
