/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/napi_tables.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/period.h"
#include "cli/terminal/table.h"
#include "common/array.h"

const char *napi_device(const json_t *napi)
{
	return field_text_or(napi, "device",
			     json_object_get(napi, "group") ? "(others)" : "(backlog)");
}

static void put_poll(struct table *table, const json_t *row)
{
	uint64_t polls = field_count_or(row, "polls", 0);
	uint64_t full = field_count_or(row, "full_budgets", 0);

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", napi_device(row));
	table_cell(table, PAGE_PLAIN, "%s", field_units_number(row, "netns").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_number(row, "cpu").s);
	table_cell(table, PAGE_PLAIN, "%s", units_count(polls).s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "packets").s);
	if (polls)
		table_cell(table, PAGE_PLAIN, "%.3g",
			   (double)field_count_or(row, "packets", 0) / (double)polls);
	else
		table_cell(table, PAGE_DIM, "%s", UNITS_UNKNOWN);
	table_cell(table, full ? PAGE_WARN : PAGE_PLAIN, "%s",
		   field_units_count(row, "full_budgets").s);
	table_cell(table, full ? PAGE_WARN : PAGE_PLAIN, "%s", units_share(full, polls).s);
}

int napi_put_polls(struct page *page, const json_t *reply, const char *device)
{
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_RIGHT, "netns");
	table_column(table, TABLE_RIGHT, "CPU");
	table_column(table, TABLE_RIGHT, "polls");
	table_column(table, TABLE_RIGHT, "packets");
	table_column(table, TABLE_RIGHT, "per poll");
	table_column(table, TABLE_RIGHT, "full budgets");
	table_column(table, TABLE_RIGHT, "share");
	json_array_foreach(json_object_get(reply, "napi"), i, row)
	{
		if (!device || !strcmp(napi_device(row), device))
			put_poll(table, row);
	}
	if (table_rows(table))
		return table_put(table, page);
	page_put(page, PAGE_PLAIN, "netflowd has seen no poll%s%s", device ? " of " : "",
		 device ? device : "");
	period_put_since(page, reply);
	page_line(page, PAGE_PLAIN, ".");
	return 0;
}

static void put_cpu(struct table *table, const json_t *row)
{
	static const char *const durations[] = {"wait_p50_ns", "wait_p99_ns", "wait_max_ns"};
	static const struct {
		const char *name;
		enum page_style style; /* if the count is above 0 */
	} counts[] = {
		{"processed", PAGE_PLAIN}, {"dropped", PAGE_BAD}, {"time_squeeze", PAGE_WARN}};

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", field_units_number(row, "cpu").s);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		table_cell(table,
			   field_count_or(row, counts[i].name, 0) ? counts[i].style : PAGE_PLAIN,
			   "%s", field_units_count(row, counts[i].name).s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "wait_count").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_duration_real(row, "wait_mean_ns").s);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		table_cell(table, PAGE_PLAIN, "%s", field_units_duration(row, durations[i]).s);
}

int napi_put_cpus(struct page *page, const json_t *reply, size_t most)
{
	static const char *const titles[] = {"CPU",	 "processed", "dropped",
					     "squeezed", "waits",     "mean wait",
					     "p50",	 "p99",	      "max"};
	OWN_TABLE struct table *table = NULL;
	const json_t *row;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	for (i = 0; i < ARRAY_SIZE(titles); i++)
		table_column(table, TABLE_RIGHT, titles[i]);
	json_array_foreach(json_object_get(reply, "cpus"), i, row)
	{
		if (i < most)
			put_cpu(table, row);
	}
	return table_put(table, page);
}
