/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every cause of drops, and how their sum went over the last minutes. */
#include <errno.h>
#include <string.h>

#include "cli/live/view.h"
#include "cli/terminal/chart.h"
#include "cli/terminal/table.h"
#include "common/units.h"

static const char *const orders[] = {"rate", "total", "reason", NULL};

typedef const struct reading_drop *drop_pointer;

static int by_total(const void *one, const void *other)
{
	drop_pointer a = *(const drop_pointer *)one, b = *(const drop_pointer *)other;

	return (a->packets < b->packets) - (a->packets > b->packets);
}

static int by_reason(const void *one, const void *other)
{
	drop_pointer a = *(const drop_pointer *)one, b = *(const drop_pointer *)other;
	int order = strcmp(a->reason, b->reason);

	return order ? order : strcmp(a->location, b->location);
}

/* The reading has them by rate. */
static int (*const compare[])(const void *, const void *) = {NULL, by_total, by_reason};

static void put_history(const struct view_state *state, struct page *page)
{
	const struct term *term = page_term(page);
	uint64_t values[HISTORY_READINGS], max = 0;
	size_t columns = term->columns > 30 ? term->columns - 30 : 8;
	size_t count =
		history_values(&state->history, state->history.per_second[READING_DROPPED], values,
			       columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX);

	for (size_t i = 0; i < count; i++)
		max = values[i] > max ? values[i] : max;
	page_put(page, PAGE_PLAIN, "all drops, at most %s  ", units_rate((double)max).s);
	page_line(page, PAGE_BAD, "%s", chart_sparkline(values, count, term->utf8).s);
}

static void put_drop(struct table *table, const struct reading_drop *drop)
{
	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", drop->reason);
	table_cell(table, drop->per_second > 0 ? PAGE_BAD : PAGE_PLAIN, "%s",
		   drop->per_second < 0 ? UNITS_UNKNOWN : units_rate(drop->per_second).s);
	table_cell(table, PAGE_PLAIN, "%s", units_count(drop->packets).s);
	table_cell(table, PAGE_PLAIN, "%s", drop->location);
}

static int put_table(struct page *page, drop_pointer *drops, size_t count)
{
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "reason");
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, 9);
	table_column(table, TABLE_RIGHT, "total");
	table_least(table, 13);
	table_column(table, TABLE_LEFT, "location");
	for (size_t i = 0; i < count; i++)
		put_drop(table, drops[i]);
	return table_put(table, page);
}

static int put(struct view_state *state, struct page *page, const struct reading *reading,
	       size_t *rows)
{
	size_t order = state->order[VIEW_DROPS], count = reading->drops_count;
	OWN_FREE drop_pointer *drops = calloc(count + 1, sizeof(drop_pointer));
	size_t skip = state->scroll < count ? state->scroll : count;

	if (!drops)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		drops[i] = &reading->drops[i];
	if (compare[order] && count)
		qsort(drops, count, sizeof(drop_pointer), compare[order]);
	*rows = count;
	put_history(state, page);
	if (!count) {
		page_line(page, PAGE_DIM, "no packet was dropped since the daemon's start");
		return 0;
	}
	return put_table(page, drops + skip, count - skip);
}

const struct view view_drops = {.name = "drops", .orders = orders, .put = put};
