/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of tables that several views show. */
#ifndef CLI_LIVE_TABLE_PARTS_H
#define CLI_LIVE_TABLE_PARTS_H

#include "cli/live/reading.h"
#include "cli/terminal/page.h"
#include "cli/terminal/table.h"

/*
 * Minimum widths of the first two columns, a name and a rate.  Tables below each other use the same widths, so that
 * their columns are aligned.
 */
#define TABLE_PARTS_NAME 20
#define TABLE_PARTS_RATE 9

/* Set the next cell to a rate, in `style` if the rate is above 0; "-" if it is not known. */
void table_parts_rate(struct table *table, double per_second, enum page_style style);

/* Begin the row of a segment: its name, and its rate; "-" if it never had a packet. */
void table_parts_segment(struct table *table, const struct live_reading *reading,
			 enum reading_segment_id id);

/* Put a table of drops; `title` is the header of the first column, the reason.  0 or -ENOMEM. */
int table_parts_put_drops(struct page *page, const char *title, const struct drop_rate *drops,
			  size_t count);

#endif
