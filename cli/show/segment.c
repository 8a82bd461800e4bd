/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/segment.h"

#include "cli/ask/field.h"
#include "cli/terminal/chart.h"

#define ROWS_LIMIT 20
#define INDENT 2
/* Wider text is not cut; it moves the bar of its row to the right. */
#define TIME_WIDTH 9
#define COUNT_WIDTH 12
#define SHARE_WIDTH 8
#define BAR_MIN 10
#define BAR_MAX 60

int segment_buckets(const json_t *latency, struct buckets *buckets)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(latency, "buckets"), i, row)
	{
		struct bucket bucket = {};
		int r;

		if (!field_count(row, "from_ns", &bucket.from_ns) ||
		    !field_count(row, "count", &bucket.count))
			continue;
		/* The last bucket of the daemon's histograms has no upper limit. */
		bucket.below_ns = field_count_or(row, "below_ns", UINT64_MAX);
		r = buckets_add(buckets, bucket);
		if (r)
			return r;
	}
	return 0;
}

static void put_row(struct page *page, const struct bucket_rows *rows, size_t row, uint64_t max,
		    uint64_t total, size_t bar)
{
	const struct term *term = page_term(page);
	struct units_text from = units_duration(bucket_rows_from(rows, row));
	struct units_text below = units_duration(bucket_rows_below(rows, row));
	struct units_text count = units_count(rows->rows[row]);
	struct units_text share = units_share(rows->rows[row], total);

	page_pad(page, 0, INDENT);
	page_put_right(page, PAGE_PLAIN, from.s, TIME_WIDTH);
	page_put(page, PAGE_DIM, " – ");
	page_put_right(page, PAGE_PLAIN, below.s, TIME_WIDTH);
	page_put_right(page, PAGE_PLAIN, count.s, 2 + COUNT_WIDTH);
	page_put_right(page, PAGE_PLAIN, share.s, 1 + SHARE_WIDTH);
	page_put(page, PAGE_GOOD, "  %s", chart_bar(rows->rows[row], max, bar, term->utf8).s);
	page_end(page);
}

void segment_put_histogram(struct page *page, const struct buckets *buckets)
{
	const size_t before =
		INDENT + TIME_WIDTH + 3 + TIME_WIDTH + 2 + COUNT_WIDTH + 1 + SHARE_WIDTH + 2;
	struct bucket_rows rows = buckets_rows(buckets, ROWS_LIMIT);
	size_t bar = page_term(page)->columns ? page_term(page)->columns : BAR_MAX + before;
	uint64_t max = 0;

	bar = bar > before + BAR_MIN ? bar - before : BAR_MIN;
	bar = bar < BAR_MAX ? bar : BAR_MAX;
	for (size_t i = 0; i < rows.count; i++)
		if (rows.rows[i] > max)
			max = rows.rows[i];
	for (size_t i = 0; i < rows.count; i++)
		put_row(page, &rows, i, max, buckets->total, bar);
}
