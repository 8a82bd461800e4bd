/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of methods, and what they have in common. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/time.h"
#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/measure.h"
#include "daemon/kernel/attribution.h"
#include "daemon/probe/probes.h"
#include "daemon/varlink/server.h"
#include "interface.h"

/* Some readings of the ledger, which holds only while nothing moves; no call waits longer. */
#define LEDGER_ATTEMPTS 4
#define LEDGER_PAUSE_US 500

static const struct method methods[] = {
	{"io.netflowd.GetStatus", ACCESS_READ, false, method_get_status},
	{"io.netflowd.ListProbes", ACCESS_READ, false, method_list_probes},
	{"io.netflowd.GetDrops", ACCESS_READ, false, method_get_drops},
	{"io.netflowd.GetDropRecords", ACCESS_READ, false, method_get_drop_records},
	{"io.netflowd.Explain", ACCESS_READ, false, method_explain},
	{"io.netflowd.GetLatency", ACCESS_READ, false, method_get_latency},
	{"io.netflowd.GetLatencyRecords", ACCESS_READ, false, method_get_latency_records},
	{"io.netflowd.GetNapi", ACCESS_READ, false, method_get_napi},
	{"io.netflowd.GetSlots", ACCESS_READ, false, method_get_slots},
	{"io.netflowd.GetSlotsRecords", ACCESS_READ, false, method_get_slots_records},
	{"io.netflowd.Monitor", ACCESS_READ, true, method_monitor},
	{"io.netflowd.GetAlerts", ACCESS_READ, false, method_get_alerts},
	{"io.netflowd.MonitorAlerts", ACCESS_READ, true, method_monitor_alerts},
	{"io.netflowd.TestAlert", ACCESS_CHANGE, false, method_test_alert},
	{"io.netflowd.SilenceAlert", ACCESS_CHANGE, false, method_silence_alert},
	{"io.netflowd.UnsilenceAlert", ACCESS_CHANGE, false, method_unsilence_alert},
};

bool control_no_data(const struct control *control, struct call *call)
{
	if (!backend_is_none(control->parts.backend))
		return false;
	call_error(call, "io.netflowd.NoData",
		   json_pack("{s:s}", "reason", control->parts.backend_reason));
	return true;
}

json_t *control_time(uint64_t monotonic_ns)
{
	char text[TIME_TEXT_MAX];

	time_format(monotonic_ns, text);
	return json_string(text);
}

int control_reply(struct call *call, json_t *object)
{
	return object ? call_reply(call, object) : -ENOMEM;
}

static bool balanced(ledger_events events, uint64_t in_flight)
{
	struct ledger_inflight inflight;
	struct ledger_drops drops;

	ledger_of_drops(&drops, events);
	ledger_of_inflight(&inflight, events, in_flight);
	return drops.balanced && !inflight.unaccounted;
}

/*
 * Nothing stops the packets while the table is walked.  When the counters are
 * the same before and after, nothing began or ended meanwhile; but a program
 * may be between its two steps, for as long as its virtual CPU does not run,
 * so an imbalance counts only if it stays.
 */
bool control_read_ledger(const struct control *control, ledger_events events, uint64_t *in_flight)
{
	const struct backend *backend = control->parts.backend;
	ledger_events after;
	bool still = false;

	for (int attempt = 0; attempt < LEDGER_ATTEMPTS; attempt++) {
		if (attempt)
			usleep(LEDGER_PAUSE_US);
		backend->ops->events(backend, events);
		*in_flight = backend->ops->in_flight(backend);
		backend->ops->events(backend, after);
		still = !ledger_moved(events, after);
		if (still && balanced(events, *in_flight))
			return true;
	}
	return still;
}

json_t *control_latency_ledger(ledger_events events, bool still)
{
	struct ledger_latency ledger;
	json_t *balanced;

	ledger_of_latency(&ledger, events);
	balanced = still ? json_boolean(ledger.chosen ==
					ledger.recorded + ledger.throttled + ledger.ring_full)
			 : NULL;
	return json_pack("{s:I, s:I, s:I, s:I, s:o*}", "chosen", (json_int_t)ledger.chosen,
			 "recorded", (json_int_t)ledger.recorded, "throttled",
			 (json_int_t)ledger.throttled, "ring_full", (json_int_t)ledger.ring_full,
			 "balanced", balanced);
}

size_t control_read_count(struct call *call, json_t *parameters, const char *name, size_t otherwise)
{
	const json_t *value = json_object_get(parameters, name);

	if (!value)
		return otherwise;
	if (json_integer_value(value) >= 1)
		return (size_t)json_integer_value(value);
	call_invalid_parameter(call, name);
	return 0;
}

int control_read_records(const struct control *control, struct call *call, json_t *parameters,
			 const struct parameter table[], struct filter *filter, size_t *limit)
{
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	if (control_no_data(control, call))
		return 0;
	*limit = control_read_count(call, parameters, "limit", RECORDS_BY_DEFAULT);
	r = *limit ? filter_read(filter, control, call, parameters) : -EINVAL;
	return r < 0 ? r : 1;
}

void control_drop(struct control *control, const struct nf_drop_record *record)
{
	monitor_drop(control, record);
}

void control_path(struct control *control, const struct nf_path_record *record)
{
	monitor_path(control, record);
}

void control_slots(struct control *control, const struct nf_slots_record *record)
{
	monitor_slots(control, record);
}

/* Of the probes of slots no path knows. */
void control_find_probes(struct control *control)
{
	const struct backend *backend = control->parts.backend;
	struct path_probes *probes = &control->probes;

	*probes = (struct path_probes){0};
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct probe_status status;

		backend->ops->probe(backend, (enum nf_probe)i, &status);
		if (status.state == PROBE_UNAVAILABLE)
			snprintf(probes->without[i], sizeof(probes->without[i]),
				 "%s is unavailable: %s", probe_specs[i].name, status.reason);
	}
}

static void report(const char *what, int error, void *userdata)
{
	(void)userdata;
	log_warning("%s: %s", what, strerror(-error));
}

static int listen_on(struct control *control)
{
	static const struct server_interface interface = {"io.netflowd", interface_text};
	const struct control_limits *limits = &control->parts.limits;
	const struct server_settings settings = {
		.path = control->parts.socket_path,
		.group = "netflow",
		.vendor = "netflowd",
		.product = "netflowd",
		.version = NETFLOWD_VERSION,
		.interfaces = &interface,
		.interface_count = 1,
		.errors =
			{
				.failed = "io.netflowd.Failed",
				.too_many = "io.netflowd.TooMany",
				.permission_denied = "io.netflowd.PermissionDenied",
				.invalid_message = "io.netflowd.InvalidMessage",
			},
		.max_clients = (unsigned int)limits->clients,
		.max_message_bytes = limits->message_bytes,
		.max_queued_bytes = limits->queue_bytes,
		.report = report,
	};

	return server_new(&control->server, control->parts.loop, &settings, methods,
			  ARRAY_SIZE(methods), control);
}

static void cleanup_control(struct control **control)
{
	control_free(control);
}

#define OWN_CONTROL CLEANUP(cleanup_control)

int control_new(struct control **control, const struct control_parts *parts)
{
	OWN_CONTROL struct control *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	control_find_probes(fresh);
	r = attribution_new(&fresh->attribution, NULL);
	if (r < 0)
		return r;
	r = measurer_new(&fresh->measurer, parts->loop, parts->backend);
	if (r < 0)
		return r;
	r = cost_new(&fresh->cost, parts->loop);
	if (r < 0)
		return r;
	r = listen_on(fresh);
	if (r < 0)
		return r;
	*control = TAKE_PTR(fresh);
	return 0;
}

void control_free(struct control **control)
{
	struct control *c = *control;

	if (!c)
		return;
	server_free(&c->server);
	monitor_stop(c);
	alert_streams_stop(c);
	status_stop(c);
	cost_free(&c->cost);
	attribution_free(&c->attribution);
	measurer_free(&c->measurer);
	free(c);
	*control = NULL;
}
