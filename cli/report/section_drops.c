/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/report/drawing.h"
#include "cli/report/sections.h"
#include "cli/show/drop_lines.h"
#include "cli/show/period.h"
#include "common/array.h"

/* Reasons that have a column of their own in the table of the timeline. */
#define COLUMNS 5

static void put_reason(struct html *html, const json_t *row)
{
	OWN_FREE char *name = drop_lines_reason(row);

	html_cell(html, HTML_PLAIN, "%s", name ? name : "?");
}

static enum html_tone class_tone(const json_t *row)
{
	return !strcmp(field_text(row, "class"), "fault") ? HTML_BAD : HTML_PLAIN;
}

static void put_reasons(struct html *html, const struct model *model)
{
	static const struct html_column columns[] = {
		{"reason", false}, {"class", false}, {"packets", true},
		{"share", true},   {"bytes", true},  {"last", false},
	};
	uint64_t all = field_count_or(model->drops, "packets", 0);

	html_table(html, "drops by reason", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < model->reason_count; i++) {
		const struct model_reason *reason = &model->reasons[i];

		html_row(html);
		put_reason(html, reason->row);
		html_cell(html, class_tone(reason->row), "%s", field_text(reason->row, "class"));
		html_cell(html, HTML_PLAIN, "%s", units_count(reason->packets).s);
		html_cell(html, HTML_PLAIN, "%s", units_share(reason->packets, all).s);
		html_cell(html, HTML_PLAIN, "%s", field_units_bytes(reason->row, "bytes").s);
		html_cell(html, HTML_PLAIN, "%s", field_time(reason->row, "last", NULL).s);
	}
	html_table_end(html);
}

/* ---- where --------------------------------------------------------------------------------- */

static const char *owner_of(const json_t *row)
{
	const json_t *owner = json_object_get(row, "owner");

	return field_text_or(owner, "container",
			     field_text_or(owner, "unit", field_text(owner, "cgroup")));
}

static void put_places(struct html *html, const struct model *model)
{
	static const struct html_column columns[] = {
		{"packets", true},   {"mark", false},	  {"reason", false},
		{"class", false},    {"location", false}, {"device", false},
		{"protocol", false}, {"netns", false},	  {"cgroup", false},
	};
	const json_t *rows = json_object_get(model->places, "rows"), *row;
	uint64_t matched = field_count_or(model->places, "matched", 0);
	size_t i;

	html_title(html, "Where");
	html_table(html, "drops by location, device, protocol and namespace", columns,
		   ARRAY_SIZE(columns));
	json_array_foreach(rows, i, row)
	{
		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "packets").s);
		html_cell(html, HTML_PLAIN, "%s",
			  field_text(json_object_get(row, "baseline"), "mark"));
		put_reason(html, row);
		html_cell(html, class_tone(row), "%s", field_text(row, "class"));
		html_cell(html, HTML_PLAIN, "%s", field_text(row, "location"));
		html_cell(html, HTML_PLAIN, "%s", field_text(row, "device"));
		html_cell(html, HTML_PLAIN, "%s", field_text(row, "protocol"));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(row, "netns_name", field_units_number(row, "netns").s));
		html_cell(html, HTML_PLAIN, "%s", owner_of(row));
	}
	html_table_end(html);
	if (matched > json_array_size(rows))
		html_paragraph(html, HTML_DIM,
			       "There are %s more rows; `netflowctl drops --all` shows them.",
			       units_count(matched - json_array_size(rows)).s);
}

/* ---- when ---------------------------------------------------------------------------------- */

static void put_cells(struct html *html, const struct model *model)
{
	struct html_column columns[COLUMNS + 4] = {
		{"from", false}, {"recorded", true}, {"packets", true}};
	char *names[COLUMNS] = {NULL};
	size_t shown = model->reason_count < COLUMNS ? model->reason_count : COLUMNS;
	size_t count = 3 + shown;

	for (size_t i = 0; i < shown; i++) {
		names[i] = drop_lines_reason(model->reasons[i].row);
		columns[3 + i] = (struct html_column){names[i] ? names[i] : "?", true};
	}
	if (shown < model->reason_count)
		columns[count++] = (struct html_column){"other reasons", true};
	html_markup(html, "<details>\n<summary>The timeline in numbers</summary>\n");
	html_table(html, "drops over time", columns, count);
	for (size_t i = 0; i < model->cell_count; i++) {
		const struct model_cell *cell = &model->cells[i];
		uint64_t others = cell->packets;

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", drawing_time(cell->from_ns).s);
		html_cell(html, HTML_PLAIN, "%s",
			  units_share(cell->covered_ns, cell->to_ns - cell->from_ns).s);
		html_cell(html, HTML_PLAIN, "%s", units_count(cell->packets).s);
		for (size_t j = 0; j < shown; j++) {
			uint64_t packets = model->reasons[j].cells[i];

			others -= packets < others ? packets : others;
			html_cell(html, HTML_PLAIN, "%s", units_count(packets).s);
		}
		if (shown < model->reason_count)
			html_cell(html, HTML_PLAIN, "%s", units_count(others).s);
	}
	html_table_end(html);
	html_markup(html, "</details>\n");
	for (size_t i = 0; i < shown; i++)
		free(names[i]);
}

static void put_timeline(struct html *html, const struct model *model)
{
	if (!model->past) {
		html_paragraph(
			html, HTML_DIM,
			"There is no timeline: netflowd has no history (%s), so these numbers are sums since it started.",
			field_text(json_object_get(model->status, "history"), "reason"));
		return;
	}
	if (!model->cell_count)
		return;
	drawing_timeline(html, model);
	put_cells(html, model);
	if (model->uneven)
		html_paragraph(
			html, HTML_WARN,
			"The parts of the timeline have more packets than the whole: the history changed while it was read. Write the report again.");
}

/* ---- single packets ------------------------------------------------------------------------ */

static void put_records(struct html *html, const struct model *model)
{
	static const struct html_column columns[] = {
		{"time", false},   {"reason", false}, {"class", false}, {"location", false},
		{"device", false}, {"flow", false},   {"length", true}, {"task", false},
	};
	const json_t *records = json_object_get(model->records, "records"), *record;
	size_t i;

	if (!json_array_size(records))
		return;
	html_title(html, "The newest dropped packets that netflowd recorded");
	html_table(html, "dropped packets", columns, ARRAY_SIZE(columns));
	json_array_foreach(records, i, record)
	{
		const json_t *task = json_object_get(record, "task");
		bool involved = field_true(task, "involved");

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_time(record, "time", NULL).s);
		put_reason(html, record);
		html_cell(html, class_tone(record), "%s", field_text(record, "class"));
		html_cell(html, HTML_PLAIN, "%s", field_text(record, "location"));
		html_cell(html, HTML_PLAIN, "%s", field_text(record, "device"));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(record, "flow", field_text(record, "protocol")));
		html_cell(html, HTML_PLAIN, "%s B", field_units_number(record, "length_bytes").s);
		html_cell(html, involved ? HTML_PLAIN : HTML_DIM, "%s%s[%s]%s", involved ? "" : "(",
			  field_text(task, "comm"), field_units_number(task, "pid").s,
			  involved ? ""
			  : json_is_boolean(json_object_get(task, "involved"))
				  ? ")"
				  : ", not known whether involved)");
	}
	html_table_end(html);
	html_paragraph(
		html, HTML_DIM,
		"A task in parentheses only happened to run on the CPU and had nothing to do with the packet.");
}

void section_drops(struct html *html, const struct model *model)
{
	html_section(html, "drops", "Drops");
	if (section_blind(html, model)) {
		html_section_end(html);
		return;
	}
	if (model->reason_count) {
		html_paragraph(html, HTML_PLAIN, "%s packets (%s) in total.",
			       field_units_count(model->drops, "packets").s,
			       field_units_bytes(model->drops, "bytes").s);
		put_timeline(html, model);
		html_title(html, "Why");
		put_reasons(html, model);
		put_places(html, model);
	} else if (period_is_whole(model->drops, "drops")) {
		html_paragraph(html, HTML_GOOD, "No packet was dropped.");
	} else {
		html_paragraph(
			html, HTML_WARN,
			"netflowd counted no dropped packet, but it did not see all of this time: see Period and Coverage below.");
	}
	put_records(html, model);
	html_section_end(html);
}
