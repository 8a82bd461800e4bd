/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl incidents: the five minutes before each alert. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/show/drop_lines.h"
#include "cli/show/period.h"
#include "cli/show/slot_layout.h"
#include "cli/show/timeline.h"
#include "cli/terminal/table.h"
#include "common/segment_name.h"
#include "common/units.h"
#include "common/value.h"

#define LIST_METHOD "io.netflowd.GetIncidents"
#define SHOW_METHOD "io.netflowd.GetIncident"

/* Latency records of an incident that are drawn; --json has all. */
#define JOURNEYS 5

static const struct argument arguments[] = {
	OPTION_PERIOD,
	OPTION_LIMIT,
	{},
};

/* ---- the list ---------------------------------------------------------------------------- */

static int put_list(struct page *page, const json_t *incidents)
{
	OWN_TABLE struct table *table = NULL;
	struct field_time today = field_today();
	const json_t *incident;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_RIGHT, "id");
	table_column(table, TABLE_LEFT, "fired");
	table_column(table, TABLE_LEFT, "rule");
	table_column(table, TABLE_LEFT, "summary");
	json_array_foreach(incidents, i, incident)
	{
		const json_t *event = json_object_get(incident, "event");

		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", field_units_number(incident, "id").s);
		table_cell(table, PAGE_PLAIN, "%s", field_time(incident, "time", today.s).s);
		table_cell(table, PAGE_PLAIN, "%s", field_text(incident, "rule"));
		table_cell(table, PAGE_PLAIN, "%s", field_text(event, "summary"));
	}
	return table_put(table, page);
}

static enum report_status print_list(struct session *session, struct page *page,
				     const json_t *reply, void *data)
{
	const json_t *incidents = json_object_get(reply, "incidents");
	int r = 0;

	(void)data;
	if (json_array_size(incidents)) {
		r = put_list(page, incidents);
		page_line(page, PAGE_DIM,
			  "`netflowctl incidents show ID` shows the five minutes before one.");
	} else if (session->arguments.since_ns < 0 && session->arguments.until_ns < 0) {
		/* All of the history; what it covers can be nothing yet. */
		page_line(page, PAGE_PLAIN, "The history has no incident.");
		return session_print(page, 0);
	} else {
		page_put(page, PAGE_PLAIN, "No alert fired");
		period_put_since(page, reply);
		page_line(page, PAGE_PLAIN, ".");
	}
	period_put(page, reply, NULL);
	return session_print(page, r);
}

/* ---- one incident ------------------------------------------------------------------------- */

static int put_drops(struct page *page, const json_t *drops)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_RIGHT, "packets");
	table_column(table, TABLE_LEFT, "reason");
	table_column(table, TABLE_LEFT, "location");
	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_LEFT, "protocol");
	json_array_foreach(drops, i, row)
	{
		OWN_FREE char *reason = drop_lines_reason(row);

		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "packets").s);
		table_cell(table, PAGE_PLAIN, "%s", reason ? reason : "?");
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, "location"));
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, "device"));
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, "protocol"));
	}
	return table_put(table, page);
}

static int put_segments(struct page *page, const json_t *segments)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "segment");
	table_column(table, TABLE_RIGHT, "count");
	table_column(table, TABLE_RIGHT, "p50");
	table_column(table, TABLE_RIGHT, "p99");
	table_column(table, TABLE_RIGHT, "max");
	json_array_foreach(segments, i, row)
	{
		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s %s", field_text(row, "direction"),
			   segment_name_text(field_text(row, "segment")).s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "count").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(row, "p50_ns").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(row, "p99_ns").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(row, "max_ns").s);
	}
	return table_put(table, page);
}

static void put_title(struct page *page, const char *title)
{
	page_end(page);
	page_line(page, PAGE_TITLE, "%s", title);
}

/* A title, and how many of all records of this kind follow. */
static void put_count(struct page *page, const char *title, uint64_t shown, uint64_t matched)
{
	page_end(page);
	if (shown < matched)
		page_line(page, PAGE_TITLE, "%s: the newest %s of %s", title, units_count(shown).s,
			  units_count(matched).s);
	else
		page_line(page, PAGE_TITLE, "%s", title);
}

static void put_drop_records(struct page *page, const json_t *reply, const char *now)
{
	const json_t *records = json_object_get(reply, "drop_records");
	uint64_t shown = json_array_size(records);
	struct drop_lines_widths widths = {};
	const json_t *record;
	size_t i;

	if (!shown)
		return;
	put_count(page, "dropped packets", shown,
		  field_count_or(reply, "drop_records_matched", shown));
	json_array_foreach(records, i, record) drop_lines_measure(&widths, record, now);
	json_array_foreach(records, i, record) drop_lines_put(page, &widths, record, now, false);
}

/* The newest of records that take several lines each. */
static void put_newest(struct page *page, const json_t *records, uint64_t matched,
		       const char *title, const char *now,
		       void (*put)(struct page *page, const json_t *record, const char *now))
{
	size_t count = json_array_size(records);

	if (!count)
		return;
	put_count(page, title, count > JOURNEYS ? JOURNEYS : count, matched);
	for (size_t i = count > JOURNEYS ? count - JOURNEYS : 0; i < count; i++)
		put(page, json_array_get(records, i), now);
}

static enum report_status print_incident(struct session *session, struct page *page,
					 const json_t *reply, void *data)
{
	const json_t *incident = json_object_get(reply, "incident");
	const json_t *drops = json_object_get(reply, "drops");
	struct field_time today = field_today();
	int r = 0;

	(void)session;
	(void)data;
	page_line(page, PAGE_TITLE, "incident %s: %s", field_units_number(incident, "id").s,
		  field_text(incident, "rule"));
	page_line(page, PAGE_PLAIN, "fired %s; the time since %s follows",
		  field_date(incident, "time").s, field_date(incident, "from").s);
	page_paragraph(page, PAGE_PLAIN, 0, "%s",
		       field_text(json_object_get(incident, "event"), "summary"));
	if (!field_true(incident, "complete"))
		page_line(page, PAGE_WARN,
			  "netflowd has not copied its numbers yet; ask again in some seconds");
	if (field_true(reply, "damaged"))
		page_line(page, PAGE_WARN, "Parts of the history's file are damaged and left out.");
	if (json_array_size(drops)) {
		put_title(page, "drops");
		r = put_drops(page, drops);
	}
	if (!r && json_array_size(json_object_get(reply, "segments"))) {
		put_title(page, "latency");
		r = put_segments(page, json_object_get(reply, "segments"));
	}
	put_drop_records(page, reply, today.s);
	put_newest(page, json_object_get(reply, "latency_records"),
		   field_count_or(reply, "latency_records_matched", 0), "slow and sampled journeys",
		   today.s, timeline_put);
	put_newest(page, json_object_get(reply, "slots_records"),
		   field_count_or(reply, "slots_records_matched", 0), "transmits near the limit",
		   today.s, slot_layout_put);
	return session_print(page, r);
}

/* ---- the command --------------------------------------------------------------------------- */

/* "show ID": the words of the command line, joined by a blank. */
static enum report_status show(struct session *session, const char *words)
{
	const char *id = !strncmp(words, "show ", 5) ? words + 5 : "";
	uint64_t number;

	if (value_count(id, INT64_MAX, &number) < 0 || !number) {
		report("unexpected argument '%.60s' of incidents; use `netflowctl incidents show ID`, with an ID of the list",
		       words);
		return REPORT_USAGE;
	}
	return session_show(session, SHOW_METHOD,
			    session_parameters("id", json_integer((json_int_t)number), NULL), 0,
			    print_incident, NULL);
}

static enum report_status run(struct session *session)
{
	if (session->filter)
		return show(session, session->filter);
	return session_show(session, LIST_METHOD,
			    session_parameters("limit", session_records_limit(session), NULL), 0,
			    print_list, NULL);
}

const struct command command_incidents = {
	.name = "incidents",
	.summary = "list the alerts that fired, or show the five minutes before one",
	.arguments = arguments,
	.word = "[show ID]",
	.words = true,
	.notes =
		"netflowd keeps the numbers and records of the five minutes before an alert fired four times as long as all others (setting history.age), the newest 100.\n"
		"A rule that fires again within five minutes has one incident.\n",
	.run = run,
};
