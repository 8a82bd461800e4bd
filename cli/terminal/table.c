/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/text.h"
#include "common/array.h"

#define TABLE_COLUMNS_MAX 16
#define TABLE_GAP 2
/* The minimum width of a column of text, on the narrowest terminal. */
#define TABLE_TEXT_MIN 8

struct cell {
	char *text; /* printable; NULL if the cell is empty */
	enum page_style style;
};

struct row {
	struct cell cells[TABLE_COLUMNS_MAX];
};

struct table {
	const struct term *term;
	size_t indent;
	size_t columns;
	enum table_align align[TABLE_COLUMNS_MAX];
	const char *title[TABLE_COLUMNS_MAX];
	size_t least[TABLE_COLUMNS_MAX];
	struct row *rows;
	size_t used;
	size_t size;
	size_t next; /* index of the next cell of the last row */
	bool failed; /* a column, row or cell is missing */
};

int table_new(struct table **table, const struct term *term, size_t indent)
{
	struct table *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->term = term;
	new->indent = indent;
	*table = new;
	return 0;
}

void table_free(struct table **table)
{
	if (!*table)
		return;
	for (size_t i = 0; i < (*table)->used; i++)
		for (size_t c = 0; c < (*table)->columns; c++)
			free((*table)->rows[i].cells[c].text);
	free((*table)->rows);
	free(*table);
	*table = NULL;
}

void table_column(struct table *table, enum table_align align, const char *title)
{
	if (table->columns == TABLE_COLUMNS_MAX) {
		table->failed = true;
		return;
	}
	table->align[table->columns] = align;
	table->title[table->columns++] = title;
}

void table_least(struct table *table, size_t columns)
{
	if (table->columns)
		table->least[table->columns - 1] = columns;
}

void table_row(struct table *table)
{
	if (ARRAY_GROW(table->rows, table->used, table->size)) {
		table->failed = true;
		table->next = table->columns;
		return;
	}
	table->rows[table->used++] = (struct row){};
	table->next = 0;
}

void table_cell(struct table *table, enum page_style style, const char *format, ...)
{
	struct cell *cell;
	va_list list;

	if (!table->used || table->next == table->columns) {
		table->failed = true;
		return;
	}
	cell = &table->rows[table->used - 1].cells[table->next++];
	va_start(list, format);
	cell->text = text_format(table->term->utf8, format, list);
	va_end(list);
	cell->style = style;
	if (!cell->text)
		table->failed = true;
}

size_t table_rows(const struct table *table)
{
	return table->used;
}

static const char *cell_text(const struct row *row, size_t column)
{
	return row->cells[column].text ? row->cells[column].text : "";
}

/* The widest column of text that is wider than its minimum; table->columns if there is none. */
static size_t widest(const struct table *table, const size_t *widths)
{
	size_t found = table->columns;

	for (size_t c = 0; c < table->columns; c++) {
		size_t min = text_width(table->title[c]);

		if (min < TABLE_TEXT_MIN)
			min = TABLE_TEXT_MIN;
		if (table->align[c] == TABLE_LEFT && widths[c] > min &&
		    (found == table->columns || widths[c] > widths[found]))
			found = c;
	}
	return found;
}

static void measure(const struct table *table, size_t *widths)
{
	size_t total = table->indent + (table->columns - 1) * TABLE_GAP;

	for (size_t c = 0; c < table->columns; c++) {
		widths[c] = text_width(table->title[c]);
		if (widths[c] < table->least[c])
			widths[c] = table->least[c];
		for (size_t i = 0; i < table->used; i++) {
			size_t width = text_width(cell_text(&table->rows[i], c));

			if (width > widths[c])
				widths[c] = width;
		}
		total += widths[c];
	}
	if (!table->term->columns)
		return;
	while (total > table->term->columns) {
		size_t c = widest(table, widths);

		if (c == table->columns)
			return;
		widths[c]--;
		total--;
	}
}

static void put_cell(const struct table *table, struct page *page, size_t column, size_t width,
		     enum page_style style, const char *text)
{
	OWN_FREE char *cut = NULL;
	size_t used = text_width(text);

	if (used > width) {
		cut = text_cut(text, width, table->term->utf8);
		text = cut ? cut : "";
		used = text_width(text);
	}
	if (table->align[column] == TABLE_RIGHT)
		page_pad(page, 0, width - used);
	page_put(page, style, "%s", text);
	if (column == table->columns - 1)
		return;
	page_pad(page, 0, TABLE_GAP + (table->align[column] == TABLE_LEFT ? width - used : 0));
}

int table_put(const struct table *table, struct page *page)
{
	size_t widths[TABLE_COLUMNS_MAX];

	if (!table->columns)
		return table->failed ? -ENOMEM : 0;
	measure(table, widths);
	page_pad(page, 0, table->indent);
	for (size_t c = 0; c < table->columns; c++)
		put_cell(table, page, c, widths[c], PAGE_TITLE, table->title[c]);
	page_end(page);
	for (size_t i = 0; i < table->used; i++) {
		page_pad(page, 0, table->indent);
		for (size_t c = 0; c < table->columns; c++)
			put_cell(table, page, c, widths[c], table->rows[i].cells[c].style,
				 cell_text(&table->rows[i], c));
		page_end(page);
	}
	return table->failed ? -ENOMEM : 0;
}
