/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetLatency. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/json.h"
#include "daemon/control/counted.h"
#include "daemon/control/filter.h"
#include "daemon/control/governor.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/past.h"
#include "daemon/core/histogram.h"
#include "daemon/cost/governor.h"
#include "daemon/json/json.h"

/* Devices in `worst`, and packets below which a device comes after the others. */
#define WORST 10
#define WORST_PACKETS 100

/* Rows in one reply by default. */
#define ROWS_BY_DEFAULT 100

struct latency_reply {
	const struct control *control;
	const struct reading *reading, *traffic;
	struct filter filter;
	bool rows;		 /* the call asks for single devices */
	bool begun;		 /* the first page was made */
	size_t devices;		 /* that were selected */
	size_t worst[WORST];	 /* their rows in the reading, the worst first */
	size_t device, segment;	 /* the next row */
	size_t summed;		 /* rows of the reading in `sum` */
	struct nf_hist *sum;	 /* of the selected devices; NULL: all are selected */
	json_t *unseen;		 /* the ledger of latency; NULL: all packets were followed */
	json_t *counted;	 /* by the kernel; NULL: not known */
	json_t *followed;	 /* for how much of the time; NULL: all of it */
	uint64_t unseen_packets; /* that the host received in the rest of it */
	uint64_t missable;	 /* see reading_missable() */
	struct reading_unended unended;
};

static bool is_taken(const struct latency_reply *reply, size_t i)
{
	struct backend_device device;
	const char *name = reading_device_name(reply->reading, i);

	reading_device(reply->reading, i, &device);
	return filter_takes(&reply->filter, 0, name ? name : "", device.identity, device.netns);
}

/* ---- the worst devices ------------------------------------------------------ */

static bool is_worse(const struct reading_worst *a, const struct reading_worst *b)
{
	bool many = a->count >= WORST_PACKETS, more = b->count >= WORST_PACKETS;

	return many != more ? many : a->p99_ns > b->p99_ns;
}

static void consider_worst(struct latency_reply *reply, size_t i)
{
	const struct reading_worst *worst = reading_worst(reply->reading, i);
	size_t at = reply->devices < WORST ? reply->devices : WORST;

	if (!worst->count)
		return;
	while (at > 0 && is_worse(worst, reading_worst(reply->reading, reply->worst[at - 1]))) {
		if (at < WORST)
			reply->worst[at] = reply->worst[at - 1];
		at--;
	}
	if (at < WORST)
		reply->worst[at] = i;
	reply->devices++;
}

/* Say for which devices a group stands. */
static json_t *with_group(const struct backend_device *device, json_t *latency)
{
	if (!device->group || !latency)
		return latency;
	json_object_set_new(latency, "group", json_string(device->kind));
	json_object_set_new(latency, "devices", json_integer(json_count(device->devices)));
	return latency;
}

/* What was counted before the histograms were read does not have all that they have: then it limits nothing. */
static json_t *with_unseen(const struct latency_reply *reply, json_t *latency,
			   const struct nf_hist *hist)
{
	const struct counted_margin margin = {.variance = hist->variance,
					      .unseen = reply->unseen_packets,
					      .unended = reading_unended_packets(reply->unended),
					      .missable = reply->missable,
					      .limits = reading_time(reply->traffic) >=
							reading_time(reply->reading)};

	counted_add_margin(latency, hist, &margin);
	return latency;
}

static json_t *segment_of(const struct latency_reply *reply, size_t i, enum nf_segment segment)
{
	struct backend_device device;
	struct nf_hist hist;
	json_t *latency;

	reading_device(reply->reading, i, &device);
	reading_segment(reply->reading, i, segment, &hist);
	latency = json_latency(segment,
			       device.name ? &(struct device){.name = device.name,
							      .ifindex = device.ifindex,
							      .netns = device.netns}
					   : NULL,
			       &hist);
	counted_add_packets(latency, reply->traffic, &device, segment);
	return with_group(&device, with_unseen(reply, latency, &hist));
}

static json_t *worst(const struct latency_reply *reply)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < reply->devices && i < WORST; i++)
		json_array_append_new(
			rows, segment_of(reply, reply->worst[i],
					 reading_worst(reply->reading, reply->worst[i])->segment));
	return rows;
}

/* ---- all selected devices together -------------------------------------------- */

static void add_to_sum(struct latency_reply *reply, size_t i)
{
	struct nf_hist hist;

	for (int segment = 0; reply->sum && segment < NF_SEGMENT_COUNT; segment++) {
		reading_segment(reply->reading, i, (enum nf_segment)segment, &hist);
		histogram_merge(&reply->sum[segment], &hist);
	}
}

static json_t *segments(const struct latency_reply *reply)
{
	json_t *rows = json_array();

	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		const struct nf_hist *hist =
			reply->sum ? &reply->sum[i]
				   : reading_all_devices(reply->reading, (enum nf_segment)i);

		if (histogram_count(hist))
			json_array_append_new(
				rows,
				with_unseen(reply, json_latency((enum nf_segment)i, NULL, hist),
					    hist));
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
	object = json_pack(
		"{s:o, s:o, s:I, s:I, s:o, s:o}", "time", json_time(reading_time(reply->reading)),
		"since", json_time(reply->control->parts.started_ns), "elapsed_ns",
		control_elapsed(reply->control, reading_time(reply->reading)), "devices",
		json_count(reply->devices), "segments", first ? segments(reply) : json_array(),
		"worst", first ? worst(reply) : json_array());
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

		if (is_taken(reply, i)) {
			consider_worst(reply, i);
			add_to_sum(reply, i);
		}
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
	*row = segment_of(reply, reply->device, segment);
	return *row ? 1 : -ENOMEM;
}

static void latency_reply_free(void *state)
{
	struct latency_reply *reply = state;

	reading_release(&reply->reading);
	reading_release(&reply->traffic);
	filter_clear(&reply->filter);
	free(reply->sum);
	json_decref(reply->unseen);
	json_decref(reply->counted);
	json_decref(reply->followed);
	free(reply);
}

static const struct pages_source source = {
	.member = "latencies", .head = head, .next = next_row, .free = latency_reply_free};

static int set_up(struct latency_reply *reply, struct call *call, json_t *parameters)
{
	int r = filter_read(&reply->filter, reply->control, call, parameters);

	if (r < 0)
		return r;
	reply->rows = reply->filter.by_device || reply->filter.by_netns ||
		      json_is_true(json_object_get(parameters, "all"));
	if (!reply->filter.by_device && !reply->filter.by_netns)
		return 0;
	reply->sum = calloc(NF_SEGMENT_COUNT, sizeof(*reply->sum));
	return reply->sum ? 0 : -ENOMEM;
}

static json_t *unseen(const struct control *control)
{
	const struct reading *reading = control_reading(control, COUNTERS);
	struct ledger_latency ledger;

	ledger_of_latency(&ledger, reading_counters(reading)->events);
	return ledger.passed ? control_latency_ledger(reading) : NULL;
}

static json_t *followed(const struct latency_reply *reply)
{
	const struct seen_part seen = governor_seen(reply->control->parts.governor, 0);

	return control_followed(&seen, reply->unseen_packets, reply->unended);
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
	reply->unseen_packets = governor_unseen(control->parts.governor).packets;
	reply->missable =
		reading_missable(reading_counters(control_reading(control, COUNTERS)), NULL);
	reply->unended =
		reading_unended(reading_counters(control_reading(control, COUNTERS)), NULL);
	reply->followed = followed(reply);
	r = set_up(reply, call, parameters);
	if (r < 0) {
		latency_reply_free(reply);
		return r;
	}
	reply->counted = control_counted(reply->traffic, reply->reading, &reply->filter);
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
	static const struct past_method method = {
		.parameters = table,
		.past = &past_latency,
		.parts = READING_BIT(DEVICES) | READING_BIT(COUNTERS) | READING_BIT(TRAFFIC),
		.answer = answer};

	return past_or_now(userdata, call, parameters, &method);
}
