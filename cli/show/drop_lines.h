/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drop records (io.netflowd's DropRecord) as one line each. */
#ifndef CLI_SHOW_DROP_LINES_H
#define CLI_SHOW_DROP_LINES_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Columns of a line: time, reason, class, location, device, flow, length, task. */
#define DROP_LINES_COLUMNS 8

/* The widths of the columns.  They start as zeroes and only grow, so that the columns of later lines are aligned. */
struct drop_lines_widths {
	size_t columns[DROP_LINES_COLUMNS];
};

/* Make the columns wide enough for a record that is put later. */
void drop_lines_measure(struct drop_lines_widths *widths, const json_t *record, const char *now);

/*
 * Put a line for `record`, and widen the columns if it needs that; `now` as in field_time().  With `stack`, put its
 * stack below, one line per frame.  Returns whether it put a stack.
 */
bool drop_lines_put(struct page *page, struct drop_lines_widths *widths, const json_t *record,
		    const char *now, bool stack);

/*
 * The reason of a record or a counter, which the caller frees: its name or, if the kernel gives none, its number; in
 * parentheses the subsystem, unless it is the core, and whether netflowd inferred it; "A or B" if the evidence leaves
 * several.  NULL when out of memory.
 */
char *drop_lines_reason(const json_t *object);

/* The place of its class in lists: 0 fault, 1 unknown, 2 policy, 3 benign. */
size_t drop_lines_rank(const json_t *object);

#endif
