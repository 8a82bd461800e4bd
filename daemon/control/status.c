/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetStatus: the daemon about itself. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/build_id.h"
#include "common/json.h"
#include "common/time.h"
#include "common/version.h"
#include "daemon/control/internal.h"
#include "daemon/control/own_cost.h"
#include "daemon/core/drop.h"
#include "daemon/history/history.h"
#include "daemon/json/json.h"
#include "daemon/probe/backend.h"
#include "daemon/sources/coverage.h"
#include "daemon/sources/kernel_drops.h"
#include "daemon/sources/ledger_json.h"
#include "daemon/sources/past.h"
#include "daemon/store/causes.h"
#include "daemon/store/records.h"

/* NULL: the host is not known, because a recording is shown. */
static json_t *host(const struct control *control)
{
	struct utsname name;
	struct stat netns = {0};

	if (sources_recorded(control->sources) || uname(&name))
		return NULL;
	stat("/proc/self/ns/net", &netns);
	return json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", name.nodename, "kernel", name.release,
			 "machine", name.machine, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
			 "netns", (json_int_t)netns.st_ino);
}

/* Type Recording; NULL: none is shown. */
static json_t *recording(const struct control *control)
{
	const struct backend *backend = control->sources->backend;
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
	const struct backend *backend = control->sources->backend;
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
	int r = causes_new(&causes, control->sources->records,
			   backend_has_reasons(control->sources->backend));

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

static json_t *daemon_to_json(const struct control *control, const struct reading *reading)
{
	uint64_t started_ns = control->sources->started_ns;
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
	const char *off = history_off(control->sources->history);
	struct history_status status;
	const struct writer_status *writer = &status.writer;
	int64_t oldest_us;

	if (off)
		return json_pack("{s:s, s:o}", "state", "off", "reason", some_text(off));
	history_get_status(control->sources->history, &status);
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
	const struct sources *sources = control->sources;
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
	rows = own_tables_json(control, &bytes);
	return control_reply(
		call,
		json_pack(
			"{s:o, s:o, s:{s:s, s:s}, s:o*, s:o*, s:o*, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}",
			"time", json_time(reading_time(reading)), "daemon",
			daemon_to_json(control, reading), "backend", "name",
			sources->backend->ops->name, "reason", sources->backend_reason, "host",
			host(control), "recording", recording(control), "trace", trace(control),
			"packets", packets(control, counters, &freed), "coverage",
			coverage_json(&coverage), "drops", ledger_drops_json(reading), "inflight",
			ledger_inflight_json(reading), "latency", ledger_latency_json(reading),
			"slots", ledger_slots_json(reading), "tcp_bytes",
			tcp_bytes(counters->streams), "tables", rows, "cost",
			own_cost_json(control, bytes), "readings", own_readings_json(control),
			"loop", own_loop_json(control), "clients", own_clients_json(control),
			"history", history_to_json(control), "elsewhere",
			kernel_drops_scan_json(sources), "paused", control_paused(control)));
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
