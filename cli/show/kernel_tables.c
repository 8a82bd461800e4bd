/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/kernel_tables.h"

#include "cli/ask/field.h"
#include "cli/terminal/table.h"

#define INDENT 2

int kernel_tables_put(struct page *page, const json_t *tables)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), INDENT);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "table");
	table_column(table, TABLE_RIGHT, "used");
	table_column(table, TABLE_RIGHT, "entries");
	table_column(table, TABLE_RIGHT, "memory");
	table_column(table, TABLE_LEFT, "contents");
	json_array_foreach(tables, i, row)
	{
		table_row(table);
		table_cell(table, PAGE_PLAIN, "%s", field_text(row, "name"));
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "used").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "entries").s);
		table_cell(table, PAGE_PLAIN, "%s", field_units_bytes(row, "memory_bytes").s);
		table_cell(table, PAGE_DIM, "%s", field_text(row, "what"));
	}
	return table_put(table, page);
}
