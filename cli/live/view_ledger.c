/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The completeness of the daemon's view of the host, and its cost. */
#include "cli/ask/field.h"
#include "cli/live/view.h"
#include "cli/show/coverage.h"
#include "cli/show/ledger.h"
#include "cli/terminal/table.h"

static int put_tables(struct page *page, const json_t *tables)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 2);

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

static int put(struct view_state *state, struct page *page, const struct reading *reading,
	       size_t *rows)
{
	const json_t *status = reading->status;

	*rows = 0;
	summary_put(&state->frame.summary, page, reading, state->interval_ms);
	page_end(page);
	ledger_put(page, status);
	page_end(page);
	coverage_put_all(page, json_object_get(status, "coverage"));
	page_end(page);
	return put_tables(page, json_object_get(status, "tables"));
}

const struct view view_ledger = {.name = "ledger & cost", .put = put};
