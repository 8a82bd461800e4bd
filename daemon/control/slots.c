/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetSlots. */
#include <errno.h>
#include <stdlib.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/question.h"
#include "daemon/history/series.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/rows/device_rows.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/ledger_json.h"
#include "daemon/store/rockets.h"

/* GetSlots returns this many of the newest rockets in the log. */
#define ROCKETS_IN_REPLY 16

/* GetSlots returns this many devices by default. */
#define SLOTS_BY_DEFAULT 100

/* ---- devices ------------------------------------------------------------- */

static json_t *device_to_json(const struct backend_slots *device)
{
	return json_slots(&(struct slots_row){
		.device = {.name = device->name,
			   .ifindex = device->ifindex,
			   .netns = device->netns},
		.xen = device->xen,
		.slots = device->slots,
		.overflow = device->overflow,
		.near = device->near,
		.too_big = device->too_big,
		.last_overflow_ns = device->last_overflow_ns
					    ? (int64_t)time_realtime_of(device->last_overflow_ns)
					    : 0});
}

/* Whether the row is in the reply: a device is listed from its first transmit on. */
static bool is_taken(const struct filter *filter, const struct backend_slots *device)
{
	uint64_t transmits = 0;

	for (int i = 0; i < NF_SLOTS_BUCKETS; i++)
		transmits += device->slots[i];
	return transmits && filter_takes(filter, 0, device->name ? device->name : "",
					 device->identity, device->netns);
}

/* ---- probes, log ------------------------------------------------- */

static json_t *source(const struct backend *backend, enum nf_probe probe)
{
	struct probe_status status;

	backend->ops->probe(backend, probe, &status);
	return json_pack("{s:s, s:s*, s:s*}", "state", control_probe_state(status.state), "how",
			 status.how, "reason", status.reason);
}

static json_t *rockets_log(const struct control *control)
{
	static const char *const states[] = {
		[ROCKET_PENDING] = "pending",
		[ROCKET_SEEN] = "seen",
		[ROCKET_UNSEEN] = "unseen",
	};
	const struct rockets *rockets = control->sources->rockets;
	json_t *newest = json_array();

	for (size_t i = ROCKETS_IN_REPLY; i-- > 0;) {
		enum rocket_state state;
		const struct rocket *rocket = rockets_newest(rockets, i, &state);

		if (rocket)
			json_array_append_new(newest, json_rocket(rocket, states[state]));
	}
	return json_pack("{s:b, s:s*, s:I, s:I, s:o}", "readable", !control->sources->kmsg_reason,
			 "reason", control->sources->kmsg_reason, "rockets",
			 json_count(rockets_total(rockets)), "unseen",
			 json_count(rockets_unseen(rockets)), "newest", newest);
}

/* ---- GetSlots ------------------------------------------------------------ */

struct slots_reply {
	const struct control *control;
	const struct reading *reading, *counters;
	struct filter filter;
	size_t next, matched;
};

static json_t *head(void *state)
{
	const struct slots_reply *reply = state;
	const struct control *control = reply->control;
	const struct backend *backend = control->sources->backend;

	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o}", "time",
			 json_time(reading_time(reply->reading)), "since",
			 json_time(control->sources->started_ns), "limit",
			 json_count(control->sources->slots_limit), "xen",
			 source(backend, NF_PROBE_XENNET_START_XMIT), "named",
			 source(backend, NF_PROBE_SLOTS_DEVICES), "matched",
			 json_count(reply->matched), "ledger", ledger_slots_json(reply->counters),
			 "log", rockets_log(control));
}

static int next_device(void *state, json_t **row)
{
	struct slots_reply *reply = state;
	const struct backend_slots *device;

	if (reply->next == reading_count(reply->reading))
		return 0;
	device = reading_slots(reply->reading, reply->next++);
	if (!is_taken(&reply->filter, device))
		return 1;
	*row = device_to_json(device);
	return *row ? 1 : -ENOMEM;
}

static void slots_reply_free(void *state)
{
	struct slots_reply *reply = state;

	reading_release(&reply->reading);
	reading_release(&reply->counters);
	filter_clear(&reply->filter);
	free(reply);
}

static const struct pages_source devices = {
	.member = "devices", .head = head, .next = next_device, .free = slots_reply_free};

static int answer(struct call *call, json_t *parameters, void *userdata)
{
	size_t limit = pages_read_limit(call, parameters, SLOTS_BY_DEFAULT);
	struct control *control = userdata;
	struct slots_reply *reply;
	int r;

	if (!limit)
		return -EINVAL;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->control = control;
	reply->reading = reading_hold(control_reading(control, SLOTS));
	reply->counters = reading_hold(control_reading(control, COUNTERS));
	r = filter_read(&reply->filter, control->sources, call, parameters);
	if (r < 0) {
		slots_reply_free(reply);
		return r;
	}
	for (size_t i = 0; i < reading_count(reply->reading); i++)
		reply->matched += is_taken(&reply->filter, reading_slots(reply->reading, i));
	return pages_reply(control, call, &devices, reply, limit);
}

/* ---- the past ------------------------------------------------------------ */

static json_t *past_to_json(const struct reader_row *row)
{
	return json_slots(
		&(struct slots_row){.device = row->name.device,
				    .others = row->name.other,
				    .xen = row->name.xen,
				    .slots = row->value + SLOTS_BUCKET,
				    .overflow = row->value + SLOTS_OVERFLOW,
				    .near = row->value[SLOTS_NEAR],
				    .too_big = row->value[SLOTS_TOO_BIG],
				    .last_overflow_ns = (int64_t)row->value[SLOTS_LAST_US] * 1000});
}

static int work(struct reader *reader, struct past *past)
{
	OWN_READER_ROWS struct reader_rows rows = {0};
	int r = reader_sums(reader, HISTORY_SLOTS, past_project_device, past, &rows);

	if (r == 0)
		r = past_put_rows(past, &rows, past_to_json);
	json_object_del(past->head, "elapsed_ns");
	if (r == 0 &&
	    json_object_set_new(past->head, "limit", json_integer(past->sources->slots_limit)))
		r = -ENOMEM;
	return r;
}

static const struct past_kind past_devices = {
	.member = "devices", .rows_by_default = SLOTS_BY_DEFAULT, .work = work};

/* ---- the method ---------------------------------------------------------- */

/* This works without a backend, too: the kernel's log is then the only source. */
int method_get_slots(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	static const struct question question = {.parameters = table,
						 .past = &past_devices,
						 .parts =
							 READING_BIT(SLOTS) | READING_BIT(COUNTERS),
						 .now = answer,
						 .without_backend = true};

	return question_answer(userdata, call, parameters, &question);
}
