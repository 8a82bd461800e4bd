/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/frame.h"

#include <stdint.h>

#include "cli/live/table_parts.h"
#include "cli/show/coverage.h"
#include "cli/terminal/chart.h"
#include "common/array.h"
#include "common/units.h"

/* The segments that say most about a host; `netflowctl latency` shows all of them. */
static const enum reading_segment_id shown_segments[] = {
	READING_IRQ_TO_SOFTIRQ,	 READING_SOFTIRQ_TO_RECEIVE, READING_WAKEUP_TO_RUN,
	READING_RECEIVE_TO_COPY, READING_RX_TOTAL,	     READING_FORWARD_TOTAL,
	READING_QUEUE_TO_START,	 READING_START_TO_XMIT,	     READING_XMIT_TO_FREE,
};

#define DURATION_WIDTH 8
/* The columns left of the histograms: the segment, its rate, three durations, and gaps of two. */
#define CHART_START (TABLE_PARTS_NAME + TABLE_PARTS_RATE + 3 * DURATION_WIDTH + 5 * 2)
#define CHART_MIN 8
#define CHART_MAX 40
/* Lines below the drops: "and N more", a blank line, the latency table with its header, the axis. */
#define LINES_BELOW (2 + 1 + ARRAY_SIZE(shown_segments) + 1)
#define DROPS_MIN 3
#define DROPS_DEFAULT 10

void frame_done(struct frame *frame)
{
	summary_done(&frame->summary);
}

/* ---- drops --------------------------------------------------------------- */

/* The number of rows for drops that the screen has room for, between the summary and the lines below. */
static size_t drops_limit(const struct page *page)
{
	size_t rows = page_rows_left(page);

	if (rows == SIZE_MAX)
		return DROPS_DEFAULT;
	return rows > 1 + LINES_BELOW + DROPS_MIN ? rows - 1 - LINES_BELOW : DROPS_MIN;
}

static int put_drops(struct page *page, const struct drop_rates *drops)
{
	size_t limit = drops_limit(page);
	int r = table_parts_put_drops(page, "drops", drops->at,
				      drops->count < limit ? drops->count : limit);

	if (!drops->count)
		page_line(page, PAGE_DIM, "no packet was dropped since the daemon started");
	else if (drops->count > limit)
		page_line(page, PAGE_DIM, "and %s more; see `netflowctl drops`",
			  units_count(drops->count - limit).s);
	return r;
}

/* ---- latency ------------------------------------------------------------- */

/* Widen the axis to cover all values of this interval. */
static void widen_axis(struct frame *frame, const struct live_reading *reading)
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

/* An axis of `count` columns, each `step` powers of two wide. */
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

static void put_segment(struct table *table, const struct live_reading *reading,
			enum reading_segment_id id, const struct axis *axis, bool utf8)
{
	const struct reading_segment *segment = &reading->segments[id];
	const struct buckets *interval = &segment->interval;
	uint64_t max_ns = segment->interval_max_ns;
	struct bucket_rows rows;

	table_parts_segment(table, reading, id);
	if (!interval->total) {
		for (size_t i = 0; i < 3; i++)
			table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
		return;
	}
	table_cell(table, PAGE_PLAIN, "%s",
		   units_duration(buckets_quantile(interval, 0.5, max_ns)).s);
	table_cell(table, PAGE_PLAIN, "%s",
		   units_duration(buckets_quantile(interval, 0.99, max_ns)).s);
	table_cell(table, PAGE_PLAIN, "%s", units_duration(max_ns).s);
	rows = buckets_rows_on(interval, axis->first, axis->step, axis->count);
	table_cell(table, PAGE_GOOD, "%s", chart_sparkline(rows.rows, rows.count, utf8).s);
}

/* Put the limits of the histograms' axis: the start of the first column and the end of the last. */
static void put_axis(struct page *page, const struct axis *axis)
{
	struct bucket_rows rows = {.first = axis->first, .step = axis->step};

	if (!axis->count)
		return;
	page_pad(page, CHART_START, 0);
	page_line(page, PAGE_DIM, "%s to %s", units_duration(bucket_rows_from(&rows, 0)).s,
		  units_duration(bucket_rows_below(&rows, axis->count - 1)).s);
}

static int put_latency(struct frame *frame, struct page *page, const struct live_reading *reading)
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
	table_least(table, TABLE_PARTS_NAME);
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, TABLE_PARTS_RATE);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		table_column(table, TABLE_RIGHT, durations[i]);
		table_least(table, DURATION_WIDTH);
	}
	table_column(table, TABLE_LEFT, "");
	for (size_t i = 0; i < ARRAY_SIZE(shown_segments); i++)
		put_segment(table, reading, shown_segments[i], &axis, term->utf8);
	r = table_put(table, page);
	put_axis(page, &axis);
	return r;
}

/* ---- the whole frame ------------------------------------------------------ */

int frame_put(struct frame *frame, struct page *page, const struct live_reading *reading,
	      int64_t interval_ms)
{
	int drops, latency;

	summary_note(&frame->summary, reading);
	summary_put(&frame->summary, page, reading, interval_ms);
	coverage_put(page, json_object_get(reading->status, "coverage"), NULL);
	page_end(page);
	drops = put_drops(page, &reading->drops);
	page_end(page);
	latency = put_latency(frame, page, reading);
	return drops ? drops : latency;
}
