/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops by reason and location, and their total rate over the last minutes. */
#include <errno.h>
#include <string.h>

#include "cli/live/table_parts.h"
#include "cli/live/view.h"
#include "cli/terminal/chart.h"
#include "common/units.h"

/* Columns for the text before the sparkline. */
#define TEXT_WIDTH 30
#define CHART_MIN 8

static const char *const orders[] = {"class", "rate", "total", "reason", NULL};

static int by_rate(const void *one, const void *other)
{
	const struct drop_rate *a = one, *b = other;

	return (a->per_second < b->per_second) - (a->per_second > b->per_second);
}

static int by_total(const void *one, const void *other)
{
	const struct drop_rate *a = one, *b = other;

	return (a->packets < b->packets) - (a->packets > b->packets);
}

static int by_reason(const void *one, const void *other)
{
	const struct drop_rate *a = one, *b = other;
	int order = strcmp(a->reason, b->reason);

	return order ? order : strcmp(a->location, b->location);
}

/* In the order of `orders`.  A reading is already sorted by class, then by rate. */
static int (*const compare[])(const void *, const void *) = {NULL, by_rate, by_total, by_reason};

static void put_history(const struct view_state *state, struct page *page)
{
	const struct term *term = page_term(page);
	uint64_t values[HISTORY_READINGS], max = 0;
	size_t columns = term->columns > TEXT_WIDTH ? term->columns - TEXT_WIDTH : CHART_MIN;
	size_t count =
		history_values(&state->history, state->history.per_second[READING_DROPPED], values,
			       columns < CHART_COLUMNS_MAX ? columns : CHART_COLUMNS_MAX);

	for (size_t i = 0; i < count; i++)
		max = values[i] > max ? values[i] : max;
	page_put(page, PAGE_PLAIN, "all drops, peak %s  ", units_rate((double)max).s);
	page_line(page, PAGE_BAD, "%s", chart_sparkline(values, count, term->utf8).s);
}

static int put(struct view_state *state, struct page *page, const struct live_reading *reading,
	       size_t *rows)
{
	size_t order = state->order[VIEW_DROPS], count = reading->drops.count;
	/* A copy, because the reading must stay sorted.  It borrows the texts. */
	OWN_FREE struct drop_rate *drops = calloc(count + 1, sizeof(*drops));
	size_t skip = state->scroll < count ? state->scroll : count;

	if (!drops)
		return -ENOMEM;
	*rows = count;
	put_history(state, page);
	if (!count) {
		page_line(page, PAGE_DIM, "no packet was dropped since the daemon started");
		return 0;
	}
	memcpy(drops, reading->drops.at, count * sizeof(*drops));
	if (compare[order])
		qsort(drops, count, sizeof(*drops), compare[order]);
	return table_parts_put_drops(page, "reason", drops + skip, count - skip);
}

const struct view view_drops = {.name = "drops", .orders = orders, .put = put};
