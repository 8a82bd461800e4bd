/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All segments: percentiles of the last interval, and the p99 of the last minutes. */
#include "cli/live/table_parts.h"
#include "cli/live/view.h"
#include "cli/terminal/chart.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/segment_name.h"
#include "common/units.h"

#define SEGMENT_WIDTH 22
#define DURATION_WIDTH 8
#define CHART_MIN 8
/* The narrowest terminal, in columns, that shows all durations. */
#define ALL_MIN 96

static const char *const orders[] = {"path", "p99", "rate", NULL};

static uint64_t p99(const struct reading_segment *segment)
{
	return buckets_quantile(&segment->interval, 0.99, segment->interval_max_ns);
}

/* Whether `a` belongs above `b`. */
static bool above(size_t order, const struct reading_segment *a, const struct reading_segment *b)
{
	if (order == 1)
		return p99(a) > p99(b);
	return order == 2 && a->per_second > b->per_second;
}

/* Insertion sort: it is stable, so that equal segments stay in the order of the path, and there are few segments. */
static void sort(size_t order, const struct live_reading *reading, size_t *ids)
{
	for (size_t i = 0; i < READING_SEGMENTS_COUNT; i++) {
		size_t at = i;

		while (at && above(order, &reading->segments[i], &reading->segments[ids[at - 1]])) {
			ids[at] = ids[at - 1];
			at--;
		}
		ids[at] = i;
	}
}

static const struct {
	const char *title;
	double quantile; /* 1 is the maximum */
	bool wide;	 /* shown only on a terminal of at least ALL_MIN columns */
} durations[] = {
	{"p50", 0.5, false}, {"p90", 0.9, true}, {"p99", 0.99, false}, {"max ≤", 1, false}};
#define DURATIONS (ARRAY_SIZE(durations))

static bool has_room(const struct term *term, size_t duration)
{
	return !durations[duration].wide || !term->columns || term->columns >= ALL_MIN;
}

/* Columns for the sparklines. */
static size_t chart_columns(const struct term *term)
{
	size_t before = SEGMENT_WIDTH + 2 + TABLE_PARTS_RATE + 2, columns;

	for (size_t i = 0; i < DURATIONS; i++)
		before += has_room(term, i) ? DURATION_WIDTH + 2 : 0;
	columns = term->columns > before + CHART_MIN ? term->columns - before : CHART_MIN;
	return columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX;
}

static void put_durations(struct table *table, const struct reading_segment *segment,
			  const struct term *term)
{
	for (size_t i = 0; i < DURATIONS; i++) {
		uint64_t ns = segment->interval_max_ns;

		if (!has_room(term, i))
			continue;
		if (durations[i].quantile < 1)
			ns = buckets_quantile(&segment->interval, durations[i].quantile, ns);
		if (segment->interval.total)
			table_cell(table, PAGE_PLAIN, "%s", units_duration(ns).s);
		else
			table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
	}
}

static void put_segment(struct table *table, const struct view_state *state,
			const struct live_reading *reading, size_t id, const struct term *term)
{
	const struct reading_segment *segment = &reading->segments[id];
	uint64_t values[HISTORY_READINGS];
	size_t count = history_values(&state->history, state->history.p99_ns[id], values,
				      chart_columns(term));

	table_parts_segment(table, reading, (enum reading_segment_id)id);
	put_durations(table, segment, term);
	table_cell(table, PAGE_GOOD, "%s", chart_sparkline(values, count, term->utf8).s);
}

static int put(struct view_state *state, struct page *page, const struct live_reading *reading,
	       size_t *rows)
{
	const struct term *term = page_term(page);
	size_t ids[READING_SEGMENTS_COUNT];
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, term, 0);

	if (r)
		return r;
	sort(state->order[VIEW_LATENCY], reading, ids);
	table_column(table, TABLE_LEFT, "segment");
	table_least(table, SEGMENT_WIDTH);
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, TABLE_PARTS_RATE);
	for (size_t i = 0; i < DURATIONS; i++) {
		if (!has_room(term, i))
			continue;
		table_column(table, TABLE_RIGHT, durations[i].title);
		table_least(table, DURATION_WIDTH);
	}
	table_column(table, TABLE_LEFT, "p99 trend");
	for (size_t i = state->scroll; i < READING_SEGMENTS_COUNT; i++)
		put_segment(table, state, reading, ids[i], term);
	*rows = READING_SEGMENTS_COUNT;
	return table_put(table, page);
}

const struct view view_latency = {.name = "latency", .orders = orders, .put = put};
