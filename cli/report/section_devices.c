/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What single devices and CPUs did: NAPI polls and ring slots. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/report/sections.h"
#include "cli/show/napi_tables.h"
#include "common/array.h"

/* CPUs that are listed. */
#define CPUS 16

static void put_rest(struct html *html, uint64_t shown, uint64_t matched, const char *command)
{
	if (matched > shown)
		html_paragraph(html, HTML_DIM, "%s more rows; `netflowctl %s --all` shows them.",
			       units_count(matched - shown).s, command);
}

/* ---- NAPI ---------------------------------------------------------------------------------- */

static void put_polls(struct html *html, const json_t *rows)
{
	static const struct html_column columns[] = {
		{"device", false}, {"netns", false},	   {"CPU", true},   {"polls", true},
		{"packets", true}, {"full budgets", true}, {"share", true},
	};
	const json_t *row;
	size_t i;

	html_table(html, "NAPI polls by device and CPU", columns, ARRAY_SIZE(columns));
	json_array_foreach(rows, i, row)
	{
		uint64_t full = field_count_or(row, "full_budgets", 0);
		enum html_tone tone = full ? HTML_WARN : HTML_PLAIN;

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", napi_device(row));
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(row, "netns_name", field_units_number(row, "netns").s));
		html_cell(html, HTML_PLAIN, "%s", field_units_number(row, "cpu").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "polls").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "packets").s);
		html_cell(html, tone, "%s", field_units_count(row, "full_budgets").s);
		html_cell(html, tone, "%s", units_share(full, field_count_or(row, "polls", 0)).s);
	}
	html_table_end(html);
}

static void put_waits(struct html *html, const json_t *cpus)
{
	static const struct html_column columns[] = {
		{"CPU", true}, {"waits", true}, {"mean", true},
		{"p50", true}, {"p99", true},	{"max", true},
	};
	size_t count = json_array_size(cpus);

	html_title(html, "The wait of the receive softirq, from its raise to its start");
	html_table(html, "waits by CPU", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < count && i < CPUS; i++) {
		const json_t *row = json_array_get(cpus, i);

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_units_number(row, "cpu").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "wait_count").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_duration_real(row, "wait_mean_ns").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_duration(row, "wait_p50_ns").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_duration(row, "wait_p99_ns").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_duration(row, "wait_max_ns").s);
	}
	html_table_end(html);
	put_rest(html, count < CPUS ? count : CPUS, count, "napi");
}

void section_napi(struct html *html, const struct model *model)
{
	const json_t *rows = json_object_get(model->napi, "napi");
	const json_t *cpus = json_object_get(model->napi, "cpus");

	html_section(html, "napi", "NAPI");
	if (!section_blind(html, model)) {
		if (json_array_size(rows)) {
			put_polls(html, rows);
			put_rest(html, json_array_size(rows),
				 field_count_or(model->napi, "matched", 0), "napi");
		} else {
			html_paragraph(html, HTML_DIM, "netflowd has seen no poll.");
		}
		if (json_array_size(cpus))
			put_waits(html, cpus);
	}
	html_section_end(html);
}

/* ---- ring slots ---------------------------------------------------------------------------- */

static void put_slots(struct html *html, const json_t *reply)
{
	static const struct html_column columns[] = {
		{"device", false},     {"netns", true},	    {"transmits", true},
		{"near misses", true}, {"overflows", true}, {"linearized", true},
		{"dropped", true},     {"too big", true},   {"last overflow", false},
	};
	const json_t *devices = json_object_get(reply, "devices"), *row;
	size_t i;

	html_table(html, "ring slots by device", columns, ARRAY_SIZE(columns));
	json_array_foreach(devices, i, row)
	{
		const json_t *outcomes = json_object_get(row, "outcomes");
		bool bad = field_count_or(row, "overflows", 0);

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s",
			  field_text_or(row, "device", "(all other devices)"));
		html_cell(html, HTML_PLAIN, "%s", field_units_number(row, "netns").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "transmits").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "near_misses").s);
		html_cell(html, bad ? HTML_BAD : HTML_PLAIN, "%s",
			  field_units_count(row, "overflows").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(outcomes, "linearized").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(outcomes, "dropped").s);
		html_cell(html, HTML_PLAIN, "%s", field_units_count(row, "too_big").s);
		html_cell(html, HTML_PLAIN, "%s", field_time(row, "last_overflow", NULL).s);
	}
	html_table_end(html);
	put_rest(html, json_array_size(devices), field_count_or(reply, "matched", 0), "slots");
}

static bool attached(const json_t *reply, const char *source)
{
	return !strcmp(field_text(json_object_get(reply, source), "state"), "attached");
}

static void put_no_slots(struct html *html, const json_t *reply)
{
	const char *xen = field_text_or(json_object_get(reply, "xen"), "reason", NULL);
	const char *named = field_text_or(json_object_get(reply, "named"), "reason", NULL);

	if (attached(reply, "xen") || attached(reply, "named"))
		html_paragraph(html, HTML_DIM, "netflowd has seen no transmit.");
	else
		html_paragraph(html, HTML_DIM, "No ring slots were counted%s%s%s%s.",
			       xen || named ? ": " : "", xen ? xen : "", xen && named ? "; " : "",
			       named ? named : "");
}

void section_slots(struct html *html, const struct model *model)
{
	const json_t *devices = json_object_get(model->slots, "devices");

	html_section(html, "slots", "Ring slots");
	if (!section_blind(html, model)) {
		if (json_array_size(devices)) {
			html_paragraph(
				html, HTML_DIM,
				"A transmit can have %s slots. One that needs more overflows: the driver linearizes or drops it.",
				field_units_count(model->slots, "limit").s);
			put_slots(html, model->slots);
		} else {
			put_no_slots(html, model->sources);
		}
	}
	html_section_end(html);
}
