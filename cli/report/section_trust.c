/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How far the other sections can be trusted. */
#include <string.h>

#include "cli/ask/covered.h"
#include "cli/ask/field.h"
#include "cli/report/sections.h"
#include "cli/show/ledger.h"
#include "common/array.h"

/* Gaps that are listed. */
#define GAPS 20

bool section_blind(struct html *html, const struct model *model)
{
	if (!model->blind || model->past)
		return false;
	html_paragraph(html, HTML_BAD, "netflowd sees no packet, because no probe runs: %s.",
		       field_text(json_object_get(model->status, "backend"), "reason"));
	return true;
}

/* ---- the period ---------------------------------------------------------------------------- */

static void put_gaps(struct html *html, const json_t *period)
{
	uint64_t left = covered_gaps_left(period, GAPS);
	const json_t *gap;
	size_t at = 0, shown = 0;

	while ((gap = covered_next_gap(period, GAPS, &at))) {
		if (!shown++) {
			html_paragraph(html, HTML_WARN, "netflowd did not record:");
			html_markup(html, "<ul>\n");
		}
		html_markup(html, "<li>");
		html_text(html, "%s", covered_gap_text(gap).s);
		html_markup(html, "</li>\n");
	}
	if (left) {
		html_markup(html, "<li>");
		html_text(html, "and %s more times, earlier", units_count(left).s);
		html_markup(html, "</li>\n");
	}
	if (shown)
		html_markup(html, "</ul>\n");
}

void section_period(struct html *html, const struct model *model)
{
	const json_t *period = json_object_get(model->drops, "period");
	uint64_t weight = field_count_or(period, "weight", 1);
	const struct covered_text failing = covered_failing(period);
	struct covered_text step;

	html_section(html, "period", "Period");
	if (!period) {
		const json_t *daemon = json_object_get(model->status, "daemon");

		html_paragraph(html, HTML_PLAIN, "Since netflowd started, at %s: %s.",
			       field_date(daemon, "started").s,
			       field_units_duration(daemon, "uptime_ns").s);
		html_paragraph(html, HTML_DIM, "There is no history: %s.",
			       field_text(json_object_get(model->status, "history"), "reason"));
		html_section_end(html);
		return;
	}
	html_paragraph(html, HTML_PLAIN, "Asked for: %s to %s. Counted: %s to %s.",
		       field_date(period, "since").s, field_date(period, "until").s,
		       field_date(period, "from").s, field_date(period, "to").s);
	html_paragraph(html, covered_whole(period) ? HTML_GOOD : HTML_WARN, "The history %s.",
		       covered_sentence(period).s);
	put_gaps(html, period);
	for (size_t i = 0; (step = covered_step(period, i)).s[0]; i++)
		html_paragraph(html, HTML_WARN, "In that time, %s.", step.s);
	if (failing.s[0])
		html_paragraph(html, HTML_BAD, "%s.", failing.s);
	if (weight > 1)
		html_paragraph(
			html, HTML_WARN,
			"Events were sampled: one counted event stands for %s, so counts are estimates.",
			units_count(weight).s);
	html_section_end(html);
}

/* ---- coverage ------------------------------------------------------------------------------ */

static enum html_tone state_tone(const json_t *row)
{
	const char *state = field_text(row, "state");

	if (!strcmp(state, "full"))
		return HTML_GOOD;
	return strcmp(state, "degraded") ? HTML_BAD : HTML_WARN;
}

static void put_coverage(struct html *html, const char *label, const json_t *coverage)
{
	static const struct html_column columns[] = {
		{"question", false},
		{"answer", false},
		{"what is lost, why, and what would help", false}};
	const json_t *row;
	size_t i;

	html_table(html, label, columns, ARRAY_SIZE(columns));
	json_array_foreach(coverage, i, row)
	{
		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_text(row, "question"));
		html_cell(html, state_tone(row), "%s", field_text(row, "state"));
		html_cell(html, HTML_PLAIN, "%s", field_text_or(row, "reason", ""));
	}
	html_table_end(html);
}

void section_coverage(struct html *html, const struct model *model)
{
	const json_t *period = json_object_get(model->drops, "period");
	const json_t *then = json_object_get(period, "coverage");
	const json_t *now = json_object_get(model->status, "coverage");

	html_section(html, "coverage", "Coverage");
	if (period && !json_array_size(then))
		html_paragraph(html, HTML_GOOD,
			       "In that time, netflowd could answer all questions fully.");
	if (json_array_size(then)) {
		html_title(html, "Not fully answered in a part of that time");
		put_coverage(html, "coverage in the period", then);
	}
	html_title(html, "When this page was written");
	if (json_array_size(now))
		put_coverage(html, "coverage", now);
	else
		html_paragraph(html, HTML_WARN, "netflowd did not say what it can answer.");
	html_section_end(html);
}

/* ---- the ledger ---------------------------------------------------------------------------- */

static enum html_tone tone_of(enum page_style style)
{
	switch (style) {
	case PAGE_GOOD:
		return HTML_GOOD;
	case PAGE_WARN:
		return HTML_WARN;
	case PAGE_BAD:
		return HTML_BAD;
	default:
		return HTML_DIM;
	}
}

void section_ledger(struct html *html, const struct model *model)
{
	static const struct html_column columns[] = {
		{"of", false}, {"state", false}, {"equation", false}};
	struct ledger_line line;

	html_section(html, "ledger", "Ledger");
	if (model->blind) {
		html_paragraph(html, HTML_BAD, "Empty: no probe runs.");
		html_section_end(html);
		return;
	}
	html_paragraph(
		html, HTML_DIM,
		"The ledger accounts for every event that netflowd saw since it started, at %s.",
		field_date(json_object_get(model->status, "daemon"), "started").s);
	html_table(html, "ledger", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; ledger_line(model->status, i, &line); i++) {
		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", line.of);
		html_cell(html, tone_of(line.verdict.style), "%s", line.verdict.text);
		html_cell(html, HTML_PLAIN, "%s", line.text ? line.text : "?");
		free(line.text);
	}
	html_table_end(html);
	html_section_end(html);
}
