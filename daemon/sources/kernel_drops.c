/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/kernel_drops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/value.h"
#include "daemon/core/verdict.h"
#include "daemon/json/json.h"
#include "daemon/sources/filter.h"
#include "daemon/sources/sources.h"

/* A scan that is later than this many intervals is worth a note. */
#define LATE_INTERVALS 2

/* ---- drops of the same device that netflowd recorded --------------------------------- */

struct recorded {
	uint32_t netns, ifindex;
	uint64_t packets;
};

struct recordeds {
	struct recorded *at; /* sorted; several of one device: the first one counts */
	size_t count;
};

static int compare_recorded(const void *x, const void *y)
{
	const struct recorded *a = x, *b = y;

	return a->netns != b->netns ? ORDER(a->netns, b->netns) : ORDER(a->ifindex, b->ifindex);
}

static struct recorded *find_recorded(const struct recordeds *all, uint32_t netns, uint32_t ifindex)
{
	const struct recorded like = {.netns = netns, .ifindex = ifindex};
	size_t i = LOWER_BOUND(one, all->at, all->count, compare_recorded(one, &like) < 0);

	return i < all->count && compare_recorded(&all->at[i], &like) == 0 ? &all->at[i] : NULL;
}

/* One pass over the counters of drops, for all rows. */
static int count_recorded(const struct sources *sources, const struct elsewhere_findings *findings,
			  struct recordeds *all)
{
	const struct reading *reading = sources_reading(sources, DROPS);

	all->at = calloc(findings->rows + 1, sizeof(all->at[0]));
	if (!all->at)
		return -ENOMEM;
	for (size_t i = 0; i < findings->rows; i++)
		if (findings->row[i].ifindex)
			all->at[all->count++] =
				(struct recorded){.netns = findings->row[i].netns,
						  .ifindex = findings->row[i].ifindex};
	qsort(all->at, all->count, sizeof(all->at[0]), compare_recorded);
	for (size_t i = 0; reading && i < reading_count(reading); i++) {
		const struct backend_drops *drops = reading_drops(reading, i);
		struct recorded *one = find_recorded(all, drops->netns, drops->ifindex);

		if (one)
			one->packets += drops->packets;
	}
	return 0;
}

/* ---- GetDrops -------------------------------------------------------------------------- */

static bool takes(const struct filter *filter, const struct elsewhere_row *row)
{
	if (filter->by_device && strcmp(filter->device, row->device) != 0)
		return false;
	if (filter->by_netns && filter->netns != row->netns)
		return false;
	return !filter->by_class || filter->classes & VERDICT_CLASS_BIT(row->judgement->class);
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_text(text, strlen(text)) : NULL;
}

static json_t *row_to_json(const struct elsewhere_row *row, const struct recordeds *all)
{
	const struct recorded *recorded = row->judgement->seen && row->ifindex
						  ? find_recorded(all, row->netns, row->ifindex)
						  : NULL;

	return json_pack("{s:s, s:o*, s:o*, s:o*, s:o*, s:b, s:I, s:s, s:b, s:o*, s:s, s:o}",
			 "source", elsewhere_source_names[row->source], "counter",
			 text_or_null(row->counter), "device", text_or_null(row->device), "ifindex",
			 json_known(row->ifindex), "netns", json_known(row->netns), "gone",
			 row->gone, "packets", json_count(row->packets), "class",
			 knowledge_class_name(row->judgement->class), "overlaps",
			 row->judgement->seen, "recorded",
			 recorded ? json_integer(json_count(recorded->packets)) : NULL, "why",
			 row->judgement->why, "last", json_time(row->moved_ns));
}

json_t *kernel_drops_json(const struct sources *sources, const struct filter *filter)
{
	const struct elsewhere_state state = elsewhere_state(sources->elsewhere);
	const struct elsewhere_findings *findings = state.findings;
	struct recordeds all = {0};
	uint64_t hidden = 0;
	json_t *rows;

	/* These counters have no reason of a drop. */
	if (!findings || filter->by_reason || count_recorded(sources, findings, &all) < 0) {
		free(all.at);
		return NULL;
	}
	rows = json_array();
	for (size_t i = 0; i < findings->rows; i++) {
		if (takes(filter, &findings->row[i]))
			json_array_append_new(rows, row_to_json(&findings->row[i], &all));
		else
			hidden++;
	}
	free(all.at);
	return json_pack("{s:o, s:I, s:I, s:o}", "time", json_time(findings->begun_ns), "hidden",
			 json_count(hidden), "left_out", json_count(findings->rows_left_out),
			 "rows", rows);
}

/* ---- GetStatus ------------------------------------------------------------------------- */

static json_t *bypasses(const struct elsewhere_findings *findings)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < findings->bypasses; i++) {
		const struct elsewhere_bypass *one = &findings->bypass[i];
		bool sockets = one->kind >= ELSEWHERE_XDP_SOCKETS;

		json_array_append_new(
			rows, json_pack("{s:s, s:o*, s:o*, s:o*, s:I}", "kind",
					elsewhere_bypass_names[one->kind], "device",
					text_or_null(one->device), "ifindex",
					json_known(one->ifindex), "netns", json_known(one->netns),
					sockets ? "sockets" : "program", (json_int_t)one->number));
	}
	return rows;
}

json_t *kernel_drops_scan_json(const struct sources *sources)
{
	const struct elsewhere_state state = elsewhere_state(sources->elsewhere);
	const struct elsewhere_findings *findings = state.findings;
	json_t *scan =
		json_pack("{s:I, s:I, s:I, s:s*}", "interval_ns", json_count(state.interval_ns),
			  "scans", json_count(state.scans), "late_ns", json_count(state.late_ns),
			  "error", state.error < 0 ? strerror(-state.error) : NULL);
	OWN_JSON json_t *last = NULL;

	if (!findings)
		return scan;
	last = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I}", "time",
			 json_time(findings->begun_ns), "cpu_ns", json_count(findings->cpu_ns),
			 "took_ns", json_count(findings->wall_ns), "devices",
			 json_count(findings->devices), "namespaces",
			 json_count(findings->namespaces), "closed", json_count(findings->closed),
			 "unread", json_count(findings->unread), "repeated",
			 json_count(findings->repeated), "left_out", json_count(findings->left_out),
			 "bypasses", bypasses(findings), "bypasses_left_out",
			 json_count(findings->bypasses_left_out));
	if (json_object_update(scan, last) < 0) {
		json_decref(scan);
		return NULL;
	}
	return scan;
}

/* ---- coverage --------------------------------------------------------------------------- */

/* "eth0 and 2 other devices" */
static void name_devices(const struct elsewhere_findings *findings, enum elsewhere_bypass_kind kind,
			 char *text, size_t size)
{
	uint64_t others = findings->bypass_count[kind] - 1;
	const char *first = "a device";

	for (size_t i = 0; i < findings->bypasses; i++)
		if (findings->bypass[i].kind == kind) {
			first = findings->bypass[i].device;
			break;
		}
	if (others)
		snprintf(text, size, "%s and %" PRIu64 " other device%s", first, others,
			 others == 1 ? "" : "s");
	else
		snprintf(text, size, "%s", first);
}

static uint64_t whole_ms(uint64_t ns)
{
	return ns - ns % 1000000;
}

bool kernel_drops_bypassed(const struct sources *sources, const char *question,
			   char reason[static ELSEWHERE_REASON_MAX])
{
	const struct elsewhere_findings *findings = elsewhere_state(sources->elsewhere).findings;
	bool receives = !strcmp(question, "drops") || !strcmp(question, "rx_latency");
	char devices[64];

	if (!findings)
		return false;
	for (int kind = ELSEWHERE_XDP_NATIVE; receives && kind <= ELSEWHERE_XDP_OFFLOADED; kind++) {
		if (!findings->bypass_count[kind])
			continue;
		name_devices(findings, (enum elsewhere_bypass_kind)kind, devices, sizeof(devices));
		snprintf(
			reason, ELSEWHERE_REASON_MAX,
			"an XDP program runs in the %s of %s: the probes do not see the packets that it drops or redirects before an skb exists",
			kind == ELSEWHERE_XDP_NATIVE ? "driver" : "hardware", devices);
		return true;
	}
	if (strcmp(question, "tx_latency") != 0 || !findings->bypass_count[ELSEWHERE_XDP_SOCKETS])
		return false;
	snprintf(
		reason, ELSEWHERE_REASON_MAX,
		"%" PRIu64
		" AF_XDP sockets: packets that they send pass neither the queue nor the transmit probes",
		findings->bypass_count[ELSEWHERE_XDP_SOCKETS]);
	return true;
}

bool kernel_drops_reason(const struct sources *sources, char reason[static ELSEWHERE_REASON_MAX])
{
	const struct elsewhere_state state = elsewhere_state(sources->elsewhere);
	const struct elsewhere_findings *findings = state.findings;

	reason[0] = '\0';
	if (sources_recorded(sources))
		snprintf(reason, ELSEWHERE_REASON_MAX, "%s", sources_recorded(sources));
	else if (!state.interval_ns)
		snprintf(reason, ELSEWHERE_REASON_MAX, "elsewhere.interval is 0");
	else if (!findings)
		snprintf(reason, ELSEWHERE_REASON_MAX, "no scan has succeeded: %s",
			 state.error < 0 ? strerror(-state.error) : "the first one still runs");
	else if (findings->closed_why[0])
		snprintf(reason, ELSEWHERE_REASON_MAX, "%s", findings->closed_why);
	else if (findings->left_out)
		snprintf(reason, ELSEWHERE_REASON_MAX,
			 "%" PRIu64 " devices and counters are more than netflowd can follow",
			 findings->left_out);
	else if (state.error < 0)
		snprintf(reason, ELSEWHERE_REASON_MAX, "the last scan failed: %s",
			 strerror(-state.error));
	else if (state.late_ns > LATE_INTERVALS * state.interval_ns)
		snprintf(reason, ELSEWHERE_REASON_MAX,
			 "a scan takes %s of CPU time, so the next one comes only every %s",
			 value_duration_text(whole_ms(findings->cpu_ns)).s,
			 value_duration_text(whole_ms(state.interval_ns + state.late_ns)).s);
	return !reason[0] || findings;
}
