/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/period.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/coverage.h"
#include "cli/terminal/page.h"

/* Gaps that are listed. */
#define GAPS 5

void period_put_since(struct page *page, const json_t *reply)
{
	const json_t *period = json_object_get(reply, "period");

	if (period)
		page_put(page, PAGE_PLAIN, " from %s to %s", field_date(period, "from").s,
			 field_date(period, "to").s);
	else
		page_put(page, PAGE_PLAIN, " since %s", field_date(reply, "since").s);
}

static void put_gaps(struct page *page, const json_t *period)
{
	const json_t *gaps = json_object_get(period, "gaps"), *gap;
	uint64_t count = field_count_or(period, "gap_count", 0);
	size_t i;

	json_array_foreach(gaps, i, gap)
	{
		if (i == GAPS)
			break;
		page_line(page, PAGE_WARN, "  not recorded from %s to %s",
			  field_date(gap, "from").s, field_date(gap, "to").s);
	}
	if (count > GAPS)
		page_line(page, PAGE_WARN, "  and %s more gaps; --json lists the first 64",
			  units_count(count - GAPS).s);
}

void period_put(struct page *page, const json_t *reply, const char *const *about)
{
	const json_t *period = json_object_get(reply, "period");
	uint64_t from, to, covered, weight = field_count_or(period, "weight", 1);

	if (!period || !field_epoch(period, "from", &from) || !field_epoch(period, "to", &to))
		return;
	covered = field_count_or(period, "covered_ns", 0);
	page_end(page);
	page_line(page, PAGE_DIM, "history: recorded %s of %s, in buckets of up to %s%s",
		  units_duration(covered).s, units_duration(to - from).s,
		  field_units_duration(period, "resolution_ns").s,
		  weight > 1 ? "; sampled, so counts are estimates" : "");
	put_gaps(page, period);
	coverage_put(page, json_object_get(period, "coverage"), about);
}

bool period_is_whole(const json_t *reply, const char *question)
{
	const json_t *period = json_object_get(reply, "period"), *row;
	size_t i;

	json_array_foreach(json_object_get(period, "coverage"), i, row)
	{
		if (!strcmp(field_text(row, "question"), question) &&
		    !strcmp(field_text(row, "state"), "unavailable"))
			return false;
	}
	return !field_count_or(period, "gap_count", 0);
}
