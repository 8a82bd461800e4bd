/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of methods, and what they have in common. */
#include "daemon/control/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/control/cost.h"
#include "daemon/control/measure.h"
#include "daemon/control/server.h"
#include "daemon/util/cleanup.h"
#include "daemon/util/log.h"
#include "daemon/util/time.h"

static const struct method methods[] = {
	{"io.netflowd.GetStatus", ACCESS_READ, false, method_get_status},
	{"io.netflowd.ListProbes", ACCESS_READ, false, method_list_probes},
	{"io.netflowd.GetDrops", ACCESS_READ, false, method_get_drops},
	{"io.netflowd.GetDropRecords", ACCESS_READ, false, method_get_drop_records},
	{"io.netflowd.GetLatency", ACCESS_READ, false, method_get_latency},
	{"io.netflowd.Monitor", ACCESS_READ, true, method_monitor},
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

/*
 * Nothing stops the packets while the table is walked.  When the counters are
 * the same before and after, nothing began or ended meanwhile.
 */
bool control_read_ledger(const struct control *control, ledger_events events, uint64_t *in_flight)
{
	const struct backend *backend = control->parts.backend;
	ledger_events after;

	for (int attempt = 0; attempt < 3; attempt++) {
		backend->ops->events(backend, events);
		*in_flight = backend->ops->in_flight(backend);
		backend->ops->events(backend, after);
		if (!ledger_moved(events, after))
			return true;
	}
	return false;
}

void control_drop(struct control *control, const struct nf_drop_record *record)
{
	monitor_drop(control, record);
}

static void report(const char *what, int error, void *userdata)
{
	(void)userdata;
	log_warning("%s: %s", what, strerror(-error));
}

static int listen_on(struct control *control)
{
	const struct config *config = control->parts.config;
	const struct server_settings settings = {
		.path = control->parts.socket_path,
		.max_clients = (unsigned int)config->clients_max,
		.max_message_bytes = config->message_bytes,
		.max_queued_bytes = config->queue_bytes,
		.report = report,
	};

	return server_new(&control->server, control->parts.loop, &settings, methods,
			  sizeof(methods) / sizeof(methods[0]), control);
}

static void cleanup_control(struct control **control)
{
	control_free(control);
}

int control_new(struct control **control, const struct control_parts *parts)
{
	struct control *fresh CLEANUP(cleanup_control) = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
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
	status_stop(c);
	cost_free(&c->cost);
	measurer_free(&c->measurer);
	free(c);
	*control = NULL;
}
