/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/exports.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/alert/alertmanager.h"
#include "daemon/alert/alerts.h"
#include "daemon/alert/engine.h"
#include "daemon/control/control.h"
#include "daemon/cost/cost.h"
#include "daemon/cost/governor.h"
#include "daemon/cost/pause.h"
#include "daemon/elsewhere/elsewhere.h"
#include "daemon/history/history.h"
#include "daemon/kernel/attribution.h"
#include "daemon/metrics/snapshot.h"
#include "daemon/probe/backend.h"
#include "daemon/probe/probes.h"
#include "daemon/process/loop.h"
#include "daemon/store/readings.h"
#include "daemon/store/records.h"
#include "daemon/store/rockets.h"
#include "daemon/varlink/server.h"

struct exports {
	struct exports_parts parts;
	struct exporter *exporter;
	struct lines *lines;
};

static void fill_host(struct metrics_snapshot *snapshot)
{
	struct utsname name;
	struct stat netns;

	if (uname(&name) == 0) {
		snprintf(snapshot->kernel, sizeof(snapshot->kernel), "%s", name.release);
		snprintf(snapshot->machine, sizeof(snapshot->machine), "%s", name.machine);
	}
	if (stat("/proc/self/ns/net", &netns) == 0)
		snapshot->host_netns = (uint32_t)netns.st_ino;
}

static void fill_probes(const struct exports_parts *parts, struct metrics_snapshot *snapshot)
{
	static const char *const states[] = {
		[PROBE_ATTACHED] = "attached",	     [PROBE_UNNEEDED] = "unneeded",
		[PROBE_DEGRADED] = "degraded",	     [PROBE_DETACHED] = "detached",
		[PROBE_UNAVAILABLE] = "unavailable",
	};
	const struct reading *counters = snapshot->reading[READING_COUNTERS];

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		struct metrics_probe *probe = &snapshot->probe[i];
		struct probe_status status;

		parts->backend->ops->probe(parts->backend, (enum nf_probe)i, &status);
		*probe = (struct metrics_probe){
			.name = probe_specs[i].name,
			.group = probe_specs[i].group,
			.state = states[status.state],
			.how = status.how,
			.up = status.state == PROBE_ATTACHED || status.state == PROBE_DEGRADED,
			.unneeded =
				status.state == PROBE_UNNEEDED || status.state == PROBE_DETACHED,
			.missed_known = status.missed_known,
			.missed = status.missed,
		};
		if (counters)
			probe->hits = reading_counters(counters)->events[i][NF_EVENT_HIT];
	}
}

static int fill_alerts(const struct alerts *alerts, struct metrics_snapshot *snapshot)
{
	const struct alert_engine *engine = alerts_engine(alerts);

	for (size_t i = 0; i < alert_engine_count(engine); i++) {
		const struct alert *alert = alert_engine_get(engine, i);
		struct metrics_alert *row;

		if (!alert->rule->enabled)
			continue;
		if (ARRAY_GROW(snapshot->alert, snapshot->alerts, snapshot->alerts_room) < 0)
			return -ENOMEM;
		row = &snapshot->alert[snapshot->alerts++];
		*row = (struct metrics_alert){
			.severity = alert_severity_name(alert->rule->severity),
			.firing = alert->state.phase == ALERT_FIRING,
			.evaluated = alert->reading.known,
			.fired = alert->state.fired,
		};
		_Static_assert(sizeof(row->name) >= ALERT_NAME_MAX + 1, "a name fits");
		strcpy(row->name, alert->rule->name);
	}
	return 0;
}

static void fill_governor(const struct governor *governor, struct metrics_governor *to)
{
	struct governor_state now;

	governor_state(governor, &now);
	*to = (struct metrics_governor){.host_budget = now.host_budget,
					.cpu_budget = now.cpu_budget,
					.hooks = now.hooks,
					.programs = now.programs,
					.daemon = now.daemon,
					.cpu = now.cpu,
					.seen = now.seen.share,
					.wake_shed = now.wake_shed,
					.windows_one_in = UINT64_C(1) << now.window_shift,
					.packets_one_in = UINT64_C(1) << now.one_in_shift};
}

static void fill_cost(const struct exports *exports, struct metrics_snapshot *snapshot)
{
	const struct exports_parts *parts = &exports->parts;
	struct alertmanager_stats posts = alerts_alertmanager_stats(parts->alerts);
	struct server_stats clients;

	snapshot->exports.posts = posts.posts;
	snapshot->exports.post_failures = posts.failures;
	snapshot->exports.posts_pending = posts.pending;
	fill_governor(parts->governor, &snapshot->governor);
	snapshot->cpu_ns = cost_cpu_ns();
	snapshot->resident_bytes = cost_resident_bytes();
	snapshot->anonymous_bytes = cost_anonymous_bytes();
	snapshot->longest_turn_ns = loop_turns(parts->loop).cpu_minute_ns;
	if (exports->lines) {
		snapshot->exports.files_json = lines_stats(exports->lines).written;
		snapshot->exports.errors_json = lines_stats(exports->lines).errors;
	}
	control_clients(parts->control, &clients);
	snapshot->clients = (struct metrics_clients){
		.connected = clients.clients,
		.streams = clients.streams,
		.refused = clients.rejected,
		.displaced = clients.displaced,
		.timed_out = clients.timed_out,
		.over_budget = clients.over_budget,
		.gaps = clients.gaps,
	};
}

static void fill_history(const struct history *history, struct metrics_snapshot *snapshot)
{
	struct history_status status;

	snapshot->history.wanted = history_wanted(history);
	if (history_off(history))
		return;
	history_get_status(history, &status);
	snapshot->history = (struct metrics_history){
		.wanted = true,
		.known = true,
		.writing = status.writer.phase == WRITER_WRITING ||
			   status.writer.phase == WRITER_STARTING,
		.written = status.writer.written,
		.begin_ns = (uint64_t)status.writer.archive.oldest_us * 1000,
		.written_ns = (uint64_t)status.writer.written_us * 1000,
		.lost = status.writer.lost,
		.lost_records = status.writer.lost_records,
		.file_bytes = status.writer.archive.file_bytes,
	};
}

/* The sums of all places, so that their number has a limit and they never go back. */
static int fill_elsewhere(const struct elsewhere *elsewhere, struct metrics_snapshot *snapshot)
{
	const struct elsewhere_state state = elsewhere_state(elsewhere);
	const struct elsewhere_findings *findings = state.findings;

	_Static_assert(METRICS_BYPASSES_MAX >= ELSEWHERE_BYPASSES, "each kind has room");
	if (!findings)
		return 0;
	snapshot->elsewhere = calloc(findings->totals + 1, sizeof(snapshot->elsewhere[0]));
	if (!snapshot->elsewhere)
		return -ENOMEM;
	for (size_t i = 0; i < findings->totals; i++) {
		const struct elsewhere_row *total = &findings->total[i];
		struct metrics_elsewhere *row = &snapshot->elsewhere[i];

		*row = (struct metrics_elsewhere){
			.source = elsewhere_source_names[total->source],
			.class = knowledge_class_name(total->judgement->class),
			.overlaps = total->judgement->seen,
			.packets = total->packets,
		};
		snprintf(row->counter, sizeof(row->counter), "%s", total->counter);
	}
	snapshot->elsewhere_rows = findings->totals;
	for (int i = 0; i < ELSEWHERE_BYPASSES; i++) {
		snapshot->bypass[i].kind = elsewhere_bypass_names[i];
		snapshot->bypass[i].count = findings->bypass_count[i];
	}
	snapshot->bypasses = ELSEWHERE_BYPASSES;
	snapshot->elsewhere_scans = state.scans;
	snapshot->elsewhere_cpu_ns = findings->cpu_ns;
	return 0;
}

static void resolve(const struct nf_drop_key *key, struct cause *cause, void *userdata)
{
	const struct exports_parts *parts = userdata;
	bool reasons = backend_has_reasons(parts->backend);

	records_cause(parts->records, reasons, key, cause);
}

static const char *name_netns(uint32_t inode, char buffer[static NAME_MAX + 1], void *userdata)
{
	const struct exports_parts *parts = userdata;

	return attribution_netns(parts->attribution, inode, buffer);
}

static int fill(struct metrics_snapshot *snapshot, void *userdata)
{
	struct exports *exports = userdata;
	const struct exports_parts *parts = &exports->parts;
	int r;

	snapshot->backend = parts->backend->ops->name;
	snapshot->traced = !backend_is_none(parts->backend);
	snapshot->paused[0] = pause_state(parts->pause)->level == PAUSE_STAGES;
	snapshot->paused[1] = pause_state(parts->pause)->level == PAUSE_ALL;
	snapshot->reload_refused = *parts->reload_refused;
	fill_host(snapshot);
	fill_probes(parts, snapshot);
	fill_cost(exports, snapshot);
	fill_history(parts->history, snapshot);
	snapshot->log_read = parts->rockets;
	if (parts->rockets) {
		snapshot->rockets = rockets_total(parts->rockets);
		snapshot->rockets_unseen = rockets_unseen(parts->rockets);
	}
	r = fill_elsewhere(parts->elsewhere, snapshot);
	if (r == 0)
		r = fill_alerts(parts->alerts, snapshot);
	if (r == 0)
		r = control_coverage(parts->control, NULL, &snapshot->coverage);
	if (r == 0)
		r = metrics_snapshot_causes(snapshot, resolve, (void *)parts);
	if (r == 0)
		r = metrics_snapshot_netns(snapshot, name_netns, (void *)parts);
	return r;
}

int exports_new(struct exports **exports, const struct exports_parts *parts,
		const struct exporter_settings *settings, const struct lines_settings *lines)
{
	struct exports *fresh = calloc(1, sizeof(*fresh));
	struct exporter_parts exporter = {
		.loop = parts->loop,
		.readings = parts->readings,
		.runtime_dir = parts->runtime_dir,
		.started_ns = parts->started_ns,
		.fill = fill,
		.userdata = fresh,
	};
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->parts = *parts;
	r = exporter_new(&fresh->exporter, &exporter, settings);
	if (r == 0)
		r = lines_new(&fresh->lines, parts->loop, parts->socket_path);
	if (r == 0)
		r = lines_set(fresh->lines, lines);
	if (r < 0)
		exports_free(&fresh);
	else
		*exports = fresh;
	return r;
}

void exports_free(struct exports **exports)
{
	if (!*exports)
		return;
	lines_free(&(*exports)->lines);
	exporter_free(&(*exports)->exporter);
	free(*exports);
	*exports = NULL;
}

void exports_set(struct exports *exports, const struct exporter_settings *settings,
		 const struct lines_settings *lines)
{
	int r = exporter_set(exports->exporter, settings);

	if (r == 0)
		r = lines_set(exports->lines, lines);
	if (r < 0)
		log_warning("cannot use the new settings of metrics and export: %s", strerror(-r));
}
