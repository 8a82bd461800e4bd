/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows under a header, columns as wide as their content.  On a terminal that
 * is too narrow the widest column of text is cut, then the next; what is not
 * a terminal gets every column whole.
 */
#ifndef CLI_TERMINAL_TABLE_H
#define CLI_TERMINAL_TABLE_H

#include "cli/terminal/page.h"

enum table_align {
	TABLE_LEFT,  /* text, which may be cut */
	TABLE_RIGHT, /* numbers, never cut */
};

struct table;

/* An empty table, each line of which will begin with `indent` blanks. */
int table_new(struct table **table, const struct term *term, size_t indent);
void table_free(struct table **table);
#define OWN_TABLE CLEANUP(table_free)

/* Add a column; all before the first row.  `title` must live as long as the table. */
void table_column(struct table *table, enum table_align align, const char *title);

/* The last column added is at least so wide, so that it stands still while its content changes. */
void table_least(struct table *table, size_t columns);

/* Begin a row.  Cells it does not get are empty. */
void table_row(struct table *table);

/* The next cell of the current row. */
void table_cell(struct table *table, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Rows so far. */
size_t table_rows(const struct table *table);

/* Onto the page, header first.  0, or -ENOMEM when some cell could not be kept. */
int table_put(const struct table *table, struct page *page);

#endif
