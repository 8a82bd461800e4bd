/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/period.h"

#include <string.h>

#include "cli/ask/covered.h"
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
	uint64_t left = covered_gaps_left(period, GAPS);
	const json_t *gap;
	size_t at = 0;

	while ((gap = covered_next_gap(period, GAPS, &at)))
		page_line(page, PAGE_WARN, "  not recorded %s", covered_gap_text(gap).s);
	if (left)
		page_line(page, PAGE_WARN, "  and %s older gaps; --json lists the newest 64",
			  units_count(left).s);
}

void period_put_covered(struct page *page, const json_t *period, const char *name)
{
	uint64_t weight = field_count_or(period, "weight", 1);
	struct covered_text failing = covered_failing(period), step;

	page_line(page, covered_whole(period) ? PAGE_DIM : PAGE_WARN, "%s: %s%s", name,
		  covered_sentence(period).s,
		  weight > 1 ? "; sampled, so counts are estimates" : "");
	put_gaps(page, period);
	for (size_t i = 0; (step = covered_step(period, i)).s[0]; i++)
		page_line(page, PAGE_WARN, "  %s", step.s);
	if (failing.s[0])
		page_line(page, PAGE_BAD, "  %s", failing.s);
}

void period_put(struct page *page, const json_t *reply, const char *const *about)
{
	const json_t *period = json_object_get(reply, "period");

	if (!period)
		return;
	page_end(page);
	period_put_covered(page, period, "history");
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
	return covered_whole(period);
}
