/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table with a header row.  Columns are as wide as their content.  On a terminal that is too narrow, the widest
 * column of text loses width first.  Output that is not a terminal gets every column in full.
 */
#ifndef CLI_TERMINAL_TABLE_H
#define CLI_TERMINAL_TABLE_H

#include "cli/terminal/page.h"

enum table_align {
	TABLE_LEFT,  /* text, which a narrow terminal may cut */
	TABLE_RIGHT, /* numbers, which are never cut */
};

struct table;

/* Create an empty table whose lines begin with `indent` blanks.  `term` must outlive it.  0 or -ENOMEM. */
int table_new(struct table **table, const struct term *term, size_t indent);
void table_free(struct table **table);
#define OWN_TABLE CLEANUP(table_free)

/* Add a column.  Add all columns before the first row.  `title` must outlive the table. */
void table_column(struct table *table, enum table_align align, const char *title);

/* Give the last column added a minimum width, so that the next column does not move when the content changes. */
void table_least(struct table *table, size_t columns);

/* Begin a row.  Cells that are not set stay empty. */
void table_row(struct table *table);

/* Set the next cell of the current row. */
void table_cell(struct table *table, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The number of rows. */
size_t table_rows(const struct table *table);

/* Put the header and the rows on the page.  0, or -ENOMEM if a column, row or cell is missing. */
int table_put(const struct table *table, struct page *page);

#endif
