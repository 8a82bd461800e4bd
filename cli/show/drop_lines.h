/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drop records (io.netflowd's DropRecord), one line each. */
#ifndef CLI_SHOW_DROP_LINES_H
#define CLI_SHOW_DROP_LINES_H

#include <jansson.h>

#include "cli/terminal/page.h"

/* Columns of a line: time, reason, place, device, flow, length, task. */
#define DROP_LINES_COLUMNS 7

/* How wide each has been so far; starts as zeroes and only grows, so that lines stay in line. */
struct drop_lines_widths {
	size_t columns[DROP_LINES_COLUMNS];
};

/* Make room for a record that is to be put later. */
void drop_lines_measure(struct drop_lines_widths *widths, const json_t *record, const char *now);

/*
 * A line for `record`, the columns made wider if it needs that; `now` as in
 * field_time().  With `stack` its stack follows, a line for each frame; returns
 * whether there was one.
 */
bool drop_lines_put(struct page *page, struct drop_lines_widths *widths, const json_t *record,
		    const char *now, bool stack);

/* The reason of a record or a counter: name, with its subsystem if that is not the core; or number.
 */
char *drop_lines_reason(const json_t *object);

#endif
