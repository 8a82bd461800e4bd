/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/frame.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/coverage.h"
#include "cli/show/ledger.h"
#include "cli/terminal/chart.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "common/array.h"
#include "common/segment_name.h"

/* Those that tell most: the others are shown by `netflowctl latency`. */
static const enum reading_segment_id shown_segments[] = {
	READING_IRQ_TO_SOFTIRQ,	 READING_SOFTIRQ_TO_RECEIVE, READING_WAKEUP_TO_RUN,
	READING_RECEIVE_TO_COPY, READING_RX_TOTAL,	     READING_FORWARD_TOTAL,
	READING_QUEUE_TO_START,	 READING_START_TO_XMIT,	     READING_XMIT_TO_FREE,
};

#define NAME_COLUMN 11
#define PART_GAP " · "
#define RATE_WIDTH 9
#define TOTAL_WIDTH 13
#define DURATION_WIDTH 8
#define SEGMENT_WIDTH 20
/* The latency table left of its histograms: five columns of numbers, gaps of two. */
#define CHART_START (SEGMENT_WIDTH + RATE_WIDTH + 3 * DURATION_WIDTH + 5 * 2)
#define CHART_MIN 8
#define CHART_MAX 40
/* Lines below the drops: one to say that there are more, a blank, the latency table, its axis. */
#define LINES_BELOW (2 + 1 + ARRAY_SIZE(shown_segments) + 1)
#define DROPS_MIN 3
#define DROPS_DEFAULT 10

void frame_done(struct frame *frame)
{
	json_decref(frame->measured);
	frame->measured = NULL;
}

static struct units_text rate_text(double per_second)
{
	return per_second < 0 ? units_unknown() : units_rate(per_second);
}

static void put_name(struct page *page, const char *name)
{
	page_put(page, PAGE_TITLE, "%s", name);
	page_pad(page, NAME_COLUMN, 1);
}

/* The next of several parts of a line, on another line where this one is full. */
__attribute__((format(printf, 3, 4))) static void put_part(struct page *page, enum page_style style,
							   const char *format, ...)
{
	const struct term *term = page_term(page);
	OWN_FREE char *text = NULL;
	OWN_FREE char *printable = NULL;
	size_t column = page_column(page);
	va_list list;
	int len;

	va_start(list, format);
	len = vasprintf(&text, format, list);
	va_end(list);
	if (len < 0)
		text = NULL;
	printable = text ? text_printable(text, term->utf8) : NULL;
	if (!printable)
		return;
	if (column > NAME_COLUMN) {
		if (term->columns &&
		    column + text_width(PART_GAP) + text_width(printable) > term->columns) {
			page_end(page);
			page_pad(page, NAME_COLUMN, 0);
		} else {
			page_put(page, PAGE_DIM, "%s", PART_GAP);
		}
	}
	page_put(page, style, "%s", text);
}

static void put_header(struct page *page, const json_t *status, int64_t interval_ms)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *host = json_object_get(status, "host");
	struct field_time time = field_time(status, "time", field_text(status, "time"));

	put_name(page, "netflowd");
	put_part(page, PAGE_PLAIN, "%s", field_text(host, "name"));
	put_part(page, PAGE_PLAIN, "%.8s", time.s);
	put_part(page, PAGE_PLAIN, "up %s", field_units_duration(daemon, "uptime_ns").s);
	put_part(page, PAGE_PLAIN, "every %g s", (double)interval_ms / 1000);
	put_part(page, PAGE_DIM, "Linux %s", field_text(host, "kernel"));
	page_end(page);
}

static void put_packets(struct page *page, const struct reading *reading)
{
	static const char *const words[READING_PACKETS_COUNT] = {
		[READING_RECEIVED] = "received",
		[READING_DELIVERED] = "delivered",
		[READING_TRANSMITTED] = "transmitted",
		[READING_DROPPED] = "dropped",
	};

	put_name(page, "packets");
	for (size_t i = 0; i < READING_PACKETS_COUNT; i++) {
		double per_second = reading->packets_per_second[i];
		bool bad = i == READING_DROPPED && per_second > 0;

		/* as wide for all rates: the line must not break now here, now there */
		put_part(page, bad ? PAGE_BAD : PAGE_PLAIN, "%s %-8s", words[i],
			 rate_text(per_second).s);
	}
	page_end(page);
}

static void put_cost(struct page *page, const struct frame *frame, const json_t *status)
{
	const json_t *cost = json_object_get(status, "cost");

	put_name(page, "cost");
	put_part(page, PAGE_PLAIN, "daemon %s CPU, %s",
		 field_units_percent(cost, "daemon_cpu_now_percent").s,
		 field_units_bytes(cost, "resident_bytes").s);
	put_part(page, PAGE_PLAIN, "programs %s CPU",
		 field_units_percent(frame->measured, "programs_cpu_percent").s);
	put_part(page, PAGE_PLAIN, "tables %s", field_units_bytes(cost, "tables_bytes").s);
	page_end(page);
}

/* Journeys whose end was not seen. */
static struct units_text lost_text(const json_t *inflight)
{
	uint64_t overwritten, invalidated;

	if (!field_count(inflight, "overwritten", &overwritten) ||
	    !field_count(inflight, "invalidated", &invalidated))
		return units_unknown();
	return units_count(overwritten + invalidated);
}

static void put_ledger(struct page *page, const json_t *status)
{
	const json_t *drops = json_object_get(status, "drops");
	const json_t *inflight = json_object_get(status, "inflight");
	struct ledger_verdict verdict = ledger_verdict(status);

	put_name(page, "ledger");
	put_part(page, verdict.style, "%s", verdict.text);
	put_part(page, PAGE_PLAIN, "in flight %s", field_units_count(inflight, "in_flight").s);
	put_part(page, PAGE_PLAIN, "journeys lost %s", lost_text(inflight).s);
	put_part(page, PAGE_PLAIN, "records throttled %s", field_units_count(drops, "throttled").s);
	if (field_count_or(drops, "ring_full", 0))
		put_part(page, PAGE_WARN, "ring full %s", field_units_count(drops, "ring_full").s);
	if (field_count_or(drops, "missed", 0) + field_count_or(inflight, "missed", 0))
		put_part(page, PAGE_WARN, "not seen %s drops, %s runs",
			 field_units_count(drops, "missed").s,
			 field_units_count(inflight, "missed").s);
	page_end(page);
}

/* ---- drops --------------------------------------------------------------- */

/* Rows for drops: what the screen has between the lines above, the header, and the lines below. */
static size_t drops_limit(const struct page *page)
{
	size_t rows = page_rows_left(page);

	if (rows == SIZE_MAX)
		return DROPS_DEFAULT;
	return rows > 1 + LINES_BELOW + DROPS_MIN ? rows - 1 - LINES_BELOW : DROPS_MIN;
}

static int put_drops(struct page *page, const struct reading *reading)
{
	size_t limit = drops_limit(page);
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "drops");
	table_least(table, SEGMENT_WIDTH);
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, RATE_WIDTH);
	table_column(table, TABLE_RIGHT, "total");
	table_least(table, TOTAL_WIDTH);
	table_column(table, TABLE_LEFT, "location");
	for (size_t i = 0; i < reading->drops_count && i < limit; i++) {
		const struct reading_drop *drop = &reading->drops[i];

		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", drop->reason);
		table_cell(table, drop->per_second > 0 ? PAGE_BAD : PAGE_PLAIN, "%s",
			   rate_text(drop->per_second).s);
		table_cell(table, PAGE_PLAIN, "%s", units_count(drop->packets).s);
		table_cell(table, PAGE_PLAIN, "%s", drop->location);
	}
	r = table_put(table, page);
	if (!reading->drops_count)
		page_line(page, PAGE_DIM, "no packet was dropped since the daemon's start");
	else if (reading->drops_count > limit)
		page_line(page, PAGE_DIM, "and %s more, see `netflowctl drops`",
			  units_count(reading->drops_count - limit).s);
	return r;
}

/* ---- latency ------------------------------------------------------------- */

/* Make the axis hold what was seen. */
static void widen_axis(struct frame *frame, const struct reading *reading)
{
	for (size_t i = 0; i < ARRAY_SIZE(shown_segments); i++) {
		unsigned int first, last;

		if (!buckets_powers(&reading->segments[shown_segments[i]].interval, &first, &last))
			continue;
		if (!frame->has_axis || first < frame->axis_first)
			frame->axis_first = first;
		if (!frame->has_axis || last > frame->axis_last)
			frame->axis_last = last;
		frame->has_axis = true;
	}
}

/* An axis of `count` columns, each `step` powers of two. */
struct axis {
	unsigned int first;
	unsigned int step;
	size_t count;
};

static struct axis fit_axis(const struct frame *frame, const struct page *page)
{
	size_t columns = page_term(page)->columns;
	struct axis axis = {.first = frame->axis_first, .step = 1};
	unsigned int span = frame->axis_last - frame->axis_first;

	columns = columns > CHART_START ? columns - CHART_START : columns ? CHART_MIN : CHART_MAX;
	if (columns < CHART_MIN)
		columns = CHART_MIN;
	if (!frame->has_axis)
		return axis;
	while (span / axis.step + 1 > columns)
		axis.step++;
	axis.count = span / axis.step + 1;
	return axis;
}

static void put_segment(struct table *table, const struct reading_segment *segment,
			enum reading_segment_id id, const struct axis *axis, bool utf8)
{
	struct bucket_rows rows;

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s %s", reading_direction(id),
		   segment_name_text(reading_segment_name(id)).s);
	/* never seen may also mean that nobody looked */
	table_cell(table, PAGE_PLAIN, "%s",
		   segment->all.total ? rate_text(segment->per_second).s : UNITS_UNKNOWN);
	if (!segment->interval.total) {
		for (size_t i = 0; i < 3; i++)
			table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
		return;
	}
	table_cell(
		table, PAGE_PLAIN, "%s",
		units_duration(buckets_quantile(&segment->interval, 0.5, segment->interval_max_ns))
			.s);
	table_cell(
		table, PAGE_PLAIN, "%s",
		units_duration(buckets_quantile(&segment->interval, 0.99, segment->interval_max_ns))
			.s);
	table_cell(table, PAGE_PLAIN, "%s", units_duration(segment->interval_max_ns).s);
	rows = buckets_rows_on(&segment->interval, axis->first, axis->step, axis->count);
	table_cell(table, PAGE_GOOD, "%s", chart_sparkline(rows.rows, rows.count, utf8).s);
}

/* What the first and the last column of the histograms begin and end with. */
static void put_axis(struct page *page, const struct axis *axis)
{
	struct bucket_rows rows = {.first = axis->first, .step = axis->step};

	if (!axis->count)
		return;
	page_pad(page, CHART_START, 0);
	page_line(page, PAGE_DIM, "%s to %s", units_duration(bucket_rows_from(&rows, 0)).s,
		  units_duration(bucket_rows_below(&rows, axis->count - 1)).s);
}

static int put_latency(struct frame *frame, struct page *page, const struct reading *reading)
{
	static const char *const durations[] = {"p50", "p99", "max ≤"};
	const struct term *term = page_term(page);
	OWN_TABLE struct table *table = NULL;
	struct axis axis;
	int r = table_new(&table, term, 0);

	if (r)
		return r;
	widen_axis(frame, reading);
	axis = fit_axis(frame, page);
	table_column(table, TABLE_LEFT, "latency");
	table_least(table, SEGMENT_WIDTH);
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, RATE_WIDTH);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		table_column(table, TABLE_RIGHT, durations[i]);
		table_least(table, DURATION_WIDTH);
	}
	table_column(table, TABLE_LEFT, "");
	for (size_t i = 0; i < ARRAY_SIZE(shown_segments); i++)
		put_segment(table, &reading->segments[shown_segments[i]], shown_segments[i], &axis,
			    term->utf8);
	r = table_put(table, page);
	put_axis(page, &axis);
	return r;
}

/* ---- all of it ----------------------------------------------------------- */

void frame_note(struct frame *frame, const struct reading *reading)
{
	json_t *cost = json_object_get(reading->status, "cost");

	if (!json_is_number(json_object_get(cost, "programs_cpu_percent")))
		return;
	json_decref(frame->measured);
	frame->measured = json_incref(cost);
}

void frame_put_summary(const struct frame *frame, struct page *page, const struct reading *reading,
		       int64_t interval_ms)
{
	put_header(page, reading->status, interval_ms);
	put_packets(page, reading);
	put_cost(page, frame, reading->status);
	put_ledger(page, reading->status);
}

int frame_put(struct frame *frame, struct page *page, const struct reading *reading,
	      int64_t interval_ms)
{
	int drops, latency;

	frame_note(frame, reading);
	frame_put_summary(frame, page, reading, interval_ms);
	coverage_put(page, json_object_get(reading->status, "coverage"), NULL);
	page_end(page);
	drops = put_drops(page, reading);
	page_end(page);
	latency = put_latency(frame, page, reading);
	return drops ? drops : latency;
}
