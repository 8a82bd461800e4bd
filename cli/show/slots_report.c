/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/slots_report.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/period.h"
#include "cli/terminal/chart.h"
#include "cli/terminal/table.h"
#include "common/array.h"

#define BAR_COLUMNS 40
#define INDENT 2

/* ---- a device ------------------------------------------------------------ */

static uint64_t most(const json_t *histogram)
{
	const json_t *bucket;
	uint64_t max = 0;
	size_t i;

	json_array_foreach(histogram, i, bucket)
	{
		uint64_t count = field_count_or(bucket, "count", 0);

		if (count > max)
			max = count;
	}
	return max;
}

static const char *meaning(uint64_t slots, uint64_t limit)
{
	if (slots > limit)
		return "overflow";
	return slots + 1 >= limit ? "near miss" : "";
}

static void put_bucket(struct table *table, const json_t *bucket, const json_t *device,
		       uint64_t limit, uint64_t max, bool utf8)
{
	uint64_t slots = field_count_or(bucket, "slots", 0);
	uint64_t count = field_count_or(bucket, "count", 0);
	enum page_style style = slots > limit	     ? PAGE_BAD
				: slots + 1 >= limit ? PAGE_WARN
						     : PAGE_PLAIN;

	table_row(table);
	table_cell(table, style, "%s%s", units_count(slots).s,
		   field_true(bucket, "or_more") ? "+" : "");
	table_cell(table, PAGE_PLAIN, "%s", units_count(count).s);
	table_cell(table, PAGE_PLAIN, "%s",
		   units_share(count, field_count_or(device, "transmits", 0)).s);
	table_cell(table, style, "%s", meaning(slots, limit));
	table_cell(table, style, "%s", chart_bar(count, max, BAR_COLUMNS, utf8).s);
}

/* "4 overflows: 3 linearized, 1 dropped". */
static void put_outcomes(struct page *page, const json_t *device)
{
	static const char *const names[] = {"linearized", "dropped", "sent", "requeued", "unseen"};
	const json_t *outcomes = json_object_get(device, "outcomes");
	uint64_t overflows = field_count_or(device, "overflows", 0);
	const char *between = ": ";

	page_put(page, overflows ? PAGE_BAD : PAGE_GOOD, "%s overflow%s", units_count(overflows).s,
		 overflows == 1 ? "" : "s");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!field_count_or(outcomes, names[i], 0))
			continue;
		page_put(page, PAGE_PLAIN, "%s%s %s", between,
			 field_units_count(outcomes, names[i]).s, names[i]);
		between = ", ";
	}
}

static void put_summary(struct page *page, const json_t *device, uint64_t limit)
{
	uint64_t near = field_count_or(device, "near_misses", 0);

	page_put(page, PAGE_TITLE, "%s", field_text_or(device, "device", "(all other devices)"));
	if (json_object_get(device, "netns"))
		page_put(page, PAGE_PLAIN, "  netns %s", field_units_number(device, "netns").s);
	page_line(page, PAGE_PLAIN, "  %s transmits, limit %s slots%s",
		  field_units_count(device, "transmits").s, units_count(limit).s,
		  field_true(device, "xen") ? " (xen-netfront)"
					    : "; not a Xen device: the limit has no effect");
	page_pad(page, INDENT, 0);
	put_outcomes(page, device);
	page_put(page, near ? PAGE_WARN : PAGE_PLAIN, "; %s near miss%s", units_count(near).s,
		 near == 1 ? "" : "es");
	if (field_count_or(device, "too_big", 0))
		page_put(page, PAGE_BAD, "; %s too big for Xen's wire format, dropped",
			 field_units_count(device, "too_big").s);
	page_end(page);
}

int slots_put_device(struct page *page, const json_t *device, uint64_t limit)
{
	const json_t *histogram = json_object_get(device, "histogram"), *bucket;
	bool utf8 = page_term(page)->utf8;
	OWN_TABLE struct table *table = NULL;
	uint64_t max = most(histogram);
	size_t i;
	int r = table_new(&table, page_term(page), INDENT);

	if (r)
		return r;
	put_summary(page, device, limit);
	table_column(table, TABLE_RIGHT, "slots");
	table_column(table, TABLE_RIGHT, "transmits");
	table_column(table, TABLE_RIGHT, "share");
	table_column(table, TABLE_LEFT, "");
	table_column(table, TABLE_LEFT, "");
	json_array_foreach(histogram, i, bucket)
		put_bucket(table, bucket, device, limit, max, utf8);
	return table_put(table, page);
}

/* ---- the remedy ---------------------------------------------------------- */

/* The overflows of a device for which the daemon holds records. */
struct evidence {
	uint64_t records;
	uint64_t gso; /* records of GSO packets */
};

static bool same_device(const json_t *device, const json_t *record)
{
	return !strcmp(field_text(device, "device"), field_text(record, "device")) &&
	       field_count_or(device, "netns", 0) == field_count_or(record, "netns", 0);
}

static struct evidence evidence_of(const json_t *device, const json_t *records)
{
	struct evidence e = {0};
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
	{
		if (strcmp(field_text(record, "kind"), "overflow") != 0 ||
		    !same_device(device, record))
			continue;
		e.records++;
		e.gso += field_count_or(record, "gso_size", 0) > 0;
	}
	return e;
}

/* The effect of overflows on this host, as their outcomes show it: drivers of different kernels act differently. */
static void put_effect(struct page *page, const json_t *device)
{
	const json_t *outcomes = json_object_get(device, "outcomes");
	uint64_t linearized = field_count_or(outcomes, "linearized", 0);
	uint64_t dropped = field_count_or(outcomes, "dropped", 0);

	if (linearized && dropped)
		page_paragraph(
			page, PAGE_BAD, INDENT,
			"This kernel linearizes such packets, but found no contiguous memory for %s of them and dropped those.",
			units_count(dropped).s);
	else if (linearized)
		page_paragraph(
			page, PAGE_PLAIN, INDENT,
			"This kernel linearizes such packets and sends them: none was lost. Each costs a copy and up to 64 KiB of contiguous memory; without that memory, the kernel would drop the packet.");
	else if (dropped)
		page_paragraph(page, PAGE_BAD, INDENT,
			       "This kernel drops such packets; dropped so far: %s.",
			       units_count(dropped).s);
}

static void put_command(struct page *page, const char *name, const char *feature, const char *cost)
{
	page_paragraph(page, PAGE_PLAIN, INDENT, "  ethtool -K %s %s off   %s", name, feature,
		       cost);
}

void slots_put_remedy(struct page *page, const json_t *device, const json_t *records)
{
	const char *name = field_text_or(device, "device", NULL);
	struct evidence e;

	if (!field_count_or(device, "overflows", 0) || !field_true(device, "xen") || !name)
		return;
	e = evidence_of(device, records);
	page_line(page, PAGE_TITLE, "remedy for %s", name);
	put_effect(page, device);
	if (e.records)
		page_paragraph(
			page, PAGE_PLAIN, INDENT,
			"Overflows with a record: %s. GSO packets, built from many writes: %s. All others were built from small fragments.",
			units_count(e.records).s, units_count(e.gso).s);
	if (e.gso || !e.records) {
		put_command(
			page, name, "tso",
			"the kernel cuts TCP packets to the MTU before the driver, so none exceeds the limit; costs CPU time per packet and some throughput");
		put_command(
			page, name, "gso",
			"if overflows continue: TCP then builds packets of that size from the start; costs more CPU time");
	}
	if (e.gso < e.records || !e.records)
		put_command(
			page, name, "sg",
			"for packets without GSO: the kernel linearizes every packet before the driver; also turns tso and gso off");
}

/* ---- without devices, and the kernel log ---------------------------------- */

void slots_put_nothing(struct page *page, const json_t *reply)
{
	const json_t *xen = json_object_get(reply, "xen"), *named = json_object_get(reply, "named");
	bool watched = !strcmp(field_text(xen, "state"), "attached") ||
		       !strcmp(field_text(named, "state"), "attached");

	if (watched || json_object_get(reply, "period")) {
		page_put(page, PAGE_PLAIN, "netflowd has seen no transmit");
		period_put_since(page, reply);
		page_line(page, PAGE_PLAIN, ".");
	} else {
		page_paragraph(page, PAGE_PLAIN, 0, "No data: %s; %s.", field_text(xen, "reason"),
			       field_text(named, "reason"));
	}
}

void slots_put_log(struct page *page, const json_t *reply, const char *now)
{
	const json_t *log = json_object_get(reply, "log"), *rocket;
	uint64_t unseen = field_count_or(log, "unseen", 0);
	size_t i;

	if (!field_count_or(log, "rockets", 0))
		return;
	page_end(page);
	page_put(page, PAGE_TITLE, "kernel log");
	page_line(page, unseen ? PAGE_BAD : PAGE_PLAIN,
		  "  %s rockets, of which the probe missed %s", field_units_count(log, "rockets").s,
		  units_count(unseen).s);
	json_array_foreach(json_object_get(log, "newest"), i, rocket)
	{
		page_pad(page, INDENT, 0);
		page_line(page, PAGE_PLAIN, "%s  %s  %s slots, %s B  %s",
			  field_time(rocket, "time", now).s, field_text(rocket, "device"),
			  field_units_count(rocket, "slots").s,
			  field_units_count(rocket, "length_bytes").s, field_text(rocket, "state"));
	}
}
