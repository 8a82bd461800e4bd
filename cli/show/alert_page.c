/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/alert_page.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/drop_lines.h"
#include "cli/terminal/table.h"
#include "common/array.h"

#define INDENT 2
#define LABEL 12

/* ---- the table --------------------------------------------------------------------------- */

static bool is_state(const json_t *alert, const char *state)
{
	return !strcmp(field_text(alert, "state"), state);
}

static enum page_style state_style(const json_t *alert)
{
	if (is_state(alert, "firing"))
		return PAGE_BAD;
	if (is_state(alert, "pending"))
		return PAGE_WARN;
	return is_state(alert, "resolved") ? PAGE_GOOD : PAGE_PLAIN;
}

/* A value or threshold in the alert's unit; "-" if it is not known. */
static struct units_text value(const json_t *alert, const char *name)
{
	const char *unit = field_text(alert, "unit");
	double number;

	if (!field_real(alert, name, &number))
		return units_unknown();
	if (!strcmp(unit, "per_second"))
		return units_rate(number);
	if (!strcmp(unit, "ns"))
		return units_duration_real(number);
	if (!strcmp(unit, "percent"))
		return units_percent(number);
	return units_count((uint64_t)number);
}

/* Put the reason why an alert is not evaluated or not reported, if there is one. */
static void put_note(struct table *table, const json_t *alert, const char *now)
{
	const char *unknown = field_text_or(alert, "unknown", NULL);

	if (!field_true(alert, "enabled"))
		table_cell(table, PAGE_DIM, "disabled");
	else if (unknown)
		table_cell(table, PAGE_WARN, "cannot evaluate: %s", unknown);
	else if (field_text_or(alert, "silenced_until", NULL))
		table_cell(table, PAGE_WARN, "silenced until %s",
			   field_time(alert, "silenced_until", now).s);
}

static void put_row(struct table *table, const json_t *alert, const char *now)
{
	bool enabled = field_true(alert, "enabled");

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", field_text(alert, "name"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(alert, "severity"));
	table_cell(table, enabled ? state_style(alert) : PAGE_DIM, "%s",
		   enabled ? field_text(alert, "state") : "off");
	table_cell(table, PAGE_PLAIN, "%s", field_time(alert, "since", now).s);
	table_cell(table, PAGE_PLAIN, "%s", value(alert, "value").s);
	table_cell(table, PAGE_PLAIN, "%s", value(alert, "over").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(alert, "fired").s);
	put_note(table, alert, now);
}

static int put_table(struct page *page, const json_t *alerts, const char *now)
{
	static const struct {
		enum table_align align;
		const char *title;
	} columns[] = {
		{TABLE_LEFT, "alert"},	{TABLE_LEFT, "severity"}, {TABLE_LEFT, "state"},
		{TABLE_LEFT, "since"},	{TABLE_RIGHT, "value"},	  {TABLE_RIGHT, "threshold"},
		{TABLE_RIGHT, "fired"}, {TABLE_LEFT, ""},
	};
	OWN_TABLE struct table *table = NULL;
	const json_t *alert;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(table, columns[i].align, columns[i].title);
	json_array_foreach(alerts, i, alert) put_row(table, alert, now);
	return table_put(table, page);
}

/* ---- one alert --------------------------------------------------------------------------- */

static void put_label(struct page *page, const char *label)
{
	page_pad(page, INDENT, 0);
	page_put(page, PAGE_DIM, "%s", label);
	page_pad(page, LABEL, 1);
}

static void put_paragraph(struct page *page, const char *label, const char *text)
{
	put_label(page, label);
	page_advice(page, LABEL, text);
}

static void put_drops(struct page *page, const json_t *drops, const char *now)
{
	struct drop_lines_widths widths = {};
	const json_t *record;
	size_t i;

	json_array_foreach(drops, i, record) drop_lines_measure(&widths, record, now);
	json_array_foreach(drops, i, record)
	{
		page_pad(page, LABEL, 0);
		drop_lines_put(page, &widths, record, now, false);
	}
}

static void put_latencies(struct page *page, const json_t *latencies, const char *now)
{
	const json_t *record;
	size_t i;

	json_array_foreach(latencies, i, record)
	{
		page_pad(page, LABEL, 0);
		page_line(page, PAGE_PLAIN, "%s  %s in %s, most of it in %s  %s",
			  field_time(record, "time", now).s, field_text(record, "outcome"),
			  field_units_duration(record, "total_ns").s,
			  field_text(record, "dominant"),
			  field_text_or(record, "flow", field_text(record, "protocol")));
	}
}

static void put_slots(struct page *page, const json_t *slots, const char *now)
{
	const json_t *record;
	size_t i;

	json_array_foreach(slots, i, record)
	{
		page_pad(page, LABEL, 0);
		page_line(page, PAGE_PLAIN, "%s  %s  %s slots of %s, %s  %s  %s",
			  field_time(record, "time", now).s, field_text(record, "device"),
			  field_units_count(record, "slots").s,
			  field_units_count(record, "limit").s, field_text(record, "outcome"),
			  field_units_bytes(record, "length_bytes").s,
			  field_text_or(record, "flow", field_text(record, "protocol")));
	}
}

static void put_evidence(struct page *page, const json_t *alert, const char *now)
{
	const json_t *evidence = json_object_get(alert, "evidence");
	const char *detail = field_text_or(evidence, "detail", NULL);
	uint64_t count;

	if (!field_count(evidence, "count", &count))
		return;
	put_label(page, "evidence");
	page_paragraph(page, PAGE_PLAIN, LABEL, "%s in total%s%s", units_count(count).s,
		       detail ? "; " : "", detail ? detail : "");
	put_drops(page, json_object_get(evidence, "drops"), now);
	put_latencies(page, json_object_get(evidence, "latencies"), now);
	put_slots(page, json_object_get(evidence, "slots"), now);
}

static void put_program(struct page *page, const json_t *alert, const char *now)
{
	const json_t *last = json_object_get(alert, "last_program");

	if (!last)
		return;
	put_label(page, "program");
	page_line(page, field_true(last, "fine") ? PAGE_PLAIN : PAGE_BAD, "%s  %s  %s",
		  field_time(last, "time", now).s, field_text(alert, "program"),
		  field_text(last, "result"));
}

static void put_details(struct page *page, const json_t *alert, const char *now)
{
	put_evidence(page, alert, now);
	put_paragraph(page, "cause", field_text(alert, "cause"));
	put_paragraph(page, "remedy", field_text(alert, "remedy"));
	put_label(page, "more");
	page_line(page, PAGE_PLAIN, "netflowctl explain %s",
		  field_text_or(json_object_get(alert, "evidence"), "reason",
				field_text(alert, "condition")));
	put_label(page, "rule");
	page_line(page, PAGE_PLAIN, "%s:%s", field_text(alert, "file"),
		  field_units_count(alert, "line").s);
	put_program(page, alert, now);
}

static void put_alert(struct page *page, const json_t *alert, const char *now)
{
	bool firing = is_state(alert, "firing");

	page_end(page);
	page_put(page, PAGE_TITLE, "%s", field_text(alert, "name"));
	page_put(page, state_style(alert), " %s", field_text(alert, "state"));
	page_line(page, PAGE_PLAIN, " since %s", field_time(alert, "since", now).s);
	put_paragraph(page, firing ? "now" : "was", field_text(alert, "summary"));
	put_details(page, alert, now);
}

int alert_page_put(struct page *page, const json_t *reply)
{
	const json_t *alerts = json_object_get(reply, "alerts"), *alert;
	const char *now = field_text_or(reply, "time", NULL);
	size_t i;
	int r = 0;

	if (json_array_size(alerts))
		r = put_table(page, alerts, now);
	else
		page_line(page, PAGE_WARN,
			  "There are no alert rules: netflowd evaluates no conditions.");
	json_array_foreach(alerts, i, alert)
	{
		if (is_state(alert, "firing") || is_state(alert, "resolved"))
			put_alert(page, alert, now);
	}
	return r;
}

void alert_page_put_event(struct page *page, const json_t *event)
{
	const json_t *alert = json_object_get(event, "alert");
	const char *change = field_text(event, "change"), *now = field_text_or(event, "time", NULL);
	bool resolved = !strcmp(change, "resolved");

	page_put(page, PAGE_PLAIN, "%s  ", field_time(event, "time", now).s);
	page_line(page, resolved ? PAGE_GOOD : PAGE_BAD, "%s%s", field_text(event, "summary"),
		  field_true(event, "silenced") ? " [silenced]" : "");
	if (!resolved)
		put_details(page, alert, now);
}
