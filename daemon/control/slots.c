/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetSlots and GetSlotsRecords. */
#include <errno.h>

#include "common/time.h"
#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/control/records.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/store/rockets.h"

/* GetSlots returns this many of the newest rockets in the log. */
#define ROCKETS_IN_REPLY 16

/* ---- devices ------------------------------------------------------------- */

static json_t *histogram(const struct backend_slots *device, uint64_t *transmits)
{
	json_t *list = json_array();

	*transmits = 0;
	for (int i = 0; i < NF_SLOTS_BUCKETS; i++) {
		*transmits += device->slots[i];
		if (device->slots[i])
			json_array_append_new(list,
					      json_pack("{s:i, s:b, s:I}", "slots", i, "or_more",
							i == NF_SLOTS_BUCKETS - 1, "count",
							(json_int_t)device->slots[i]));
	}
	return list;
}

static json_t *outcomes(const struct backend_slots *device)
{
	const uint64_t *overflow = device->overflow;

	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "sent", (json_int_t)overflow[NF_SLOTS_SENT],
			 "linearized", (json_int_t)overflow[NF_SLOTS_LINEARIZED], "dropped",
			 (json_int_t)overflow[NF_SLOTS_DROPPED], "requeued",
			 (json_int_t)overflow[NF_SLOTS_REQUEUED], "unseen",
			 (json_int_t)overflow[NF_SLOTS_UNSEEN]);
}

static uint64_t overflows(const struct backend_slots *device)
{
	uint64_t sum = 0;

	for (int i = 0; i < NF_SLOTS_OUTCOMES; i++)
		sum += device->overflow[i];
	return sum;
}

struct collection {
	const struct control *control;
	const struct filter *filter;
	json_t *devices;
};

static int add_device(const struct backend_slots *device, void *userdata)
{
	struct collection *collection = userdata;
	json_t *name = device->name ? json_text(device->name, NF_DEVICE_NAME) : NULL, *list;
	uint64_t transmits;

	if (!filter_takes(collection->filter, 0, device->name ? device->name : "", device->netns))
		return 0;
	list = histogram(device, &transmits);
	if (!transmits) {
		json_decref(list);
		json_decref(name);
		return 0;
	}
	return json_array_append_new(
		collection->devices,
		json_pack("{s:o*, s:o*, s:o*, s:b, s:I, s:o, s:I, s:I, s:o, s:I, s:o*}", "device",
			  name, "ifindex", control_known(device->ifindex), "netns",
			  control_known(device->netns), "xen", device->xen, "transmits",
			  (json_int_t)transmits, "histogram", list, "near_misses",
			  (json_int_t)device->near, "overflows", (json_int_t)overflows(device),
			  "outcomes", outcomes(device), "too_big", (json_int_t)device->too_big,
			  "last_overflow",
			  device->last_overflow_ns ? json_time(device->last_overflow_ns) : NULL));
}

/* ---- ledger, probes, log ------------------------------------------------- */

json_t *control_slots_ledger(const struct control *control)
{
	const struct backend *backend = control->parts.backend;
	uint64_t events[NF_SLOTS_PROBES][NF_SLOTS_EVENTS], after[NF_SLOTS_PROBES][NF_SLOTS_EVENTS];
	uint64_t sum[NF_SLOTS_EVENTS] = {0}, missed = 0;
	json_t *balanced = NULL;
	bool steady = true;

	backend->ops->slots_events(backend, events);
	backend->ops->slots_events(backend, after);
	for (int i = 0; i < NF_SLOTS_PROBES; i++) {
		struct probe_status status;

		backend->ops->probe(backend, NF_PROBE_SLOTS_FIRST + i, &status);
		missed += status.missed_known ? status.missed : 0;
		for (int j = 0; j < NF_SLOTS_EVENTS; j++) {
			sum[j] += events[i][j];
			steady &= events[i][j] == after[i][j];
		}
	}
	if (steady)
		balanced = json_boolean(
			sum[NF_SLOTS_HIT] == sum[NF_SLOTS_COUNTED] + sum[NF_SLOTS_UNKEYED] &&
			sum[NF_SLOTS_CHOSEN] == sum[NF_SLOTS_RECORDED] + sum[NF_SLOTS_THROTTLED] +
							sum[NF_SLOTS_RING_FULL] +
							sum[NF_SLOTS_UNENDED]);
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o*}", "hits",
		(json_int_t)sum[NF_SLOTS_HIT], "counted", (json_int_t)sum[NF_SLOTS_COUNTED],
		"unkeyed", (json_int_t)sum[NF_SLOTS_UNKEYED], "chosen",
		(json_int_t)sum[NF_SLOTS_CHOSEN], "recorded", (json_int_t)sum[NF_SLOTS_RECORDED],
		"throttled", (json_int_t)sum[NF_SLOTS_THROTTLED], "ring_full",
		(json_int_t)sum[NF_SLOTS_RING_FULL], "unended", (json_int_t)sum[NF_SLOTS_UNENDED],
		"missed", (json_int_t)missed, "balanced", balanced);
}

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
	const struct rockets *rockets = control->parts.rockets;
	json_t *newest = json_array();

	for (size_t i = ROCKETS_IN_REPLY; i-- > 0;) {
		enum rocket_state state;
		const struct rocket *rocket = rockets_newest(rockets, i, &state);

		if (rocket)
			json_array_append_new(newest, json_rocket(rocket, states[state]));
	}
	return json_pack("{s:b, s:s*, s:I, s:I, s:o}", "readable", !control->parts.kmsg_reason,
			 "reason", control->parts.kmsg_reason, "rockets",
			 (json_int_t)rockets_total(rockets), "unseen",
			 (json_int_t)rockets_unseen(rockets), "newest", newest);
}

/* This works without a backend, too: the kernel's log is then the only source. */
int method_get_slots(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"device", PARAMETER_STRING, true},
						 {"netns", PARAMETER_STRING, true},
						 {NULL, 0, 0}};
	const struct control *control = userdata;
	const struct backend *backend = control->parts.backend;
	OWN_FILTER struct filter filter = {0};
	struct collection collection = {.control = control, .filter = &filter};
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	r = filter_read(&filter, control, call, parameters);
	if (r < 0)
		return r;
	collection.devices = json_array();
	backend->ops->slots(backend, add_device, &collection);
	return control_reply(call,
			     json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "time",
				       json_time(time_monotonic()), "since",
				       json_time(control->parts.started_ns), "limit",
				       (json_int_t)control->parts.slots_limit, "xen",
				       source(backend, NF_PROBE_XENNET_START_XMIT), "named",
				       source(backend, NF_PROBE_SLOTS_DEVICES), "devices",
				       collection.devices, "ledger", control_slots_ledger(control),
				       "log", rockets_log(control)));
}

/* ---- records ------------------------------------------------------------- */

static json_t *answer(const struct control *control, const struct filter *filter, size_t limit)
{
	struct records *records = control->parts.records;
	struct control_found found = control_records_find(records, RECORDS_SLOTS, filter, limit);

	return json_pack("{s:I, s:I, s:I, s:o, s:o}", "held",
			 (json_int_t)records_count(records, RECORDS_SLOTS), "capacity",
			 (json_int_t)records_capacity(records, RECORDS_SLOTS), "matched",
			 (json_int_t)found.matched, "ledger", control_slots_ledger(control),
			 "records", found.records);
}

int method_get_slots_records(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"filter", PARAMETER_STRING, true},
		{"limit", PARAMETER_INT, true},
		{NULL, 0, 0},
	};

	return control_answer_records(userdata, call, parameters, table, answer);
}
