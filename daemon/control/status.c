/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetStatus and ListProbes: the daemon about itself. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/build_id.h"
#include "common/json.h"
#include "common/time.h"
#include "common/version.h"
#include "daemon/control/coverage.h"
#include "daemon/control/elsewhere.h"
#include "daemon/control/governor.h"
#include "daemon/control/internal.h"
#include "daemon/control/past.h"
#include "daemon/core/drop.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/measure.h"
#include "daemon/history/history.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/process/loop.h"
#include "daemon/store/causes.h"
#include "daemon/store/records.h"

const char *control_unmeasurable(const struct control *control)
{
	return control->parts.backend->ops->stats_missing(control->parts.backend);
}

const char *control_recorded(const struct control *control)
{
	struct backend_recording shown;

	return control->parts.backend->ops->recording(control->parts.backend, &shown)
		       ? "a recording is shown, which does not have it"
		       : NULL;
}

/* ---- GetStatus --------------------------------------------------------- */

/* NULL: the host is not known, because a recording is shown. */
static json_t *host(const struct control *control)
{
	struct utsname name;
	struct stat netns = {0};

	if (control_recorded(control) || uname(&name))
		return NULL;
	stat("/proc/self/ns/net", &netns);
	return json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", name.nodename, "kernel", name.release,
			 "machine", name.machine, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
			 "netns", (json_int_t)netns.st_ino);
}

/* Type Recording; NULL: none is shown. */
static json_t *recording(const struct control *control)
{
	const struct backend *backend = control->parts.backend;
	struct backend_recording shown;

	if (!backend->ops->recording(backend, &shown))
		return NULL;
	return json_pack("{s:o*, s:o*, s:I, s:b}", "from",
			 shown.first_ns ? json_time(shown.first_ns) : NULL, "until",
			 shown.first_ns ? json_time(shown.last_ns) : NULL, "duration_ns",
			 json_count(shown.last_ns - shown.first_ns), "dated", shown.realtime_known);
}

/* Type TraceLedger; NULL: no trace is read. */
static json_t *trace(const struct control *control)
{
	const struct backend *backend = control->parts.backend;
	struct backend_trace ledger;

	if (!backend->ops->trace(backend, &ledger))
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "events", json_count(ledger.events), "lost",
			 json_count(ledger.lost), "losses", json_count(ledger.losses), "unreadable",
			 json_count(ledger.unreadable), "disorder", json_count(ledger.disorder));
}

/* What kfree_skb freed, by what it was. */
struct freed {
	uint64_t drops, faults, messages;
};

static int sum_drops(struct control *control, struct freed *freed)
{
	const struct reading *reading = control_reading(control, DROPS);
	OWN_CAUSES struct causes *causes = NULL;
	int r = causes_new(&causes, control->parts.records,
			   backend_has_reasons(control->parts.backend));

	*freed = (struct freed){0};
	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct backend_drops *drops = reading_drops(reading, i);
		const struct cause *cause = causes_of(causes, &drops->key);

		if (!cause)
			return -ENOMEM;
		if (cause->verdict.message)
			freed->messages += drops->packets;
		else
			freed->drops += drops->packets;
		if (!cause->verdict.message && cause->verdict.class == KNOWLEDGE_FAULT)
			freed->faults += drops->packets;
	}
	return r;
}

/* Type CountedPackets; NULL: the kernel's counters are not read. */
static json_t *counted(const struct control *control, const struct reading_counters *counters)
{
	const struct reading *traffic = control_reading(control, TRAFFIC);
	const struct traffic_list *list = reading_traffic(traffic);
	json_t *object;

	if (!counters->host.known)
		return NULL;
	object = json_pack("{s:I, s:I}", "received", json_count(counters->host.received), "unseen",
			   json_count(counters->host.unseen.packets));
	if (!object || !list->namespaces)
		return object;
	json_object_set_new(object, "sent",
			    json_integer(json_count(list->total[TRAFFIC_TX_PACKETS])));
	json_object_set_new(object, "sent_elapsed_ns",
			    json_integer(control_elapsed(control, reading_time(traffic))));
	return object;
}

static json_t *packets(const struct control *control, const struct reading_counters *counters,
		       const struct freed *freed)
{
	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:o*}", "received",
		json_count(counters->events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_HIT]), "delivered",
		json_count(ledger_sum(counters->events, NF_EVENT_DELIVERED) +
			   ledger_sum(counters->events, NF_EVENT_CONSUMED)),
		"transmitted", json_count(counters->events[NF_PROBE_NET_DEV_XMIT][NF_EVENT_HIT]),
		"dropped", json_count(freed->drops), "faults", json_count(freed->faults),
		"messages", json_count(freed->messages), "counted", counted(control, counters));
}

static json_t *tcp_bytes(const uint64_t bytes[NF_STREAM_COUNT])
{
	uint64_t copied = 0;

	for (int i = 0; i < NF_STREAM_COUNT; i++)
		copied += bytes[i];
	return json_pack("{s:I, s:I, s:I, s:I}", "copied", json_count(copied), "delivered",
			 json_count(bytes[NF_STREAM_DELIVERED]), "merged",
			 json_count(bytes[NF_STREAM_MERGED]), "untracked",
			 json_count(bytes[NF_STREAM_UNTRACKED]));
}

/* Add the memory of all tables to *bytes. */
static json_t *tables(const struct reading *reading, uint64_t *bytes)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < reading_count(reading); i++) {
		const struct backend_table *table = reading_table(reading, i);
		json_t *used = table->used_known ? json_integer(json_count(table->used)) : NULL;

		*bytes += table->bytes;
		json_array_append_new(rows, json_pack("{s:s, s:s, s:I, s:o*, s:I}", "name",
						      table->name, "what", table->what, "entries",
						      json_count(table->entries), "used", used,
						      "memory_bytes", json_count(table->bytes)));
	}
	return rows;
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

/* Of an earlier call's measurement; NULL: this call's, or none. */
static json_t *measured_age(const struct measured *measured)
{
	return measured && measured->age_ns ? json_integer(json_count(measured->age_ns)) : NULL;
}

static json_t *cost(const struct control *control, uint64_t tables_bytes)
{
	const struct measured *measured = control->measured;
	uint64_t uptime = time_monotonic() - control->parts.started_ns, cpu = cost_cpu_ns();
	uint64_t anonymous = cost_anonymous_bytes();
	json_t *elapsed = measured ? json_integer(json_count(measured->elapsed_ns)) : NULL;
	json_t *now = NULL;
	double percent;

	if (cost_cpu_now(control->cost, &percent))
		now = json_real(percent);
	return json_pack("{s:I, s:f, s:o*, s:o*, s:o*, s:o*, s:s*, s:I, s:I, s:I, s:I, s:o}",
			 "daemon_cpu_ns", json_count(cpu), "daemon_cpu_percent",
			 uptime ? 100.0 * (double)cpu / (double)uptime : 0.0,
			 "daemon_cpu_now_percent", now, "programs_cpu_percent",
			 programs_percent(measured), "measured_ns", elapsed, "measured_age_ns",
			 measured_age(measured), "unmeasurable", control_unmeasurable(control),
			 "resident_bytes", json_count(cost_resident_bytes()), "anonymous_bytes",
			 json_count(anonymous), "tables_bytes", json_count(tables_bytes),
			 "memory_bytes", json_count(anonymous + tables_bytes), "governor",
			 control_governor(control->parts.governor));
}

static json_t *clients(const struct control *control)
{
	struct server_stats stats;

	server_stats(control->server, &stats);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "connected",
			 json_count(stats.clients), "streams", json_count(stats.streams),
			 "unsent_bytes", json_count(stats.unsent_bytes), "refused",
			 json_count(stats.rejected), "displaced", json_count(stats.displaced),
			 "timed_out", json_count(stats.timed_out), "over_budget",
			 json_count(stats.over_budget), "gaps", json_count(stats.gaps));
}

static json_t *loop(const struct control *control)
{
	struct loop_turns turns = loop_turns(control->parts.loop);

	return json_pack("{s:I, s:I, s:I, s:I}", "longest_turn_ns", json_count(turns.cpu_ns),
			 "longest_turn_minute_ns", json_count(turns.cpu_minute_ns),
			 "longest_wait_ns", json_count(turns.wall_ns), "longest_wait_minute_ns",
			 json_count(turns.wall_minute_ns));
}

static json_t *readings(const struct control *control)
{
	json_t *rows = json_array();

	for (int i = 0; i < READING_PARTS; i++) {
		struct readings_cost cost =
			readings_cost(control->parts.readings, (enum reading_part)i);

		json_array_append_new(rows,
				      json_pack("{s:s, s:I, s:I, s:I, s:I}", "part", cost.name,
						"readings", json_count(cost.readings), "requests",
						json_count(cost.requests), "cpu_ns",
						json_count(cost.cpu_ns), "longest_ns",
						json_count(cost.longest_cpu_ns)));
	}
	return rows;
}

static json_t *daemon_to_json(const struct control *control, const struct reading *reading)
{
	uint64_t started_ns = control->parts.started_ns;
	struct build_id id = build_id();

	return json_pack("{s:s, s:s*, s:I, s:o, s:I}", "version", NETFLOWD_VERSION, "build_id",
			 id.s[0] ? id.s : NULL, "pid", (json_int_t)getpid(), "started",
			 json_time(started_ns), "uptime_ns",
			 control_elapsed(control, reading_time(reading)));
}

static const char *phase_name(enum writer_phase phase)
{
	static const char *const names[] = {
		[WRITER_STARTING] = "starting",
		[WRITER_WRITING] = "writing",
		[WRITER_FAILING] = "failing",
		[WRITER_STOPPED] = "off",
	};

	return names[phase];
}

/* A text, or NULL if it is empty; for json_pack() with "o*". */
static json_t *some_text(const char *text)
{
	return text[0] ? json_text(text, strlen(text)) : NULL;
}

/* Type History. */
static json_t *history_to_json(const struct control *control)
{
	const char *off = history_off(control->parts.history);
	struct history_status status;
	const struct writer_status *writer = &status.writer;
	int64_t oldest_us;

	if (off)
		return json_pack("{s:s, s:o}", "state", "off", "reason", some_text(off));
	history_get_status(control->parts.history, &status);
	oldest_us = writer->archive.oldest_us;
	return json_pack(
		"{s:s, s:o*, s:o*, s:o*, s:o*, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "state",
		phase_name(writer->phase), "reason", some_text(writer->reason), "set_aside",
		some_text(writer->set_aside), "oldest", oldest_us ? past_time(oldest_us) : NULL,
		"written", writer->written_us ? past_time(writer->written_us) : NULL, "intervals",
		json_count(writer->written), "lost_intervals", json_count(writer->lost),
		"lost_records", json_count(writer->lost_records), "left_out",
		json_count(status.left_out), "waiting", json_count(writer->waiting), "file_bytes",
		json_count(writer->archive.file_bytes), "questions", json_count(status.questions));
}

static int answer_status(struct call *call, json_t *parameters, void *userdata)
{
	struct control *control = userdata;
	const struct control_parts *parts = &control->parts;
	const struct reading *reading = control_reading(control, LEDGER);
	const struct reading_counters *counters = reading_counters(reading);
	uint64_t bytes = 0;
	OWN_COVERAGE struct coverage coverage = {0};
	struct freed freed;
	json_t *rows;
	int r = sum_drops(control, &freed);

	(void)parameters;
	if (r == 0)
		r = control_coverage(control, reading, &coverage);
	if (r < 0)
		return r;
	rows = tables(control_reading(control, TABLES), &bytes);
	return control_reply(
		call,
		json_pack(
			"{s:o, s:o, s:{s:s, s:s}, s:o*, s:o*, s:o*, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}",
			"time", json_time(reading_time(reading)), "daemon",
			daemon_to_json(control, reading), "backend", "name",
			parts->backend->ops->name, "reason", parts->backend_reason, "host",
			host(control), "recording", recording(control), "trace", trace(control),
			"packets", packets(control, counters, &freed), "coverage",
			coverage_json(&coverage), "drops", control_drops_ledger(reading),
			"inflight", control_inflight_ledger(reading), "latency",
			control_latency_ledger(reading), "slots", control_slots_ledger(reading),
			"tcp_bytes", tcp_bytes(counters->streams), "tables", rows, "cost",
			cost(control, bytes), "readings", readings(control), "loop", loop(control),
			"clients", clients(control), "history", history_to_json(control),
			"elsewhere", control_elsewhere_scan(control), "paused",
			control_paused(control)));
}

int method_get_status(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"measure_ms", PARAMETER_INT, true},
						 {"max_age_ms", PARAMETER_INT, true},
						 {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	return control_read(userdata, call, parameters,
			    READING_BIT(LEDGER) | READING_BIT(TABLES) | READING_BIT(DROPS) |
				    READING_BIT(TRAFFIC),
			    answer_status);
}

/* ---- ListProbes -------------------------------------------------------- */

const char *control_probe_state(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_ATTACHED] = "attached",	     [PROBE_UNNEEDED] = "unneeded",
		[PROBE_DEGRADED] = "degraded",	     [PROBE_DETACHED] = "detached",
		[PROBE_UNAVAILABLE] = "unavailable",
	};

	return names[state];
}

static json_t *probe(const struct backend *backend, enum nf_probe i, uint64_t hits,
		     const struct measured *measured)
{
	json_t *count = NULL, *skipped = NULL, *ns = NULL, *insns = NULL;
	struct probe_status status;
	const char *reason;

	backend->ops->probe(backend, i, &status);
	reason = status.state == PROBE_DETACHED ? control_detached : status.reason;
	if (status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED ||
	    status.state == PROBE_DETACHED)
		count = json_integer(json_count(hits));
	if (status.verified_insns)
		insns = json_integer(json_count(status.verified_insns));
	if (status.missed_known)
		skipped = json_integer(json_count(status.missed));
	if (measured && measured->probe[i].runs)
		ns = json_real((double)measured->probe[i].ns / (double)measured->probe[i].runs);
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*, s:s, s:s*}", "name",
			 probe_specs[i].name, "group", probe_specs[i].group, "state",
			 control_probe_state(status.state), "how", status.how, "reason", reason,
			 "hits", count, "missed", skipped, "ns_per_hit", ns, "verified_insns",
			 insns, "lost_without", probe_specs[i].lost_without, "lost_if_degraded",
			 status.state == PROBE_DEGRADED ? probe_simple[i].lost : NULL);
}

static int answer_probes(struct call *call, json_t *parameters, void *userdata)
{
	const struct control *control = userdata;
	const struct measured *measured = control->measured;
	const struct reading_counters *counters =
		reading_counters(control_reading(control, COUNTERS));
	json_t *elapsed = measured ? json_integer(json_count(measured->elapsed_ns)) : NULL;
	json_t *rows = json_array();

	(void)parameters;
	for (int i = 0; i < NF_PROBE_COUNT; i++)
		json_array_append_new(rows, probe(control->parts.backend, (enum nf_probe)i,
						  counters->events[i][NF_EVENT_HIT], measured));
	return control_reply(call,
			     json_pack("{s:o, s:o*, s:o*, s:s*}", "probes", rows, "measured_ns",
				       elapsed, "measured_age_ns", measured_age(measured),
				       "unmeasurable", control_unmeasurable(control)));
}

int method_list_probes(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {{"measure_ms", PARAMETER_INT, true},
						 {"max_age_ms", PARAMETER_INT, true},
						 {NULL, 0, 0}};

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	return control_read(userdata, call, parameters, READING_BIT(COUNTERS), answer_probes);
}
