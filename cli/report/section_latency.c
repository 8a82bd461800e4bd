/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/report/drawing.h"
#include "cli/report/sections.h"
#include "cli/show/estimate.h"
#include "common/array.h"
#include "common/segment_name.h"

static const struct html_column columns[] = {
	{"segment", false}, {"count", true}, {"mean", true},  {"p50", true},
	{"p90", true},	    {"p99", true},   {"p99.9", true}, {"max", true},
};

static const struct html_column device_columns[] = {
	{"device", false}, {"netns", false}, {"segment", false}, {"count", true}, {"mean", true},
	{"p50", true},	   {"p90", true},    {"p99", true},	 {"p99.9", true}, {"max", true},
};

static void put_numbers(struct html *html, const json_t *row)
{
	static const char *const durations[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"};

	html_cell(html, HTML_PLAIN, "%s %s", field_text(row, "direction"),
		  segment_name_text(field_text(row, "segment")).s);
	html_cell(html, HTML_PLAIN, "%s", estimate_count(row).s);
	html_cell(html, HTML_PLAIN, "%s", field_units_duration_real(row, "mean_ns").s);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		html_cell(html, HTML_PLAIN, "%s", field_units_duration(row, durations[i]).s);
}

static void put_devices(struct html *html, const json_t *worst)
{
	const json_t *row;
	size_t i;

	if (!json_array_size(worst))
		return;
	html_title(html, "The devices with the highest p99 in total");
	html_table(html, "latency by device", device_columns, ARRAY_SIZE(device_columns));
	json_array_foreach(worst, i, row)
	{
		html_row(html);
		html_cell(html, HTML_PLAIN, "%s%s",
			  json_object_get(row, "device") ? "" : "other devices: ",
			  field_text_or(row, "device", field_text_or(row, "group", "all kinds")));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(row, "netns_name", field_units_number(row, "netns").s));
		put_numbers(html, row);
	}
	html_table_end(html);
}

static void put_drawings(struct html *html, const struct model *model)
{
	html_title(html, "%s", model->cell_count ? "Over time" : "How long packets took");
	if (model->cell_count) {
		html_paragraph(
			html, HTML_DIM,
			"A column is a part of the time, a row is a duration: the higher, the longer. The shade says how many packets took that long; grey over the whole height means that netflowd did not record.");
		drawing_shades(html);
	}
	for (size_t i = 0; i < model->segment_count; i++) {
		const struct model_segment *segment = &model->segments[i];

		if (!segment->all.count)
			continue;
		html_title(html, "%s %s: %s packets, p99 %s",
			   field_text(segment->total, "direction"),
			   segment_name_text(field_text(segment->total, "segment")).s,
			   estimate_count(segment->total).s,
			   field_units_duration(segment->total, "p99_ns").s);
		if (model->cell_count)
			drawing_heat(html, model, segment);
		else
			drawing_histogram(html, segment);
	}
}

static void put_slow(struct html *html, const json_t *records)
{
	static const struct html_column slow_columns[] = {
		{"time", false},    {"took", true},  {"most of it in", false},
		{"outcome", false}, {"flow", false}, {"task", false},
	};
	const json_t *record;
	size_t i;

	if (!json_array_size(records))
		return;
	html_title(html, "The newest slow packets that netflowd recorded");
	html_table(html, "slow packets", slow_columns, ARRAY_SIZE(slow_columns));
	json_array_foreach(records, i, record)
	{
		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_time(record, "time", NULL).s);
		html_cell(html, HTML_PLAIN, "%s", field_units_duration(record, "total_ns").s);
		html_cell(html, HTML_PLAIN, "%s",
			  segment_name_text(field_text(record, "dominant")).s);
		html_cell(html, HTML_PLAIN, "%s", field_text(record, "outcome"));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(record, "flow", field_text(record, "protocol")));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text(json_object_get(record, "task"), "comm"));
	}
	html_table_end(html);
}

void section_latency(struct html *html, const struct model *model)
{
	const struct estimate_sentences unfollowed =
		estimate_unfollowed(json_object_get(model->latency, "followed"));

	html_section(html, "latency", "Latency");
	if (section_blind(html, model)) {
		html_section_end(html);
		return;
	}
	if (model->segment_count) {
		html_table(html, "latency by segment", columns, ARRAY_SIZE(columns));
		for (size_t i = 0; i < model->segment_count; i++) {
			html_row(html);
			put_numbers(html, model->segments[i].total);
		}
		html_table_end(html);
		html_paragraph(
			html, HTML_DIM,
			"Count, mean and max are exact, unless the count is shown as ≈ with its 95 %% interval: then netflowd followed a part of the packets, and max is that of this part. Percentiles come from histograms and are at most 12.5 %% off.");
		put_devices(html, json_object_get(model->latency, "worst"));
		put_drawings(html, model);
	} else {
		html_paragraph(html, HTML_DIM, "No latency was measured.");
	}
	if (unfollowed.s[0])
		html_paragraph(html, HTML_WARN, "%s", unfollowed.s);
	put_slow(html, json_object_get(model->slow, "records"));
	html_section_end(html);
}
