/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars, sparklines, and the buckets from which they are drawn. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show/buckets.h"
#include "cli/show/segment.h"
#include "cli/terminal/chart.h"
#include "cli/terminal/page.h"
#include "cli/terminal/text.h"
#include "tests/unit/test.h"

TEST(test_bar)
{
	assert_string_equal(chart_bar(0, 8, 4, true).s, "");
	assert_string_equal(chart_bar(8, 8, 4, true).s, "████");
	assert_string_equal(chart_bar(4, 8, 4, true).s, "██");
	assert_string_equal(chart_bar(5, 8, 4, true).s, "██▌");
	assert_string_equal(chart_bar(1, 32, 4, true).s, "▏");
	/* a value above 0 is never an empty bar */
	assert_string_equal(chart_bar(1, UINT64_MAX, 4, true).s, "▏");
	assert_string_equal(chart_bar(1, UINT64_MAX, 4, false).s, "#");
	assert_string_equal(chart_bar(4, 8, 4, false).s, "##");
	assert_string_equal(chart_bar(8, 8, 4, false).s, "####");
	/* invalid values stay within the bar */
	assert_string_equal(chart_bar(9, 8, 2, false).s, "##");
	assert_string_equal(chart_bar(1, 0, 2, false).s, "");
	assert_string_equal(chart_bar(1, 1, 0, true).s, "");
	assert_int_equal(strlen(chart_bar(1, 1, SIZE_MAX, true).s), CHART_TEXT_MAX - 1);
	assert_int_equal(strlen(chart_bar(1, 1, SIZE_MAX, false).s), CHART_COLUMNS_MAX);
}

TEST(test_bar_sweep)
{
	size_t before = 0;

	for (uint64_t value = 1; value <= 1000; value++) {
		struct chart_text bar = chart_bar(value, 1000, 20, true);
		size_t width = text_width(bar.s);

		assert_true(width >= 1 && width <= 20);
		assert_true(width >= before);
		before = width;
	}
	assert_int_equal(before, 20);
}

TEST(test_sparkline)
{
	static const uint64_t values[] = {0, 1, 4, 8, 1000, 500};
	uint64_t many[CHART_COLUMNS_MAX + 5];

	assert_string_equal(chart_sparkline(values, 4, true).s, " ▁▄█");
	assert_string_equal(chart_sparkline(values, 6, true).s, " ▁▁▁█▄");
	assert_string_equal(chart_sparkline(values, 4, false).s, " .=@");
	assert_string_equal(chart_sparkline(values, 1, true).s, " ");
	assert_string_equal(chart_sparkline(values, 0, true).s, "");
	for (size_t i = 0; i < CHART_COLUMNS_MAX + 5; i++)
		many[i] = 1;
	assert_int_equal(strlen(chart_sparkline(many, CHART_COLUMNS_MAX + 5, true).s),
			 CHART_TEXT_MAX - 1);
}

static void add(struct buckets *buckets, uint64_t from_ns, uint64_t below_ns, uint64_t count)
{
	const struct bucket bucket = {.from_ns = from_ns, .below_ns = below_ns, .count = count};

	assert_int_equal(buckets_add(buckets, bucket), 0);
}

TEST(test_buckets)
{
	OWN_BUCKETS struct buckets one = {};
	OWN_BUCKETS struct buckets two = {};
	OWN_BUCKETS struct buckets came = {};

	add(&one, 8, 10, 5);
	add(&one, 4, 5, 1);
	add(&one, 6, 7, 0);
	add(&one, 8, 10, 2);
	assert_int_equal(one.count, 2);
	assert_int_equal(one.total, 8);
	assert_int_equal(one.at[0].from_ns, 4);
	assert_int_equal(one.at[1].count, 7);

	assert_int_equal(buckets_merge(&two, &one), 0);
	add(&two, 5, 6, 3);
	add(&two, 8, 10, 1);
	assert_int_equal(buckets_subtract(&came, &two, &one), 0);
	assert_int_equal(came.total, 4);
	assert_int_equal(came.count, 2);
	assert_int_equal(came.at[0].from_ns, 5);
	assert_int_equal(came.at[1].count, 1);

	/* smaller counters started again, so all of them are new */
	buckets_free(&came);
	assert_int_equal(buckets_subtract(&came, &one, &two), 0);
	assert_int_equal(came.total, 7);
}

TEST(test_quantiles)
{
	OWN_BUCKETS struct buckets buckets = {};

	assert_int_equal(buckets_quantile(&buckets, 0.5, 100), 0);
	assert_int_equal(buckets_bound(&buckets, 100), 0);
	add(&buckets, 100, 200, 98);
	add(&buckets, 1000, 2000, 1);
	add(&buckets, 4000, 8000, 1);
	assert_int_equal(buckets_quantile(&buckets, 0, 1000000), 150);
	assert_int_equal(buckets_quantile(&buckets, 0.5, 1000000), 150);
	assert_int_equal(buckets_quantile(&buckets, 0.98, 1000000), 150);
	assert_int_equal(buckets_quantile(&buckets, 0.99, 1000000), 1500);
	assert_int_equal(buckets_quantile(&buckets, 0.995, 1000000), 6000);
	assert_int_equal(buckets_quantile(&buckets, 1, 1000000), 6000);
	assert_int_equal(buckets_quantile(&buckets, 1, 4100), 4100);
	assert_int_equal(buckets_bound(&buckets, 1000000), 7999);
	assert_int_equal(buckets_bound(&buckets, 5000), 5000);
	/* the last bucket has no upper bound */
	add(&buckets, UINT64_C(1) << 36, UINT64_MAX, 100);
	assert_int_equal(buckets_quantile(&buckets, 0.9, UINT64_C(100) << 30), UINT64_C(100) << 30);
}

/* Rows of all buckets that the BPF programs can fill are contiguous and include every value. */
TEST(test_rows)
{
	OWN_BUCKETS struct buckets buckets = {};
	uint64_t values = 0;

	assert_int_equal(buckets_rows(&buckets, 20).count, 0);
	for (uint64_t ns = 0; ns < UINT64_C(1) << 36; ns += ns / 5 + 1, values++)
		add(&buckets, ns, ns + ns / 5 + 1, 1);
	for (size_t limit = 1; limit <= BUCKETS_ROWS; limit++) {
		struct bucket_rows rows = buckets_rows(&buckets, limit);
		uint64_t sum = 0;

		assert_true(rows.count >= 1 && rows.count <= limit);
		assert_int_equal(bucket_rows_from(&rows, 0), 0);
		assert_true(bucket_rows_below(&rows, rows.count - 1) >= UINT64_C(1) << 36);
		for (size_t i = 0; i < rows.count; i++) {
			sum += rows.rows[i];
			if (i)
				assert_int_equal(bucket_rows_from(&rows, i),
						 bucket_rows_below(&rows, i - 1));
		}
		assert_int_equal(sum, values);
	}
}

TEST(test_rows_on)
{
	OWN_BUCKETS struct buckets buckets = {};
	struct bucket_rows rows;
	unsigned int first, last;

	assert_false(buckets_powers(&buckets, &first, &last));
	add(&buckets, 3, 4, 1);
	add(&buckets, 64, 80, 2);
	add(&buckets, 1 << 20, 2 << 20, 4);
	assert_true(buckets_powers(&buckets, &first, &last));
	assert_int_equal(first, 1);
	assert_int_equal(last, 20);
	rows = buckets_rows_on(&buckets, 4, 2, 3);
	assert_int_equal(rows.rows[0], 1);
	assert_int_equal(rows.rows[1], 2);
	assert_int_equal(rows.rows[2], 4);
	assert_int_equal(bucket_rows_from(&rows, 1), 64);
	assert_int_equal(bucket_rows_below(&rows, 1), 256);
	rows.first = 63;
	assert_true(bucket_rows_below(&rows, 0) == UINT64_MAX);
}

static void put_histogram(const struct term *term, const struct buckets *buckets, char *text,
			  size_t size)
{
	OWN_PAGE struct page *page = NULL;
	FILE *out = fmemopen(text, size, "w");

	assert_non_null(out);
	assert_int_equal(page_new(&page, term), 0);
	segment_put_histogram(page, buckets);
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
}

TEST(test_histogram)
{
	OWN_BUCKETS struct buckets buckets = {};
	struct term term = {.utf8 = true, .tty = true, .columns = 80};
	char text[4096] = "";

	add(&buckets, 512, 640, 1000);
	add(&buckets, 640, 768, 1000);
	add(&buckets, 2048, 2560, 500);
	put_histogram(&term, &buckets, text, sizeof(text));
	assert_string_equal(
		text,
		"     512 ns –   1.02 µs         2,000   80.0 %  ████████████████████████████████\n"
		"    1.02 µs –   2.05 µs             0      0 %\n"
		"    2.05 µs –   4.10 µs           500   20.0 %  ████████\n");
	term.utf8 = false;
	term.columns = 20;
	memset(text, 0, sizeof(text));
	put_histogram(&term, &buckets, text, sizeof(text));
	assert_string_equal(text, "     512 ns -   1.02 us         2,000   80.0 %  ##########\n"
				  "    1.02 us -   2.05 us             0      0 %\n"
				  "    2.05 us -   4.10 us           500   20.0 %  ###\n");
}

TEST(test_from_json)
{
	json_t *latency = json_pack("{s:[{s:i,s:i,s:i},{s:i,s:i},{s:s,s:i}]}", "buckets", "from_ns",
				    4, "below_ns", 5, "count", 7, "from_ns", 8, "count", 2,
				    "from_ns", "x", "count", 9);
	OWN_BUCKETS struct buckets buckets = {};

	assert_non_null(latency);
	assert_int_equal(segment_buckets(latency, &buckets), 0);
	json_decref(latency);
	assert_int_equal(buckets.count, 2);
	assert_int_equal(buckets.total, 9);
	assert_true(buckets.at[1].below_ns == UINT64_MAX);
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
