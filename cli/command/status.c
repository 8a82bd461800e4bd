/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl status: the daemon's health. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/command/command.h"
#include "cli/show/coverage.h"
#include "cli/show/elsewhere.h"
#include "cli/show/kernel_tables.h"
#include "cli/show/ledger.h"
#include "cli/show/pause.h"
#include "common/array.h"

#define METHOD "io.netflowd.GetStatus"
#define MEASURE_MS 50
#define NAME_COLUMN 12
#define PACKETS_COLUMN 16

static void put_title(struct page *page, const char *title)
{
	page_line(page, PAGE_TITLE, "%s", title);
}

/* Begin a line that has a name and a value. */
static void put_name(struct page *page, const char *name)
{
	page_put(page, PAGE_PLAIN, "  %s", name);
	page_pad(page, NAME_COLUMN, 1);
}

/* Without a backend nothing counts: then a counter of 0 must not be shown as a number. */
static bool no_backend(const json_t *status)
{
	return !strcmp(field_text(json_object_get(status, "backend"), "name"), "none");
}

static void put_daemon(struct page *page, const json_t *status)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *backend = json_object_get(status, "backend");
	const char *id = field_text_or(daemon, "build_id", NULL);

	put_title(page, "daemon");
	put_name(page, "version");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s%s%s, pid %s",
		       field_text(daemon, "version"), id ? ", build " : "", id ? id : "",
		       field_units_number(daemon, "pid").s);
	put_name(page, "started");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s, up %s", field_date(daemon, "started").s,
		       field_units_duration(daemon, "uptime_ns").s);
	put_name(page, "backend");
	page_paragraph(page, no_backend(status) ? PAGE_BAD : PAGE_PLAIN, NAME_COLUMN, "%s: %s",
		       field_text(backend, "name"), field_text(backend, "reason"));
}

static void put_host(struct page *page, const json_t *status)
{
	const json_t *host = json_object_get(status, "host");

	if (!host)
		return;
	put_title(page, "host");
	put_name(page, "name");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s", field_text(host, "name"));
	put_name(page, "kernel");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s, %s, %s CPUs", field_text(host, "kernel"),
		       field_text(host, "machine"), field_units_number(host, "cpus").s);
	put_name(page, "netns");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s", field_units_number(host, "netns").s);
}

static void put_recording(struct page *page, const json_t *status)
{
	const json_t *recording = json_object_get(status, "recording");

	if (!recording)
		return;
	put_title(page, "recording");
	put_name(page, "from");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s, for %s%s",
		       field_date(recording, "from").s,
		       field_units_duration(recording, "duration_ns").s,
		       field_true(recording, "dated")
			       ? ""
			       : "; it does not say the time of day, so times count from 1970");
}

static void put_packets_name(struct page *page, const char *name)
{
	page_put(page, PAGE_PLAIN, "  %s", name);
	page_pad(page, PACKETS_COLUMN, 2);
}

/* The kernel's exact count, and beside it what netflowd saw if that was a part. */
static void put_received(struct page *page, const json_t *packets, bool whole)
{
	const json_t *kernel = json_object_get(packets, "counted");
	struct units_text seen = field_units_count(packets, "received");

	put_packets_name(page, "received");
	if (whole || !json_object_get(kernel, "received"))
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s", seen.s);
	else
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN,
			       "%s by the kernel's count; netflowd saw %s",
			       field_units_count(kernel, "received").s, seen.s);
}

/* netflowd sees a part, and cannot read the counters of every device: there is no exact count of the rest. */
static void put_transmitted(struct page *page, const json_t *packets, bool whole)
{
	uint64_t seen = field_count_or(packets, "transmitted", 0);
	uint64_t sent = field_count_or(json_object_get(packets, "counted"), "sent", 0);

	put_packets_name(page, "transmitted");
	if (whole)
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s", units_count(seen).s);
	else
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN,
			       "at least %s; netflowd saw %s, and the counters of devices that it "
			       "can read show %s",
			       units_count(seen > sent ? seen : sent).s, units_count(seen).s,
			       units_count(sent).s);
}

static void put_unseen(struct page *page, const json_t *counted)
{
	uint64_t unseen = field_count_or(counted, "unseen", 0);
	uint64_t received = field_count_or(counted, "received", 0);

	if (!unseen || !received)
		return;
	put_packets_name(page, "not followed");
	page_paragraph(page, PAGE_WARN, NAME_COLUMN,
		       "%s of the received packets: %s came while no journey began",
		       units_percent(100 * (double)unseen / (double)received).s,
		       units_count(unseen).s);
}

static void put_packets(struct page *page, const json_t *status)
{
	const json_t *packets = json_object_get(status, "packets");
	const json_t *counted = json_object_get(packets, "counted");
	bool whole = !field_count_or(counted, "unseen", 0) &&
		     !field_count_or(json_object_get(status, "latency"), "passed", 0);
	const json_t *governor = json_object_get(json_object_get(status, "cost"), "governor");
	bool ended = whole && !field_count_or(governor, "unseen_longest_ns", 0) &&
		     !field_count_or(json_object_get(status, "inflight"), "overwritten", 0);

	put_title(page, "packets");
	if (no_backend(status)) {
		page_line(page, PAGE_BAD, "  not seen: no backend runs");
		return;
	}
	put_received(page, packets, whole);
	put_packets_name(page, "delivered");
	page_paragraph(
		page, PAGE_PLAIN, NAME_COLUMN, "%s%s", field_units_count(packets, "delivered").s,
		ended ? "" : " of those followed to their end; `netflowctl latency` estimates all");
	put_transmitted(page, packets, whole);
	put_packets_name(page, "dropped");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s",
		       field_units_count(packets, "dropped").s);
	put_unseen(page, counted);
}

static int put_tables(struct page *page, const json_t *status)
{
	put_title(page, "tables");
	return kernel_tables_put(page, json_object_get(status, "tables"));
}

/* 1 in how many packets the CPU follows that follows the fewest. */
static uint64_t most_one_in(const json_t *governor)
{
	uint64_t most = 1;
	const json_t *cpu;
	size_t i;

	json_array_foreach(json_object_get(governor, "cpus"), i, cpu)
	{
		uint64_t rx = field_count_or(cpu, "rx_one_in", 1);
		uint64_t tx = field_count_or(cpu, "tx_one_in", 1);

		most = rx > most ? rx : most;
		most = tx > most ? tx : most;
	}
	return most;
}

static void put_shed(struct page *page, const json_t *governor)
{
	uint64_t windows = field_count_or(governor, "windows_one_in", 1);
	uint64_t packets = most_one_in(governor);
	bool wake = json_is_true(json_object_get(governor, "wake_shed"));

	put_name(page, "shed");
	if (!strcmp(field_text(governor, "state"), "off")) {
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "nothing: cost.governor is off");
		return;
	}
	if (windows == 1 && packets == 1 && !wake) {
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "nothing");
		return;
	}
	if (packets > 1)
		page_put(page, PAGE_WARN, "1 in %s packets is followed on the busiest CPU%s",
			 units_count(packets).s, wake ? "; " : "");
	if (wake)
		page_put(page, PAGE_WARN, "the scheduler's probes are detached");
	if (windows > 1)
		page_put(page, PAGE_WARN, "; stages are attached for 1/%s of the time",
			 units_count(windows).s);
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "; for %s",
		       field_units_duration(governor, "since_ns").s);
}

static void put_governor(struct page *page, const json_t *governor)
{
	put_name(page, "budget");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN,
		       "%s of %s of the host's CPU time: hooks %s, programs %s, daemon %s",
		       field_units_percent(governor, "host_percent").s,
		       field_units_percent(governor, "budget_percent").s,
		       field_units_percent(governor, "hooks_percent").s,
		       field_units_percent(governor, "programs_percent").s,
		       field_units_percent(governor, "daemon_percent").s);
	put_name(page, "worst CPU");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s of %s, CPU %s",
		       field_units_percent(governor, "cpu_percent").s,
		       field_units_percent(governor, "cpu_budget_percent").s,
		       field_units_number(governor, "cpu").s);
	put_shed(page, governor);
	put_name(page, "followed");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN,
		       "%s of the time since the daemon started; longest gap %s",
		       field_units_percent(governor, "seen_percent").s,
		       field_units_duration(governor, "unseen_longest_ns").s);
}

static void put_cost(struct page *page, const json_t *status)
{
	const json_t *cost = json_object_get(status, "cost");
	const char *unmeasurable = json_string_value(json_object_get(cost, "unmeasurable"));
	/* For a user other than root, it may be an earlier call's. */
	const json_t *earlier = json_object_get(cost, "measured_age_ns");
	uint64_t measured;

	put_title(page, "cost");
	put_name(page, "daemon");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN,
		       "%s of a core now, %s since it started (%s of CPU time)",
		       field_units_percent(cost, "daemon_cpu_now_percent").s,
		       field_units_percent(cost, "daemon_cpu_percent").s,
		       field_units_duration(cost, "daemon_cpu_ns").s);
	put_name(page, "programs");
	if (field_count(cost, "measured_ns", &measured))
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s of a core, measured for %s%s%s%s",
			       field_units_percent(cost, "programs_cpu_percent").s,
			       units_duration(measured).s, earlier ? ", " : "",
			       earlier ? field_units_duration(cost, "measured_age_ns").s : "",
			       earlier ? " ago" : "");
	else
		page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "not measured%s%s",
			       unmeasurable ? ": " : "", unmeasurable ? unmeasurable : "");
	put_governor(page, json_object_get(cost, "governor"));
	put_name(page, "memory");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s: daemon %s, tables and programs %s",
		       field_units_bytes(cost, "memory_bytes").s,
		       field_units_bytes(cost, "anonymous_bytes").s,
		       field_units_bytes(cost, "tables_bytes").s);
}

static void put_clients(struct page *page, const json_t *status)
{
	const json_t *clients = json_object_get(status, "clients");

	put_title(page, "clients");
	put_name(page, "now");
	page_paragraph(
		page, PAGE_PLAIN, NAME_COLUMN, "%s, with %s streams and %s of unread replies",
		field_units_count(clients, "connected").s, field_units_count(clients, "streams").s,
		field_units_bytes(clients, "unsent_bytes").s);
	put_name(page, "lost");
	page_paragraph(
		page, PAGE_PLAIN, NAME_COLUMN,
		"%s refused, %s displaced, %s timed out, %s over the budget, %s gaps in streams",
		field_units_count(clients, "refused").s, field_units_count(clients, "displaced").s,
		field_units_count(clients, "timed_out").s,
		field_units_count(clients, "over_budget").s, field_units_count(clients, "gaps").s);
}

static void put_history(struct page *page, const json_t *status)
{
	const json_t *history = json_object_get(status, "history");
	const char *state = field_text(history, "state");
	uint64_t lost = field_count_or(history, "lost_intervals", 0);
	bool good = !strcmp(state, "writing") || !strcmp(state, "starting");

	if (!history)
		return;
	put_title(page, "history");
	put_name(page, "state");
	page_put(page, good ? PAGE_GOOD : PAGE_WARN, "%s", state);
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s%s",
		       json_object_get(history, "reason") ? ": " : "",
		       json_object_get(history, "reason") ? field_text(history, "reason") : "");
	if (!json_object_get(history, "intervals"))
		return;
	put_name(page, "file");
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN, "%s, from %s on",
		       field_units_bytes(history, "file_bytes").s, field_date(history, "oldest").s);
	put_name(page, "intervals");
	page_paragraph(page, lost ? PAGE_WARN : PAGE_PLAIN, NAME_COLUMN,
		       "%s written, %s lost with %s records; %s records left out",
		       field_units_count(history, "intervals").s, units_count(lost).s,
		       field_units_count(history, "lost_records").s,
		       field_units_count(history, "left_out").s);
	if (json_object_get(history, "set_aside")) {
		put_name(page, "set aside");
		page_paragraph(page, PAGE_WARN, NAME_COLUMN, "an earlier file is now %s",
			       field_text(history, "set_aside"));
	}
}

static int put_status(struct page *page, const json_t *status)
{
	int r;

	pause_put(page, json_object_get(status, "paused"));
	put_daemon(page, status);
	put_host(page, status);
	put_recording(page, status);
	put_packets(page, status);
	put_title(page, "coverage");
	coverage_put_all(page, json_object_get(status, "coverage"));
	put_title(page, "ledger");
	if (no_backend(status))
		page_line(page, PAGE_BAD, "  empty: no backend runs");
	else
		ledger_put(page, status);
	if (json_object_get(status, "elsewhere")) {
		put_title(page, "elsewhere");
		elsewhere_put_scan(page, status, NAME_COLUMN);
	}
	r = put_tables(page, status);
	put_cost(page, status);
	put_clients(page, status);
	put_history(page, status);
	return r;
}

static enum report_status print(struct session *session, struct page *page, const json_t *status,
				void *data)
{
	(void)session;
	(void)data;
	return session_print(page, put_status(page, status));
}

static enum report_status run(struct session *session)
{
	return session_show(session, METHOD,
			    session_parameters("measure_ms", session_number(MEASURE_MS), NULL),
			    MEASURE_MS, print, NULL);
}

const struct command command_status = {
	.name = "status",
	.summary = "show the daemon's health: coverage, ledger, tables, cost, clients",
	.notes =
		"The ledger accounts for every event that netflowd saw; an equation that does not hold is a fault in netflowd: please report it.\n",
	.run = run,
};
