/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/elsewhere.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/terminal/page.h"
#include "cli/terminal/table.h"
#include "common/units.h"

static bool is_fault(const json_t *row)
{
	return !strcmp(field_text(row, "class"), "fault");
}

/* Whether netflowd recorded at least as many drops on the device: then they can be the same packets. */
static bool is_explained(const json_t *row)
{
	uint64_t recorded;

	return field_true(row, "overlaps") && field_count(row, "recorded", &recorded) &&
	       recorded >= field_count_or(row, "packets", 0);
}

/* How many of the packets can be in netflowd's own counters too. */
static void put_overlap(struct table *table, const json_t *row)
{
	uint64_t recorded, packets = field_count_or(row, "packets", 0);

	if (!field_true(row, "overlaps"))
		table_cell(table, PAGE_PLAIN, "none");
	else if (field_count(row, "recorded", &recorded))
		table_cell(table, PAGE_PLAIN, "%s%s", recorded ? "at most " : "",
			   recorded ? units_count(recorded < packets ? recorded : packets).s
				    : "none");
	else
		table_cell(table, PAGE_PLAIN, "some");
}

static void put_row(struct table *table, const json_t *row)
{
	uint64_t netns;

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "packets").s);
	table_cell(table, is_fault(row) ? PAGE_BAD : PAGE_PLAIN, "%s", field_text(row, "class"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "source"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "counter"));
	table_cell(table, PAGE_PLAIN, "%s",
		   field_true(row, "gone") ? "(deleted)" : field_text(row, "device"));
	if (field_count(row, "netns", &netns))
		table_cell(table, PAGE_PLAIN, "%llu", (unsigned long long)netns);
	else
		table_cell(table, PAGE_PLAIN, "-");
	put_overlap(table, row);
	table_cell(table, PAGE_DIM, "%s", field_text(row, "why"));
}

static void put_left_out(struct page *page, uint64_t explained, uint64_t left_out)
{
	if (explained)
		page_line(
			page, PAGE_DIM,
			"Further counters that may only repeat netflowd's own drops on the same device: %s; --all shows them.",
			units_count(explained).s);
	if (left_out)
		page_line(page, PAGE_WARN,
			  "Further counters that moved and that netflowd does not list: %s.",
			  units_count(left_out).s);
}

bool elsewhere_leads(const json_t *reply)
{
	const json_t *rows = json_object_get(json_object_get(reply, "elsewhere"), "rows"), *row;
	const json_t *drops = json_object_get(reply, "rows");
	uint64_t most = 0;
	size_t i;

	json_array_foreach(drops, i, row)
	{
		uint64_t packets = field_count_or(row, "packets", 0);

		if (is_fault(row) && packets > most)
			most = packets;
	}
	json_array_foreach(rows, i, row)
	{
		if (is_fault(row) && !is_explained(row) && field_count_or(row, "packets", 0) > most)
			return true;
	}
	return false;
}

/* Put the faults or all other rows in the daemon's order, if `shown`.  `explained` counts those left out. */
static void put_class(struct table *table, const json_t *rows, bool faults, bool shown, bool all,
		      uint64_t *explained)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (is_fault(row) != faults)
			continue;
		if (!all && is_explained(row))
			++*explained;
		else if (shown)
			put_row(table, row);
	}
}

int elsewhere_put(struct page *page, const json_t *reply, enum elsewhere_part part, bool all)
{
	const json_t *elsewhere = json_object_get(reply, "elsewhere");
	const json_t *rows = json_object_get(elsewhere, "rows");
	OWN_TABLE struct table *table = NULL;
	uint64_t explained = 0;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_RIGHT, "packets");
	table_column(table, TABLE_LEFT, "class");
	table_column(table, TABLE_LEFT, "source");
	table_column(table, TABLE_LEFT, "counter");
	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_LEFT, "netns");
	table_column(table, TABLE_LEFT, "in drops");
	table_column(table, TABLE_LEFT, "why not seen");
	put_class(table, rows, true, part & ELSEWHERE_FAULTS, all, &explained);
	put_class(table, rows, false, part & ELSEWHERE_OTHERS, all, &explained);
	if (table_rows(table)) {
		page_line(page, PAGE_TITLE, "Counted by the kernel, not seen by netflowd:");
		r = table_put(table, page);
	}
	if (part & ELSEWHERE_OTHERS)
		put_left_out(page, explained, field_count_or(elsewhere, "left_out", 0));
	return r;
}

/* ---- status -------------------------------------------------------------------- */

static void put_name(struct page *page, const char *name, size_t column)
{
	page_put(page, PAGE_PLAIN, "  %s", name);
	page_pad(page, column, 2);
}

static void put_bypass(struct page *page, const json_t *bypass, size_t column)
{
	uint64_t netns;

	put_name(page, "bypass", column);
	if (json_object_get(bypass, "sockets"))
		page_put(page, PAGE_PLAIN, "%s %s", field_units_count(bypass, "sockets").s,
			 !strcmp(field_text(bypass, "kind"), "xdp_sockets")
				 ? "AF_XDP sockets"
				 : "AF_PACKET sockets (only those with PACKET_QDISC_BYPASS)");
	else
		page_put(page, PAGE_PLAIN, "%s on %s, program %s", field_text(bypass, "kind"),
			 field_text(bypass, "device"), field_units_number(bypass, "program").s);
	if (field_count(bypass, "netns", &netns))
		page_put(page, PAGE_PLAIN, ", netns %llu", (unsigned long long)netns);
	page_end(page);
}

void elsewhere_put_scan(struct page *page, const json_t *status, size_t column)
{
	const json_t *scan = json_object_get(status, "elsewhere"), *bypass;
	uint64_t late = field_count_or(scan, "late_ns", 0);
	uint64_t left_out = field_count_or(scan, "bypasses_left_out", 0);
	size_t i;

	if (!scan)
		return;
	put_name(page, "scan", column);
	if (!field_count_or(scan, "interval_ns", 0)) {
		page_line(page, PAGE_PLAIN, "off (elsewhere.interval)");
		return;
	}
	page_put(page, PAGE_PLAIN, "every %s", field_units_duration(scan, "interval_ns").s);
	if (late)
		page_put(page, PAGE_WARN, ", now %s late because scans are expensive on this host",
			 units_duration(late).s);
	if (json_object_get(scan, "time"))
		page_paragraph(
			page, PAGE_PLAIN, column,
			"; the last one took %s (%s of CPU time) for %s devices in %s namespaces",
			field_units_duration(scan, "took_ns").s,
			field_units_duration(scan, "cpu_ns").s,
			field_units_count(scan, "devices").s,
			field_units_count(scan, "namespaces").s);
	else
		page_end(page);
	if (json_object_get(scan, "error")) {
		put_name(page, "error", column);
		page_paragraph(page, PAGE_WARN, column, "%s", field_text(scan, "error"));
	}
	json_array_foreach(json_object_get(scan, "bypasses"), i, bypass)
		put_bypass(page, bypass, column);
	if (left_out) {
		put_name(page, "bypass", column);
		page_line(page, PAGE_WARN, "and %s that are not listed", units_count(left_out).s);
	}
}
