/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/diff/page.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/session.h"
#include "cli/diff/diff.h"
#include "cli/diff/quantiles.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/segment_name.h"

static const char *const letters[2] = {"A", "B"};

/* ---- the recordings -------------------------------------------------------------------------- */

static void put_recording(struct page *page, const char *letter, const json_t *recording)
{
	page_put(page, PAGE_TITLE, "%s", letter);
	page_put(page, PAGE_PLAIN, "  %s: %s events", field_text(recording, "file"),
		 field_units_count(recording, "events").s);
	page_put(page, PAGE_PLAIN, " in %s", field_units_duration(recording, "duration_ns").s);
	if (field_true(recording, "dated") && json_object_get(recording, "from"))
		page_put(page, PAGE_PLAIN, " from %s", field_date(recording, "from").s);
	page_end(page);
}

static void put_losses(struct page *page, const char *letter, const json_t *recording)
{
	uint64_t lost = field_count_or(recording, "lost", 0);
	uint64_t losses = field_count_or(recording, "losses", 0);

	if (lost)
		page_paragraph(
			page, PAGE_WARN, 0,
			"%s lost at least %s events in %s gaps, so its counts are too small, and packets in the gaps have no latency.",
			letter, units_count(lost).s, units_count(losses).s);
	else if (losses)
		page_paragraph(
			page, PAGE_WARN, 0,
			"%s lost events in %s gaps, it is not known how many, so its counts are too small.",
			letter, units_count(losses).s);
}

static void put_unreadable(struct page *page, const char *letter, const json_t *recording)
{
	uint64_t unreadable = field_count_or(recording, "unreadable", 0);

	if (unreadable)
		page_paragraph(page, PAGE_WARN, 0,
			       "%s has %s events that cannot be read; they are not in its counts.",
			       letter, units_count(unreadable).s);
}

/* "not in A: sk_data_ready", for all probes that the same recordings lack. */
static void put_missing(struct page *page, const json_t *diff)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(diff, "missing"), i, row)
	{
		const json_t *lacking = json_object_get(row, "lacking");
		const char *which = json_string_value(json_array_get(lacking, 0));
		bool both = json_array_size(lacking) == 2;

		page_paragraph(page, both ? PAGE_DIM : PAGE_WARN, 2,
			       "not in %s: %s: %s (lost without it: %s)",
			       both ? "A and B"
			       : strcmp(which ? which : "", "a") ? letters[1]
								 : letters[0],
			       field_text(row, "probe"), field_text(row, "reason"),
			       field_text(row, "lost_without"));
	}
}

/* The reason why a question has no full answer; NULL: a line about a missing probe says it. */
static const char *reason_of(const json_t *diff, const json_t *row, size_t side)
{
	const char *reason = field_text_or(row, side ? "b_reason" : "a_reason", NULL);
	const json_t *missing;
	size_t i;

	json_array_foreach(json_object_get(diff, "missing"), i, missing)
	{
		const char *probe = field_text(missing, "probe");

		if (reason && !strncmp(reason, probe, strlen(probe)))
			return NULL;
	}
	return reason;
}

static void put_coverage(struct page *page, const json_t *diff)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(diff, "coverage"), i, row)
	{
		page_put(page, PAGE_WARN, "%s: ", field_text(row, "question"));
		for (size_t side = 0; side < 2; side++) {
			const char *reason = reason_of(diff, row, side);

			page_put(page, PAGE_WARN, "%s%s in %s%s%s", side ? "; " : "",
				 field_text(row, diff_names[side]), letters[side],
				 reason ? ": " : "", reason ? reason : "");
		}
		page_end(page);
	}
}

/* ---- drops ------------------------------------------------------------------------------------- */

static enum page_style mark_style(const char *mark)
{
	static const char *const worse[] = {"new", "more", "slower"};

	for (size_t i = 0; i < ARRAY_SIZE(worse); i++)
		if (!strcmp(mark, worse[i]))
			return PAGE_BAD;
	return PAGE_GOOD;
}

static struct units_text rate_of(const json_t *row, const char *side)
{
	double per_second;

	if (!field_real(json_object_get(row, side), "per_second", &per_second))
		return units_unknown();
	return units_rate(per_second);
}

static void put_cause(struct table *table, const json_t *row)
{
	static const char *const names[] = {"reason", "class", "function", "device", "protocol"};
	const char *mark = field_text_or(row, "mark", "");

	table_row(table);
	table_cell(table, mark_style(mark), "%s", mark);
	for (size_t side = 0; side < 2; side++)
		table_cell(table, PAGE_PLAIN, "%s",
			   field_units_count(json_object_get(row, diff_names[side]), "packets").s);
	for (size_t side = 0; side < 2; side++)
		table_cell(table, PAGE_PLAIN, "%s", rate_of(row, diff_names[side]).s);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, names[i]));
}

static int put_causes(struct page *page, const json_t *rows, size_t most)
{
	static const char *const numbers[] = {"A", "B", "A rate", "B rate"};
	static const char *const names[] = {"reason", "class", "function", "device", "protocol"};
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		table_column(table, TABLE_RIGHT, numbers[i]);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		table_column(table, TABLE_LEFT, names[i]);
	json_array_foreach(rows, i, row) if (i < most) put_cause(table, row);
	r = table_put(table, page);
	if (!r)
		session_put_rest(page, i < most ? i : most, i);
	return r;
}

static int put_drops(struct page *page, const json_t *drops, size_t most)
{
	const json_t *rows = json_object_get(drops, "rows");

	page_end(page);
	page_line(page, PAGE_TITLE, "drops");
	if (!field_true(drops, "compared")) {
		page_line(page, PAGE_WARN, "Drops are not compared: %s.",
			  field_text(drops, "reason"));
		return 0;
	}
	if (!field_true(drops, "by_reason"))
		page_paragraph(
			page, PAGE_WARN, 0,
			"Reasons are not compared, because one recording does not have those of the kernel.");
	if (!json_array_size(rows)) {
		page_line(page, PAGE_PLAIN, "Neither recording shows a dropped packet.");
		return 0;
	}
	return put_causes(page, rows, most);
}

/* ---- latency ----------------------------------------------------------------------------------- */

/* "slower 30.1 ms" */
static void put_quantile(struct table *table, const json_t *numbers, const json_t *result,
			 const struct diff_quantile *quantile)
{
	const char *mark = field_text_or(result, "mark", "");

	table_cell(table, mark[0] ? mark_style(mark) : PAGE_PLAIN, "%s%s%s", mark,
		   mark[0] ? " " : "", field_units_duration(numbers, quantile->member).s);
}

/* Why a segment is not compared: the probe, or that no packet passed it. */
static void put_note(struct table *table, const json_t *segment)
{
	const json_t *probe = json_array_get(json_object_get(segment, "missing"), 0);

	if (field_true(segment, "compared"))
		table_cell(table, PAGE_PLAIN, "%s", "");
	else if (probe)
		table_cell(table, PAGE_WARN, "not compared: %s", json_string_value(probe));
	else
		table_cell(table, PAGE_DIM, "not in %s",
			   letters[json_object_get(segment, "a") ? 1 : 0]);
}

static void put_segment(struct table *table, const json_t *segment)
{
	const json_t *results = json_object_get(segment, "quantiles");

	for (size_t side = 0; side < 2; side++) {
		const json_t *numbers = json_object_get(segment, diff_names[side]);

		table_row(table);
		if (side)
			table_cell(table, PAGE_PLAIN, "%s", "");
		else
			table_cell(table, PAGE_PLAIN, "%s %s", field_text(segment, "direction"),
				   segment_name_text(field_text(segment, "segment")).s);
		table_cell(table, PAGE_DIM, "%s", letters[side]);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(numbers, "count").s);
		for (size_t q = 0; q < DIFF_QUANTILES; q++)
			put_quantile(table, numbers,
				     side ? json_object_get(results, diff_quantiles[q].name) : NULL,
				     &diff_quantiles[q]);
		if (!side)
			put_note(table, segment);
	}
}

static int put_latency(struct page *page, const json_t *latency)
{
	static const char *const numbers[] = {"count", "p50", "p90", "p99", "p99.9"};
	const json_t *segments = json_object_get(latency, "segments"), *segment;
	OWN_TABLE struct table *table = NULL;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	page_end(page);
	page_line(page, PAGE_TITLE, "latency, all devices");
	if (!json_array_size(segments)) {
		page_line(page, PAGE_PLAIN, "Neither recording shows a segment.");
		return 0;
	}
	table_column(table, TABLE_LEFT, "segment");
	table_column(table, TABLE_LEFT, "");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		table_column(table, TABLE_RIGHT, numbers[i]);
	table_column(table, TABLE_LEFT, "");
	json_array_foreach(segments, i, segment) put_segment(table, segment);
	return table_put(table, page);
}

/* ---- all of it --------------------------------------------------------------------------------- */

static void put_notes(struct page *page, const json_t *diff)
{
	uint64_t drops = field_count_or(json_object_get(diff, "drops"), "tests", 0);
	uint64_t latency = field_count_or(json_object_get(diff, "latency"), "tests", 0);

	page_end(page);
	page_paragraph(
		page, PAGE_DIM, 0,
		"Marks are significant at 1 %% per table (Holm's method). Tests with enough packets: %s of drops, %s of quantiles. A quantile has a mark only if it differs by more than 12.5 %%. The same work also differs from one run to the next: compare two recordings of it before you trust a mark.",
		units_count(drops).s, units_count(latency).s);
}

int diff_put(struct page *page, const json_t *diff, size_t most)
{
	int r;

	for (size_t side = 0; side < 2; side++)
		put_recording(page, letters[side], json_object_get(diff, diff_names[side]));
	for (size_t side = 0; side < 2; side++) {
		const json_t *recording = json_object_get(diff, diff_names[side]);

		put_losses(page, letters[side], recording);
		put_unreadable(page, letters[side], recording);
	}
	put_missing(page, diff);
	put_coverage(page, diff);
	r = put_drops(page, json_object_get(diff, "drops"), most);
	if (!r)
		r = put_latency(page, json_object_get(diff, "latency"));
	put_notes(page, diff);
	return r;
}
