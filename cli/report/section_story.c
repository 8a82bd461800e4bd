/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cli/ask/covered.h"
#include "cli/ask/field.h"
#include "cli/report/drawing.h"
#include "cli/report/sections.h"
#include "cli/show/drop_lines.h"
#include "cli/show/estimate.h"
#include "cli/show/ledger.h"
#include "cli/show/period.h"
#include "common/segment_name.h"

/* A quantile of fewer packets says little. */
#define PACKETS_MIN 100
#define RULES_NAMED 3

#define GAP_WAIT "gap_wait"
#define RECEIVE_TO_COPY "receive_to_copy" /* contains the other */

/* ---- drops --------------------------------------------------------------------------------- */

static const struct model_cell *peak(const struct model *model)
{
	const struct model_cell *most = &model->cells[0];

	for (size_t i = 1; i < model->cell_count; i++)
		if (model->cells[i].packets > most->packets)
			most = &model->cells[i];
	return most;
}

static void tell_drops(struct html *html, const struct model *model)
{
	uint64_t packets = field_count_or(model->drops, "packets", 0);
	const struct model_reason *first = model->reasons;
	OWN_FREE char *name = NULL;

	html_markup(html, "<p>");
	if (!packets || !model->reason_count) {
		html_text(
			html, "%s",
			period_is_whole(model->drops, "drops")
				? "No packet was dropped."
				: "netflowd counted no dropped packet, but it did not see all of this time.");
		html_markup(html, "</p>\n");
		return;
	}
	name = drop_lines_reason(first->row);
	html_text(html, "%s %s dropped (%s), ", units_count(packets).s,
		  packets == 1 ? "packet was" : "packets were",
		  field_units_bytes(model->drops, "bytes").s);
	html_text(html, "%s with the reason ", units_share(first->packets, packets).s);
	html_markup(html, "<b>");
	html_text(html, "%s", name ? name : "?");
	html_markup(html, "</b>");
	if (json_object_get(first->row, "class"))
		html_text(html, " (%s)", field_text(first->row, "class"));
	if (model->cell_count > 1) {
		const struct model_cell *most = peak(model);

		html_text(html, "; %s of them in the %s from %s", units_count(most->packets).s,
			  units_duration(most->to_ns - most->from_ns).s,
			  drawing_time(most->from_ns).s);
	}
	html_markup(html, ".</p>\n");
}

/* ---- latency ------------------------------------------------------------------------------- */

static const json_t *find_segment(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->segment_count; i++)
		if (!strcmp(field_text(model->segments[i].total, "segment"), name))
			return model->segments[i].total;
	return NULL;
}

/* The p99 without the waits behind gaps in TCP's sequence, which receive→copy contains. */
static uint64_t p99_without_gaps(const struct model *model, const json_t *row)
{
	uint64_t all = field_count_or(row, "p99_ns", 0), gaps;

	if (strcmp(field_text(row, "segment"), RECEIVE_TO_COPY) != 0)
		return all;
	gaps = field_count_or(find_segment(model, GAP_WAIT), "p99_ns", 0);
	return all > gaps ? all - gaps : 0;
}

static bool is_gap(const json_t *row)
{
	return row && !strcmp(field_text(row, "segment"), GAP_WAIT);
}

/*
 * The segment with the highest p99: a total, or in `direction` any other; those of many packets before all others.
 * `own`: only what contains no gap.
 */
static const json_t *slowest(const struct model *model, const char *direction, bool own)
{
	const json_t *worst = NULL;

	for (size_t i = 0; i < model->segment_count; i++) {
		const json_t *row = model->segments[i].total;
		bool total = segment_name_is_total(field_text(row, "segment"));
		bool many = field_count_or(row, "count", 0) >= PACKETS_MIN;
		bool worst_many = field_count_or(worst, "count", 0) >= PACKETS_MIN;

		if (total != !direction ||
		    (direction && strcmp(direction, field_text(row, "direction")) != 0) ||
		    (own && (is_gap(row) || !strcmp(field_text(row, "segment"), RECEIVE_TO_COPY))))
			continue;
		if (!worst || many > worst_many ||
		    (many == worst_many &&
		     p99_without_gaps(model, row) > p99_without_gaps(model, worst)))
			worst = row;
	}
	return worst;
}

static void tell_segment(struct html *html, const char *before, const json_t *row)
{
	html_text(html, "%s", before);
	html_markup(html, "<b>");
	html_text(html, "%s", segment_name_text(field_text(row, "segment")).s);
	html_markup(html, "</b>");
	html_text(html, " (p99 %s)", field_units_duration(row, "p99_ns").s);
}

static void tell_latency(struct html *html, const struct model *model)
{
	const json_t *total = slowest(model, NULL, false), *part, *own;

	html_markup(html, "<p>");
	if (!total) {
		html_markup(html, "No latency was measured.</p>\n");
		return;
	}
	part = slowest(model, field_text(total, "direction"), false);
	html_text(html, "The slowest path was %s, with p99 %s and at most %s for %s packets",
		  field_text(total, "direction"), field_units_duration(total, "p99_ns").s,
		  field_units_duration(total, "max_ns").s, estimate_count(total).s);
	if (part)
		tell_segment(html, "; its slowest segment was ", part);
	if (is_gap(part)) {
		own = slowest(model, field_text(total, "direction"), true);
		html_text(
			html,
			", the wait for TCP segments that the network lost or reordered, or that this host dropped");
		if (own)
			tell_segment(html, "; of this host's own segments it was ", own);
	}
	html_markup(html, ".</p>\n");
}

/* ---- alerts, and how far this can be trusted ----------------------------------------------- */

/* The n-th rule that fired, each once; NULL after the last. */
static const char *fired_rule(const struct model *model, size_t n)
{
	const char *member = model->past ? "events" : "alerts";
	const json_t *list = json_object_get(model->past ? model->events : model->alerts, member);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const json_t *alert = model->past ? json_object_get(one, "alert") : one;
		const char *what = field_text(one, model->past ? "change" : "state");
		bool known = false;

		if (strcmp(what, model->past ? "fired" : "firing") != 0 || field_true(one, "test"))
			continue;
		for (size_t j = 0; j < i && model->past; j++) {
			const json_t *before = json_array_get(list, j);

			known |= !strcmp(field_text(before, "change"), "fired") &&
				 !field_true(before, "test") &&
				 !strcmp(field_text(json_object_get(before, "alert"), "name"),
					 field_text(alert, "name"));
		}
		if (!known && !n--)
			return field_text(alert, "name");
	}
	return NULL;
}

static void tell_alerts(struct html *html, const struct model *model)
{
	size_t count = 0;

	while (fired_rule(model, count))
		count++;
	if (!count) {
		html_text(html, "%s",
			  !model->past ? "No alert fires"
			  : model->events && covered_whole(json_object_get(model->events, "period"))
				  ? "No alert fired"
				  : "The history has no alert");
		return;
	}
	html_text(html, "%zu alert%s %s (", count, count == 1 ? "" : "s",
		  model->past  ? "fired"
		  : count == 1 ? "fires"
			       : "fire");
	for (size_t i = 0; i < count && i < RULES_NAMED; i++)
		html_text(html, "%s%s", i ? ", " : "", fired_rule(model, i));
	html_text(html, "%s)", count > RULES_NAMED ? ", …" : "");
}

static void tell_trust(struct html *html, const struct model *model)
{
	const json_t *period = json_object_get(model->drops, "period");
	const json_t *coverage = json_object_get(model->status, "coverage"), *row;
	size_t i, full = 0;

	json_array_foreach(coverage, i, row) full += !strcmp(field_text(row, "state"), "full");
	if (period)
		html_text(html, "; the history %s; ", covered_sentence(period).s);
	else
		html_markup(html, "; ");
	if (!model->blind)
		html_text(html, "the ledger is %s, and ", ledger_verdict(model->status).text);
	html_text(html, "netflowd answers %zu of %zu questions fully.", full,
		  json_array_size(coverage));
}

void section_story(struct html *html, const struct model *model)
{
	html_markup(html, "<div class=\"story\">\n");
	if (model->blind && !model->past) {
		section_blind(html, model);
	} else {
		tell_drops(html, model);
		tell_latency(html, model);
	}
	html_markup(html, "<p>");
	tell_alerts(html, model);
	tell_trust(html, model);
	html_markup(html, "</p>\n</div>\n");
}
