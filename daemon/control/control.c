/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The startup and shutdown of the control, and the functions that its methods share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/version.h"
#include "daemon/alert/deliver.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/measure.h"
#include "daemon/history/history.h"
#include "daemon/sources/coverage.h"
#include "interface.h"

bool control_no_data(const struct control *control, struct call *call)
{
	if (!backend_is_none(control->sources->backend))
		return false;
	call_error(call, "io.netflowd.NoData",
		   json_pack("{s:s}", "reason", control->sources->backend_reason));
	return true;
}

int control_reply(struct call *call, json_t *object)
{
	return object ? call_reply(call, object) : -ENOMEM;
}

json_int_t control_elapsed(const struct control *control, uint64_t time_ns)
{
	uint64_t started_ns = control->sources->started_ns;

	return time_ns > started_ns ? (json_int_t)(time_ns - started_ns) : 0;
}

void control_record(struct control *control, enum record_kind kind)
{
	control->added[kind]++;
	monitor_record(control, kind);
}

/* ---- events of alerts ---------------------------------------------------- */

static unsigned int stream_alert(void *userdata, json_t *event)
{
	return alert_streams_send(userdata, event);
}

static void keep_alert(void *userdata, uint64_t time_ns, const char *text, const char *rule)
{
	const struct control *control = userdata;
	char *copy = strdup(text);

	if (copy)
		history_add_alert(control->sources->history, time_ns, copy, rule);
}

static void end_test(void *userdata, void *data, const char *action,
		     const struct alert_exec_result *result)
{
	(void)userdata;
	alert_test_ended(data, action, result);
}

struct alert_clients control_alert_clients(struct control *control)
{
	return (struct alert_clients){.stream = stream_alert,
				      .keep = keep_alert,
				      .tested = end_test,
				      .userdata = control};
}

/* ---- life ---------------------------------------------------------------- */

static void report(const char *what, int error, void *userdata)
{
	(void)userdata;
	log_warning("%s: %s", what, strerror(-error));
}

/* Clients that only root gets, unless they are more than half of all. */
#define ROOT_CLIENTS 8
/* One user other than root gets a quarter of all clients. */
#define USER_SHARE 4
/* Bytes of the largest request. */
#define MESSAGE_BYTES (64 << 10)
/* Bytes of replies that can wait for one slow client before it loses records. */
#define QUEUE_BYTES (1 << 20)
/* Bytes of replies that can wait for all clients together, and of the largest reply. */
#define UNSENT_BYTES (16 << 20)

static void set_limits(const struct control_limits *limits, struct server_settings *settings)
{
	settings->max_clients = (unsigned int)limits->clients;
	settings->root_clients = ROOT_CLIENTS;
	settings->user_clients =
		limits->clients < USER_SHARE ? 1 : (unsigned int)limits->clients / USER_SHARE;
	settings->idle_ns = limits->idle_ns;
	settings->max_message_bytes = MESSAGE_BYTES;
	settings->max_queued_bytes = QUEUE_BYTES;
	settings->max_unsent_bytes = UNSENT_BYTES;
}

static int listen_on(struct control *control)
{
	static const struct server_interface interface = {"io.netflowd", interface_text};
	struct server_settings settings = {
		.path = control->parts.socket_path,
		.listening = control->parts.listening,
		.group = control->parts.group,
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
		.report = report,
	};

	set_limits(&control->parts.limits, &settings);
	return server_new(&control->server, control->parts.loop, &settings, control_methods,
			  control_method_count, control);
}

void control_set_limits(struct control *control, const struct control_limits *limits)
{
	struct server_settings settings = {0};

	control->parts.limits = *limits;
	set_limits(limits, &settings);
	server_set_limits(control->server, &settings);
}

int control_coverage(const struct control *control, const struct reading *counters,
		     struct coverage *coverage)
{
	return coverage_find(control->sources, counters, coverage);
}

void control_clients(const struct control *control, struct server_stats *stats)
{
	server_stats(control->server, stats);
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
	fresh->sources = &fresh->parts.sources;
	r = measurer_new(&fresh->measurer, parts->loop, parts->sources.backend);
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
	control_stop_waiting(c);
	pages_stop(c);
	cost_free(&c->cost);
	measurer_free(&c->measurer);
	free(c);
	*control = NULL;
}
