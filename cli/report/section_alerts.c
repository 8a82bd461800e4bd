/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "cli/ask/covered.h"
#include "cli/ask/field.h"
#include "cli/report/sections.h"
#include "common/array.h"

static void put_advice(struct html *html, const json_t *alert)
{
	html_title(html, "%s: %s", field_text(alert, "name"), field_text(alert, "summary"));
	html_markup(html, "<h4>Likely cause</h4>\n");
	html_advice(html, field_text(alert, "cause"));
	html_markup(html, "<h4>Remedy</h4>\n");
	html_advice(html, field_text(alert, "remedy"));
}

/* ---- in the period ------------------------------------------------------------------------- */

static void put_events(struct html *html, const json_t *events, uint64_t matched)
{
	static const struct html_column columns[] = {
		{"time", false},     {"change", false},	 {"alert", false},
		{"severity", false}, {"summary", false},
	};
	const json_t *event;
	size_t i;

	html_table(html, "changes of alerts", columns, ARRAY_SIZE(columns));
	json_array_foreach(events, i, event)
	{
		const json_t *alert = json_object_get(event, "alert");
		bool fired = !strcmp(field_text(event, "change"), "fired");

		html_row(html);
		html_cell(html, HTML_PLAIN, "%s", field_time(event, "time", NULL).s);
		html_cell(html, fired ? HTML_BAD : HTML_PLAIN, "%s%s%s",
			  field_text(event, "change"), field_true(event, "test") ? ", test" : "",
			  field_true(event, "silenced") ? ", silenced" : "");
		html_cell(html, HTML_PLAIN, "%s", field_text(alert, "name"));
		html_cell(html, HTML_PLAIN, "%s", field_text(alert, "severity"));
		html_cell(html, HTML_PLAIN, "%s", field_text(event, "summary"));
	}
	html_table_end(html);
	if (matched > json_array_size(events))
		html_paragraph(html, HTML_DIM, "%s older changes are not shown.",
			       units_count(matched - json_array_size(events)).s);
}

/* Whether a later event is about the same rule: then that one has the newer advice. */
static bool is_newest(const json_t *events, size_t event)
{
	const json_t *alert = json_object_get(json_array_get(events, event), "alert");

	for (size_t i = event + 1; i < json_array_size(events); i++) {
		const json_t *later = json_object_get(json_array_get(events, i), "alert");

		if (!strcmp(field_text(later, "name"), field_text(alert, "name")))
			return false;
	}
	return true;
}

static void put_incidents(struct html *html, const json_t *incidents)
{
	const json_t *incident;
	size_t i;

	if (!json_array_size(incidents))
		return;
	html_title(html, "Incidents");
	html_paragraph(html, HTML_DIM,
		       "netflowd keeps the numbers and records of the five minutes before each.");
	html_markup(html, "<pre>");
	json_array_foreach(incidents, i, incident)
	{
		html_text(html, "$ netflowctl incidents show %s   # %s, %s",
			  field_units_number(incident, "id").s, field_text(incident, "rule"),
			  field_date(incident, "time").s);
		html_markup(html, "\n");
	}
	html_markup(html, "</pre>\n");
}

static void put_past(struct html *html, const struct model *model)
{
	const json_t *events = json_object_get(model->events, "events"), *event;
	size_t i;

	if (!json_array_size(events)) {
		if (covered_whole(json_object_get(model->events, "period")) && model->events)
			html_paragraph(html, HTML_GOOD, "No alert fired or was resolved.");
		else
			html_paragraph(
				html, HTML_WARN,
				"The history has no alert, but it does not cover all of this time.");
		return;
	}
	put_events(html, events, field_count_or(model->events, "matched", 0));
	json_array_foreach(events, i, event)
	{
		if (is_newest(events, i))
			put_advice(html, json_object_get(event, "alert"));
	}
	put_incidents(html, json_object_get(model->incidents, "incidents"));
}

/* ---- now ----------------------------------------------------------------------------------- */

static void put_now(struct html *html, const struct model *model)
{
	const json_t *alerts = json_object_get(model->alerts, "alerts"), *alert;
	size_t i, firing = 0, enabled = 0, unknown = 0;

	json_array_foreach(alerts, i, alert)
	{
		enabled += field_true(alert, "enabled");
		unknown += field_true(alert, "enabled") && json_object_get(alert, "unknown");
		firing += !strcmp(field_text(alert, "state"), "firing");
	}
	html_paragraph(html, firing ? HTML_BAD : HTML_PLAIN,
		       "When this page was written, %zu of %zu enabled rules fired.", firing,
		       enabled);
	if (unknown)
		html_paragraph(
			html, HTML_WARN,
			"netflowd cannot evaluate %zu of them; `netflowctl alerts` says why.",
			unknown);
	json_array_foreach(alerts, i, alert)
	{
		if (!model->past && !strcmp(field_text(alert, "state"), "firing"))
			put_advice(html, alert);
	}
}

void section_alerts(struct html *html, const struct model *model)
{
	html_section(html, "alerts", "Alerts");
	if (model->past)
		put_past(html, model);
	put_now(html, model);
	html_section_end(html);
}
