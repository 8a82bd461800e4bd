/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/table_parts.h"

#include "cli/live/rate.h"
#include "common/segment_name.h"

#define TOTAL_WIDTH 13

void table_parts_rate(struct table *table, double per_second, enum page_style style)
{
	table_cell(table, per_second > 0 ? style : PAGE_PLAIN, "%s", rate_text(per_second).s);
}

void table_parts_segment(struct table *table, const struct live_reading *reading,
			 enum reading_segment_id id)
{
	const struct reading_segment *segment = &reading->segments[id];

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s %s", reading_direction(id),
		   segment_name_text(reading_segment_name(id)).s);
	/* Without any packet the rate is not known, because the probe may be missing. */
	if (segment->estimate && segment->all.total)
		table_cell(table, PAGE_PLAIN, "≈ %s", rate_text(segment->per_second).s);
	else
		table_parts_rate(table, segment->all.total ? segment->per_second : RATE_UNKNOWN,
				 PAGE_PLAIN);
}

int table_parts_put_drops(struct page *page, const char *title, const struct drop_rate *drops,
			  size_t count)
{
	OWN_TABLE struct table *table = NULL;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, title);
	table_least(table, TABLE_PARTS_NAME);
	table_column(table, TABLE_RIGHT, "rate");
	table_least(table, TABLE_PARTS_RATE);
	table_column(table, TABLE_RIGHT, "total");
	table_least(table, TOTAL_WIDTH);
	table_column(table, TABLE_LEFT, "class");
	table_column(table, TABLE_LEFT, "mark");
	table_column(table, TABLE_LEFT, "location");
	for (size_t i = 0; i < count; i++) {
		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", drops[i].reason);
		table_parts_rate(table, drops[i].per_second,
				 !drops[i].rank	      ? PAGE_BAD
				 : drops[i].rank == 1 ? PAGE_WARN
						      : PAGE_PLAIN);
		table_cell(table, PAGE_PLAIN, "%s", units_count(drops[i].packets).s);
		table_cell(table, PAGE_PLAIN, "%s", drops[i].class);
		table_cell(table, PAGE_PLAIN, "%s", drops[i].mark ? drops[i].mark : UNITS_UNKNOWN);
		table_cell(table, PAGE_PLAIN, "%s", drops[i].location);
	}
	return table_put(table, page);
}
