/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetStatus and ListProbes: the daemon about itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/control/coverage.h"
#include "daemon/control/internal.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/measure.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"

/* A call that waits until the programs have been measured. */
struct pending {
	struct pending *next, **link;
	struct control *control;
	struct call *call;
	struct measurement *measurement;
	json_t *(*answer)(struct control *control, const struct measured *measured);
};

static void pending_free(struct pending *pending)
{
	measurement_free(&pending->measurement);
	*pending->link = pending->next;
	if (pending->next)
		pending->next->link = pending->link;
	free(pending);
}

static void pending_closed(void *userdata)
{
	pending_free(userdata);
}

static void pending_done(const struct measured *measured, void *userdata)
{
	struct pending *pending = userdata;
	struct call *call = pending->call;
	json_t *answer = pending->answer(pending->control, measured);

	pending_free(pending);
	if (answer)
		call_reply(call, answer);
	else
		call_error(call, "io.netflowd.Failed", NULL);
}

void status_stop(struct control *control)
{
	while (control->pending)
		pending_free(control->pending);
}

/* Why the programs cannot be measured; NULL: they can. */
static const char *unmeasurable(const struct control *control)
{
	return control->parts.backend->ops->stats_missing(control->parts.backend);
}

/* Answer now or, if the call asks for it, after a measurement. */
static int answer_measured(struct control *control, struct call *call, json_t *parameters,
			   json_t *(*answer)(struct control *, const struct measured *))
{
	static const struct parameter table[] = {{"measure_ms", PARAMETER_INT, true}, {NULL, 0, 0}};
	json_t *ms;
	struct pending *pending;
	int r;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	ms = json_object_get(parameters, "measure_ms");
	if (ms && (json_integer_value(ms) < 1 || json_integer_value(ms) > MEASURE_MS_MAX))
		return call_invalid_parameter(call, "measure_ms");
	if (!ms || unmeasurable(control))
		return control_reply(call, answer(control, NULL));
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	pending->control = control;
	pending->call = call;
	pending->answer = answer;
	pending->link = &control->pending;
	pending->next = control->pending;
	if (pending->next)
		pending->next->link = &pending->next;
	control->pending = pending;
	r = measurement_start(&pending->measurement, control->measurer,
			      (uint64_t)json_integer_value(ms), pending_done, pending);
	if (r < 0) {
		pending_free(pending);
		return r;
	}
	call_on_close(call, pending_closed, pending);
	return 0;
}

/* ---- GetStatus --------------------------------------------------------- */

static json_t *host(void)
{
	struct utsname name;
	struct stat netns = {0};

	if (uname(&name))
		return NULL;
	stat("/proc/self/ns/net", &netns);
	return json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", name.nodename, "kernel", name.release,
			 "machine", name.machine, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
			 "netns", (json_int_t)netns.st_ino);
}

/* The runs that the kernel skipped: of kfree_skb, or of all other probes except those of slots. */
static uint64_t missed(const struct backend *backend, bool of_drops)
{
	uint64_t sum = 0;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct probe_status status;

		if ((i == NF_PROBE_KFREE_SKB) != of_drops || i >= NF_PROBE_SLOTS_FIRST)
			continue;
		backend->ops->probe(backend, (enum nf_probe)i, &status);
		if (status.missed_known)
			sum += status.missed;
	}
	return sum;
}

static json_t *balance(bool steady, bool balanced)
{
	return steady ? json_boolean(balanced) : NULL;
}

static json_t *drops_ledger(const struct control *control, ledger_events events, bool steady)
{
	struct ledger_drops ledger;

	ledger_of_drops(&ledger, events);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o*}", "hits",
			 (json_int_t)ledger.hits, "counted", (json_int_t)ledger.counted, "unkeyed",
			 (json_int_t)ledger.unkeyed, "completed", (json_int_t)ledger.completed,
			 "recorded", (json_int_t)ledger.recorded, "throttled",
			 (json_int_t)ledger.throttled, "ring_full", (json_int_t)ledger.ring_full,
			 "missed", (json_int_t)missed(control->parts.backend, true), "balanced",
			 balance(steady, ledger.balanced));
}

static json_t *inflight_ledger(const struct control *control, ledger_events events,
			       uint64_t in_flight, bool steady)
{
	struct ledger_inflight l;

	ledger_of_inflight(&l, events, in_flight);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o*}",
			 "begun", (json_int_t)l.begun, "delivered", (json_int_t)l.delivered,
			 "consumed", (json_int_t)l.consumed, "transmitted",
			 (json_int_t)l.transmitted, "forwarded", (json_int_t)l.forwarded, "dropped",
			 (json_int_t)l.dropped, "overwritten", (json_int_t)l.overwritten,
			 "invalidated", (json_int_t)l.invalidated, "torn", (json_int_t)l.torn,
			 "in_flight", (json_int_t)l.in_flight, "unaccounted",
			 (json_int_t)l.unaccounted, "missed",
			 (json_int_t)missed(control->parts.backend, false), "balanced",
			 balance(steady, l.unaccounted == 0));
}

static json_t *packets(ledger_events events)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "received",
			 (json_int_t)events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_HIT], "delivered",
			 (json_int_t)(ledger_sum(events, NF_EVENT_DELIVERED) +
				      ledger_sum(events, NF_EVENT_CONSUMED)),
			 "transmitted", (json_int_t)events[NF_PROBE_NET_DEV_XMIT][NF_EVENT_HIT],
			 "dropped", (json_int_t)events[NF_PROBE_KFREE_SKB][NF_EVENT_HIT]);
}

static json_t *tcp_bytes(const struct backend *backend)
{
	uint64_t bytes[NF_STREAM_COUNT], copied = 0;

	backend->ops->streams(backend, bytes);
	for (int i = 0; i < NF_STREAM_COUNT; i++)
		copied += bytes[i];
	return json_pack("{s:I, s:I, s:I, s:I}", "copied", (json_int_t)copied, "delivered",
			 (json_int_t)bytes[NF_STREAM_DELIVERED], "merged",
			 (json_int_t)bytes[NF_STREAM_MERGED], "untracked",
			 (json_int_t)bytes[NF_STREAM_UNTRACKED]);
}

struct tables {
	json_t *rows;
	uint64_t bytes;
};

static int add_table(const struct backend_table *table, void *userdata)
{
	struct tables *tables = userdata;
	json_t *used = table->used_known ? json_integer((json_int_t)table->used) : NULL;

	tables->bytes += table->bytes;
	return json_array_append_new(
		tables->rows, json_pack("{s:s, s:s, s:I, s:o*, s:I}", "name", table->name, "what",
					table->what, "entries", (json_int_t)table->entries, "used",
					used, "memory_bytes", (json_int_t)table->bytes));
}

static json_t *programs_percent(const struct measured *measured)
{
	uint64_t ns = 0;

	if (!measured || !measured->elapsed_ns)
		return NULL;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		ns += measured->probe[i].ns;
	return json_real(100.0 * (double)ns / (double)measured->elapsed_ns);
}

static json_t *cost(const struct control *control, const struct measured *measured,
		    uint64_t tables_bytes)
{
	uint64_t uptime = time_monotonic() - control->parts.started_ns, cpu = cost_cpu_ns();
	uint64_t anonymous = cost_anonymous_bytes();
	json_t *elapsed = measured ? json_integer((json_int_t)measured->elapsed_ns) : NULL;
	json_t *now = NULL;
	double percent;

	if (cost_cpu_now(control->cost, &percent))
		now = json_real(percent);
	return json_pack("{s:I, s:f, s:o*, s:o*, s:o*, s:s*, s:I, s:I, s:I, s:I}", "daemon_cpu_ns",
			 (json_int_t)cpu, "daemon_cpu_percent",
			 uptime ? 100.0 * (double)cpu / (double)uptime : 0.0,
			 "daemon_cpu_now_percent", now, "programs_cpu_percent",
			 programs_percent(measured), "measured_ns", elapsed, "unmeasurable",
			 unmeasurable(control), "resident_bytes", (json_int_t)cost_resident_bytes(),
			 "anonymous_bytes", (json_int_t)anonymous, "tables_bytes",
			 (json_int_t)tables_bytes, "memory_bytes",
			 (json_int_t)(anonymous + tables_bytes));
}

static json_t *status(struct control *control, const struct measured *measured)
{
	const struct control_parts *parts = &control->parts;
	struct tables tables = {.rows = json_array()};
	uint64_t now = time_monotonic(), in_flight;
	ledger_events events;
	bool steady = control_read_ledger(control, events, &in_flight);

	parts->backend->ops->tables(parts->backend, add_table, &tables);
	return json_pack(
		"{s:o, s:{s:s, s:I, s:o, s:I}, s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"time", json_time(now), "daemon", "version", NETFLOWD_VERSION, "pid",
		(json_int_t)getpid(), "started", json_time(parts->started_ns), "uptime_ns",
		(json_int_t)(now - parts->started_ns), "backend", "name", parts->backend->ops->name,
		"reason", parts->backend_reason, "host", host(), "packets", packets(events),
		"coverage", coverage_json(control, events), "drops",
		drops_ledger(control, events, steady), "inflight",
		inflight_ledger(control, events, in_flight, steady), "latency",
		control_latency_ledger(events, steady), "slots", control_slots_ledger(control),
		"tcp_bytes", tcp_bytes(parts->backend), "tables", tables.rows, "cost",
		cost(control, measured, tables.bytes));
}

int method_get_status(struct call *call, json_t *parameters, void *userdata)
{
	return answer_measured(userdata, call, parameters, status);
}

/* ---- ListProbes -------------------------------------------------------- */

const char *control_probe_state(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_ATTACHED] = "attached",
		[PROBE_UNNEEDED] = "unneeded",
		[PROBE_UNAVAILABLE] = "unavailable",
	};

	return names[state];
}

static json_t *probe(const struct backend *backend, enum nf_probe i, uint64_t hits,
		     const struct measured *measured)
{
	json_t *count = NULL, *skipped = NULL, *ns = NULL;
	struct probe_status status;

	backend->ops->probe(backend, i, &status);
	if (status.state == PROBE_ATTACHED)
		count = json_integer((json_int_t)hits);
	if (status.missed_known)
		skipped = json_integer((json_int_t)status.missed);
	if (measured && measured->probe[i].runs)
		ns = json_real((double)measured->probe[i].ns / (double)measured->probe[i].runs);
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o*, s:o*, s:s}", "name",
			 probe_specs[i].name, "group", probe_specs[i].group, "state",
			 control_probe_state(status.state), "how", status.how, "reason",
			 status.reason, "hits", count, "missed", skipped, "ns_per_hit", ns,
			 "lost_without", probe_specs[i].lost_without);
}

static json_t *probes(struct control *control, const struct measured *measured)
{
	const struct backend *backend = control->parts.backend;
	json_t *elapsed = measured ? json_integer((json_int_t)measured->elapsed_ns) : NULL;
	json_t *rows = json_array();
	ledger_events events;

	backend->ops->events(backend, events);
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		json_array_append_new(
			rows, probe(backend, (enum nf_probe)i, events[i][NF_EVENT_HIT], measured));
	return json_pack("{s:o, s:o*, s:s*}", "probes", rows, "measured_ns", elapsed,
			 "unmeasurable", unmeasurable(control));
}

int method_list_probes(struct call *call, json_t *parameters, void *userdata)
{
	return answer_measured(userdata, call, parameters, probes);
}
