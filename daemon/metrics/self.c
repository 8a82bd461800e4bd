/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowd about itself: coverage, probes, alerts, cost, clients, exports. */
#include <inttypes.h>
#include <stdio.h>

#include "common/array.h"
#include "common/version.h"
#include "daemon/metrics/internal.h"

static void write_build(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	char netns[16] = "";

	if (snapshot->host_netns)
		snprintf(netns, sizeof(netns), "%" PRIu32, snapshot->host_netns);
	metrics_family(text, METRICS_BUILD);
	metrics_labels(text, NETFLOWD_VERSION, snapshot->backend);
	metrics_count(text, 1);
	metrics_family(text, METRICS_HOST);
	metrics_labels(text, snapshot->kernel, snapshot->machine, netns);
	metrics_count(text, 1);
	metrics_family(text, METRICS_START_TIME);
	metrics_real(text, snapshot->started_unix);
}

static void write_netns(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	char number[16];

	metrics_family(text, METRICS_NETNS);
	for (size_t i = 0; i < snapshot->netns_count; i++) {
		snprintf(number, sizeof(number), "%" PRIu32, snapshot->netns[i].inode);
		metrics_labels(text, number, snapshot->netns[i].name);
		metrics_count(text, 1);
	}
}

static void write_coverage(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	static const double share[] = {
		[COVERAGE_FULL] = 1, [COVERAGE_DEGRADED] = 0.5, [COVERAGE_UNAVAILABLE] = 0};

	metrics_family(text, METRICS_COVERAGE);
	for (size_t i = 0; i < snapshot->coverage.count; i++) {
		const struct coverage_entry *entry = &snapshot->coverage.entry[i];

		metrics_labels(text, coverage_question_name(entry->question));
		metrics_real(text, share[entry->state]);
	}
}

static void write_paused(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	static const char *const levels[] = {"stages", "all"};

	metrics_family(text, METRICS_PAUSED);
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		metrics_labels(text, levels[i]);
		metrics_count(text, snapshot->paused[i]);
	}
}

static void write_probes(struct metrics_text *text,
			 const struct metrics_probe probe[NF_PROBE_COUNT])
{
	metrics_family(text, METRICS_PROBE_UP);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		if (probe[i].unneeded)
			continue;
		metrics_labels(text, probe[i].name, probe[i].group);
		metrics_count(text, probe[i].up);
	}
	metrics_family(text, METRICS_PROBE_STATE);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		metrics_labels(text, probe[i].name, probe[i].group, probe[i].state, probe[i].how);
		metrics_count(text, 1);
	}
	metrics_family(text, METRICS_PROBE_HITS);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		if (!probe[i].up)
			continue;
		metrics_labels(text, probe[i].name);
		metrics_count(text, probe[i].hits);
	}
	metrics_family(text, METRICS_PROBE_MISSED);
	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		if (!probe[i].missed_known)
			continue;
		metrics_labels(text, probe[i].name);
		metrics_count(text, probe[i].missed);
	}
}

static void write_alerts(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	metrics_family(text, METRICS_ALERT_FIRING);
	for (size_t i = 0; i < snapshot->alerts; i++) {
		metrics_labels(text, snapshot->alert[i].name, snapshot->alert[i].severity);
		metrics_count(text, snapshot->alert[i].firing);
	}
	metrics_family(text, METRICS_ALERT_FIRED);
	for (size_t i = 0; i < snapshot->alerts; i++) {
		metrics_labels(text, snapshot->alert[i].name, snapshot->alert[i].severity);
		metrics_count(text, snapshot->alert[i].fired);
	}
	metrics_family(text, METRICS_ALERT_EVALUATED);
	for (size_t i = 0; i < snapshot->alerts; i++) {
		metrics_labels(text, snapshot->alert[i].name, snapshot->alert[i].severity);
		metrics_count(text, snapshot->alert[i].evaluated);
	}
	metrics_one(text, METRICS_RELOAD_REFUSED, snapshot->reload_refused);
}

/* Returns the memory of all tables. */
static uint64_t write_tables(struct metrics_text *text, const struct reading *reading)
{
	uint64_t bytes = 0;

	metrics_family(text, METRICS_TABLES_USED);
	for (size_t i = 0; i < reading_count(reading); i++) {
		const struct backend_table *table = reading_table(reading, i);

		if (!table->used_known)
			continue;
		metrics_labels(text, table->name);
		metrics_count(text, table->used);
	}
	metrics_family(text, METRICS_TABLES_ENTRIES);
	for (size_t i = 0; i < reading_count(reading); i++) {
		metrics_labels(text, reading_table(reading, i)->name);
		metrics_count(text, reading_table(reading, i)->entries);
	}
	metrics_family(text, METRICS_TABLES_MEMORY);
	for (size_t i = 0; i < reading_count(reading); i++) {
		metrics_labels(text, reading_table(reading, i)->name);
		metrics_count(text, reading_table(reading, i)->bytes);
		bytes += reading_table(reading, i)->bytes;
	}
	return bytes;
}

static void write_cost(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	const struct reading *tables = snapshot->reading[READING_TABLES];
	uint64_t bytes = tables ? write_tables(text, tables) : 0;

	metrics_family(text, METRICS_COST_CPU);
	metrics_seconds(text, snapshot->cpu_ns);
	metrics_one(text, METRICS_COST_RESIDENT, snapshot->resident_bytes);
	metrics_one(text, METRICS_COST_ANONYMOUS, snapshot->anonymous_bytes);
	metrics_one(text, METRICS_COST_TABLES, bytes);
	metrics_one(text, METRICS_COST_MEMORY, snapshot->anonymous_bytes + bytes);
	metrics_family(text, METRICS_LOOP_LONGEST_TURN);
	metrics_seconds(text, snapshot->longest_turn_ns);
}

static void write_governor(struct metrics_text *text, const struct metrics_governor *governor)
{
	const struct {
		enum metrics_family_id family;
		const char *label;
		double value;
	} rows[] = {
		{METRICS_COST_BUDGET, "host", governor->host_budget},
		{METRICS_COST_BUDGET, "cpu", governor->cpu_budget},
		{METRICS_COST_SHARE, "hooks", governor->hooks},
		{METRICS_COST_SHARE, "programs", governor->programs},
		{METRICS_COST_SHARE, "daemon", governor->daemon},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i == 0 || rows[i].family != rows[i - 1].family)
			metrics_family(text, rows[i].family);
		metrics_labels(text, rows[i].label);
		metrics_real(text, rows[i].value);
	}
	metrics_family(text, METRICS_COST_WORST_CPU);
	metrics_real(text, governor->cpu);
	metrics_one(text, METRICS_SHED_WAKE, governor->wake_shed);
	metrics_one(text, METRICS_SHED_WINDOWS, governor->windows_one_in);
	metrics_one(text, METRICS_SHED_ONE_IN, governor->packets_one_in);
	metrics_family(text, METRICS_SEEN);
	metrics_real(text, governor->seen);
}

static void write_readings(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	metrics_family(text, METRICS_READINGS);
	for (int i = 0; i < READING_PARTS; i++) {
		metrics_labels(text, snapshot->part[i].name);
		metrics_count(text, snapshot->part[i].readings);
	}
	metrics_family(text, METRICS_READINGS_CPU);
	for (int i = 0; i < READING_PARTS; i++) {
		metrics_labels(text, snapshot->part[i].name);
		metrics_seconds(text, snapshot->part[i].cpu_ns);
	}
	metrics_family(text, METRICS_READING_AGE);
	for (int i = 0; i < READING_PARTS; i++) {
		if (!snapshot->reading[i])
			continue;
		metrics_labels(text, snapshot->part[i].name);
		metrics_seconds(text, snapshot->now_ns - reading_time(snapshot->reading[i]));
	}
}

struct labelled {
	const char *label;
	uint64_t value;
};

static void write_labelled(struct metrics_text *text, enum metrics_family_id family,
			   const struct labelled *row, size_t rows)
{
	metrics_family(text, family);
	for (size_t i = 0; i < rows; i++) {
		metrics_labels(text, row[i].label);
		metrics_count(text, row[i].value);
	}
}

static void write_clients(struct metrics_text *text, const struct metrics_clients *clients)
{
	const struct labelled refused[] = {{"refused", clients->refused},
					   {"displaced", clients->displaced},
					   {"timed_out", clients->timed_out},
					   {"over_budget", clients->over_budget}};

	metrics_one(text, METRICS_CLIENTS_CONNECTED, clients->connected);
	metrics_one(text, METRICS_CLIENTS_STREAMS, clients->streams);
	write_labelled(text, METRICS_CLIENTS_REFUSED, refused, ARRAY_SIZE(refused));
	metrics_one(text, METRICS_CLIENTS_GAPS, clients->gaps);
}

static void write_exports(struct metrics_text *text, const struct metrics_exports *exports)
{
	const struct labelled requests[] = {{"200", exports->http_ok},
					    {"404", exports->http_missing},
					    {"405", exports->http_refused},
					    {"503", exports->http_failed}};
	const struct labelled files[] = {{"textfile", exports->files_textfile},
					 {"json", exports->files_json}};
	const struct labelled errors[] = {{"textfile", exports->errors_textfile},
					  {"json", exports->errors_json}};

	write_labelled(text, METRICS_HTTP_REQUESTS, requests, ARRAY_SIZE(requests));
	metrics_one(text, METRICS_HTTP_TIMED_OUT, exports->http_timed_out);
	write_labelled(text, METRICS_EXPORT_FILES, files, ARRAY_SIZE(files));
	write_labelled(text, METRICS_EXPORT_FILE_ERRORS, errors, ARRAY_SIZE(errors));
	metrics_family(text, METRICS_EXPORT_CPU);
	metrics_seconds(text, exports->cpu_ns);
	metrics_one(text, METRICS_ALERTMANAGER_POSTS, exports->posts);
	metrics_one(text, METRICS_ALERTMANAGER_FAILURES, exports->post_failures);
	metrics_one(text, METRICS_ALERTMANAGER_PENDING, exports->posts_pending);
}

/* A moment since 1970; 0: nothing. */
static void write_moment(struct metrics_text *text, enum metrics_family_id id, uint64_t ns)
{
	if (!ns)
		return;
	metrics_family(text, id);
	metrics_seconds(text, ns);
}

static void write_history(struct metrics_text *text, const struct metrics_history *history)
{
	if (!history->wanted)
		return;
	metrics_one(text, METRICS_HISTORY_WRITING, history->writing);
	if (!history->known)
		return;
	write_moment(text, METRICS_HISTORY_BEGIN, history->begin_ns);
	write_moment(text, METRICS_HISTORY_WRITTEN, history->written_ns);
	metrics_one(text, METRICS_HISTORY_INTERVALS, history->written);
	metrics_one(text, METRICS_HISTORY_LOST_INTERVALS, history->lost);
	metrics_one(text, METRICS_HISTORY_LOST_RECORDS, history->lost_records);
	metrics_one(text, METRICS_HISTORY_FILE, history->file_bytes);
}

static void write_elsewhere(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	if (!snapshot->elsewhere)
		return;
	metrics_family(text, METRICS_ELSEWHERE);
	for (size_t i = 0; i < snapshot->elsewhere_rows; i++) {
		const struct metrics_elsewhere *row = &snapshot->elsewhere[i];

		metrics_labels(text, row->source, row->counter, row->class,
			       row->overlaps ? "yes" : "no");
		metrics_count(text, row->packets);
	}
	metrics_family(text, METRICS_ELSEWHERE_BYPASSES);
	for (size_t i = 0; i < snapshot->bypasses; i++) {
		metrics_labels(text, snapshot->bypass[i].kind);
		metrics_count(text, snapshot->bypass[i].count);
	}
	metrics_one(text, METRICS_ELSEWHERE_SCANS, snapshot->elsewhere_scans);
	metrics_family(text, METRICS_ELSEWHERE_SCAN_CPU);
	metrics_seconds(text, snapshot->elsewhere_cpu_ns);
}

void metrics_write_self(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	write_build(text, snapshot);
	write_netns(text, snapshot);
	write_elsewhere(text, snapshot);
	write_coverage(text, snapshot);
	write_paused(text, snapshot);
	write_probes(text, snapshot->probe);
	write_alerts(text, snapshot);
	write_cost(text, snapshot);
	write_governor(text, &snapshot->governor);
	write_readings(text, snapshot);
	write_clients(text, &snapshot->clients);
	write_exports(text, &snapshot->exports);
	write_history(text, &snapshot->history);
	if (!snapshot->log_read)
		return;
	metrics_one(text, METRICS_SLOTS_LOG_ROCKETS, snapshot->rockets);
	metrics_one(text, METRICS_SLOTS_LOG_UNSEEN, snapshot->rockets_unseen);
}
