/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/diff/compare.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/ask/field.h"
#include "cli/diff/significance.h"
#include "cli/show/drop_lines.h"
#include "cli/terminal/page.h"
#include "cli/terminal/table.h"
#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"

/* A rate that is this many times the one before has grown, if it is not by chance: less is the time of day. */
#define GROWN 1.5

bool compare_has_enough(const json_t *before)
{
	const json_t *period = json_object_get(before, "period");
	uint64_t asked = field_count_or(period, "asked_ns", 0);
	uint64_t covered = field_count_or(period, "asked_covered_ns", 0);

	return covered && covered >= asked / 2;
}

/* Rates are of the time that was recorded. */
static double seconds_of(const json_t *reply)
{
	const json_t *period = json_object_get(reply, "period");

	return (double)field_count_or(period, "covered_ns", 0) / 1e9;
}

/* Add the numbers of a row to those of another one, and the members that it lacks. */
static void join(json_t *to, json_t *row)
{
	static const char *const sums[] = {"packets", "segments", "bytes"};

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		json_object_set_new(to, sums[i],
				    json_integer(json_count(field_count_or(to, sums[i], 0) +
							    field_count_or(row, sums[i], 0))));
	json_object_update_missing(to, row);
}

/* One row for each cause, in the order of the reply. */
static json_t *index_rows(const json_t *reply)
{
	json_t *index = json_object(), *row;
	size_t i;

	json_array_foreach(json_object_get(reply, "rows"), i, row)
	{
		const char *cause = field_text(row, "cause");
		json_t *known = json_object_get(index, cause);

		if (known)
			join(known, row);
		else
			json_object_set_new(index, cause, json_copy(row));
	}
	return index;
}

static double rate(uint64_t packets, double seconds)
{
	return seconds > 0 ? (double)packets / seconds : 0;
}

/* A row of now, and the packets of the same row before. */
struct compared {
	json_t *row; /* borrowed */
	uint64_t packets, before;
	struct significance difference;
};

static json_t *compared_row(const struct compared *one, double now_s, double before_s)
{
	json_t *copy = json_copy(one->row);

	json_object_set_new(copy, "new", json_boolean(!one->before));
	json_object_set_new(copy, "before_packets", json_integer(json_count(one->before)));
	json_object_set_new(copy, "per_second", json_real(rate(one->packets, now_s)));
	json_object_set_new(copy, "before_per_second", json_real(rate(one->before, before_s)));
	return copy;
}

static bool has_grown(const struct compared *one, double now_s, double before_s)
{
	return rate(one->packets, now_s) >= GROWN * rate(one->before, before_s) &&
	       significance_mark(&one->difference) > 0;
}

/* Rows that are there in both periods are tested together.  Negative errno. */
static int test(struct compared *rows, size_t count, double now_s, double before_s)
{
	OWN_FREE struct significance **tests = calloc(count + 1, sizeof(*tests));
	size_t tested = 0;

	if (!tests)
		return -ENOMEM;
	for (size_t i = 0; i < count && now_s > 0 && before_s > 0; i++) {
		if (!rows[i].before)
			continue;
		rows[i].difference =
			significance_rates(rows[i].before, before_s, rows[i].packets, now_s);
		tests[tested++] = &rows[i].difference;
	}
	return significance_correct(tests, tested);
}

static double growth(const json_t *row)
{
	return json_real_value(json_object_get(row, "per_second")) -
	       json_real_value(json_object_get(row, "before_per_second"));
}

/* Faults first, then the largest growth. */
static int by_growth(const void *a, const void *b)
{
	double x = growth(*(json_t *const *)a), y = growth(*(json_t *const *)b);
	size_t one = drop_lines_rank(*(json_t *const *)a);
	size_t other = drop_lines_rank(*(json_t *const *)b);

	if (one != other)
		return one < other ? -1 : 1;
	return x > y ? -1 : x < y;
}

static json_t *sorted(const json_t *rows)
{
	size_t count = json_array_size(rows);
	OWN_FREE json_t **row = calloc(count + 1, sizeof(*row));
	json_t *list = row ? json_array() : NULL;

	if (!list)
		return NULL;
	for (size_t i = 0; i < count; i++)
		row[i] = json_array_get(rows, i);
	qsort(row, count, sizeof(*row), by_growth);
	for (size_t i = 0; i < count; i++)
		json_array_append(list, row[i]);
	return list;
}

/* The rows that are new or have grown; NULL: no memory. */
static json_t *select_rows(struct compared *all, size_t count, double now_s, double before_s)
{
	OWN_JSON json_t *rows = json_array();

	if (test(all, count, now_s, before_s) < 0)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (!all[i].before || has_grown(&all[i], now_s, before_s))
			json_array_append_new(rows, compared_row(&all[i], now_s, before_s));
	return sorted(rows);
}

json_t *compare_drops(const json_t *now, const json_t *before)
{
	OWN_JSON json_t *index = index_rows(before), *fresh = index_rows(now);
	OWN_FREE struct compared *all = calloc(json_object_size(fresh) + 1, sizeof(*all));
	json_t *row, *rows;
	const char *key;
	size_t count = 0;

	if (!all)
		return NULL;
	json_object_foreach(fresh, key, row)
	{
		const json_t *old = json_object_get(index, key);

		all[count++] = (struct compared){.row = row,
						 .packets = field_count_or(row, "packets", 0),
						 .before = field_count_or(old, "packets", 0)};
	}
	rows = select_rows(all, count, seconds_of(now), seconds_of(before));
	return json_pack("{s:o, s:O, s:O}", "rows", rows, "period", json_object_get(now, "period"),
			 "before", json_object_get(before, "period"));
}

static struct units_text rate_text(const json_t *row, const char *member)
{
	return units_rate(json_real_value(json_object_get(row, member)));
}

static void put_row(struct table *table, const json_t *row)
{
	OWN_FREE char *reason = drop_lines_reason(row);
	bool fresh = field_true(row, "new");

	table_row(table);
	table_cell(table, fresh ? PAGE_BAD : PAGE_WARN, "%s", fresh ? "new" : "grown");
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(row, "packets").s);
	table_cell(table, PAGE_PLAIN, "%s", rate_text(row, "per_second").s);
	table_cell(table, PAGE_PLAIN, "%s", fresh ? "-" : rate_text(row, "before_per_second").s);
	table_cell(table, PAGE_PLAIN, "%s", reason ? reason : "?");
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "class"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "location"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "device"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(row, "protocol"));
}

int compare_put(struct page *page, const json_t *compared, size_t most)
{
	const json_t *rows = json_object_get(compared, "rows"), *row;
	OWN_TABLE struct table *table = NULL;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	table_column(table, TABLE_LEFT, "");
	table_column(table, TABLE_RIGHT, "packets");
	table_column(table, TABLE_RIGHT, "rate");
	table_column(table, TABLE_RIGHT, "rate before");
	table_column(table, TABLE_LEFT, "reason");
	table_column(table, TABLE_LEFT, "class");
	table_column(table, TABLE_LEFT, "location");
	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_LEFT, "protocol");
	json_array_foreach(rows, i, row) if (i < most) put_row(table, row);
	return table_put(table, page);
}
