/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drop records (io.netflowd's DropRecord), one line each. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/page.h"

#include <jansson.h>

/* Columns of a line: time, reason, place, device, flow, length, task. */
#define RECORDS_COLUMNS 7

/* How wide each has been so far; starts as zeroes and only grows, so that lines stay in line. */
struct records_widths {
	size_t columns[RECORDS_COLUMNS];
};

/* Make room for a record that is to be put later. */
void records_measure(struct records_widths *widths, const json_t *record, const char *now);

/*
 * A line for `record`, the columns made wider if it needs that; `now` as in
 * field_time().  With `stack` its stack follows, a line for each frame; returns
 * whether there was one.
 */
bool records_put(struct page *page, struct records_widths *widths, const json_t *record,
		 const char *now, bool stack);

/* The reason of a record or a counter: name, with its subsystem if that is not the core; or number.
 */
char *records_reason(const json_t *object);

#endif
