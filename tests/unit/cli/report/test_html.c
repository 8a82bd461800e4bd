/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of the report: what is escaped, and how a period is divided. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/html.h"
#include "cli/report/model.h"
#include "cli/report/write.h"
#include "tests/unit/test.h"

struct page {
	struct html html;
	char *text;
	size_t size;
};

static void open_page(struct page *page)
{
	*page = (struct page){};
	page->html.file = open_memstream(&page->text, &page->size);
	assert_non_null(page->html.file);
}

static void expect(struct page *page, const char *expected)
{
	fclose(page->html.file);
	assert_false(page->html.failed);
	assert_string_equal(page->text, expected);
	free(page->text);
}

TEST(test_text)
{
	struct page page;

	open_page(&page);
	html_text(&page.html, "%s", "<script>&\"'");
	expect(&page, "&lt;script&gt;&amp;&quot;&#39;");
	open_page(&page);
	html_text(&page.html, "%s", "a\nb\x1b\xff →");
	expect(&page, "a\\x0ab\\x1b\\xff →");
	/* A mark that turns the direction of the text after it. */
	open_page(&page);
	html_text(&page.html, "%s", "\xe2\x80\xae");
	expect(&page, "\\xe2\\x80\\xae");
}

TEST(test_attributes)
{
	struct page page;

	open_page(&page);
	html_drawing(&page.html, "heat", "\" onload=\"x", 3, 4);
	html_drawing_end(&page.html);
	expect(&page,
	       "<svg class=\"heat\" role=\"img\" preserveAspectRatio=\"none\" aria-label=\"&quot; onload=&quot;x\" viewBox=\"0 0 3 4\">\n</svg>\n");
}

TEST(test_advice)
{
	struct page page;

	open_page(&page);
	html_advice(&page.html, "Do <this>.\n$ `one`\n$ two\nThen `<that>` or `.");
	expect(&page,
	       "<p>Do &lt;this&gt;.</p><pre>$ `one`\n$ two</pre><p>Then <code>&lt;that&gt;</code> or `.</p>\n");
}

TEST(test_table)
{
	static const struct html_column columns[] = {{"a", false}, {"b", true}};
	struct page page;

	open_page(&page);
	html_table(&page.html, "t", columns, 2);
	html_row(&page.html);
	html_cell(&page.html, HTML_BAD, "%s", "<1>");
	html_cell(&page.html, HTML_PLAIN, "2");
	html_table_end(&page.html);
	expect(&page,
	       "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"t\"><table>\n<thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"number\">b</th></tr></thead>\n<tbody>\n<tr><td class=\"bad\">&lt;1&gt;</td><td class=\"plain number\">2</td></tr>\n</tbody></table></div>\n");
}

/* A cell has whole buckets, and there are never too many cells, wherever the period begins. */
TEST(test_steps)
{
	static const uint64_t resolutions[] = {1, 10, 60, 600, 7200};

	assert_int_equal(series_step(60, 10), 10);
	assert_int_equal(series_step(900, 10), 30);
	assert_int_equal(series_step(3600, 10), 120);
	assert_int_equal(series_step(86400, 10), 3600);
	assert_int_equal(series_step(7 * 86400, 600), 6 * 3600);
	for (uint64_t period = 1; period < UINT64_C(40) * 365 * 86400; period = period * 5 / 4 + 1)
		for (size_t i = 0; i < sizeof(resolutions) / sizeof(resolutions[0]); i++) {
			uint64_t step = series_step(period, resolutions[i]);

			assert_int_equal(step % resolutions[i], 0);
			assert_true(period / step + 2 <= MODEL_CELLS);
		}
}

/* Without any reply: no section may crash, and each says that it has nothing. */
TEST(test_nothing)
{
	struct model model = {0};
	struct page page;

	open_page(&page);
	assert_int_equal(report_write(page.html.file, &model), 0);
	fclose(page.html.file);
	assert_non_null(strstr(page.text, "No packet was dropped."));
	assert_non_null(strstr(page.text, "No latency was measured."));
	assert_null(strstr(page.text, "<tbody>\n</tbody>"));
	free(page.text);
}

static json_t *read_json(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

/* Alerts, incidents, slots and polls whose names are markup. */
TEST(test_hostile)
{
	OWN_MODEL struct model model = {.past = true};
	struct page page;

	model.events = read_json(
		"{\"matched\": 3, \"events\": [{\"time\": \"<i>\", \"change\": \"fired\", \"summary\": \"<i>\", \"alert\": {\"name\": \"<i>\", \"severity\": \"<i>\", \"cause\": \"<i>\\n$ <i>\", \"remedy\": \"`<i>\"}}]}");
	model.incidents = read_json(
		"{\"incidents\": [{\"id\": 7, \"rule\": \"<i>\", \"time\": \"2026-11-21T03:00:00Z\"}]}");
	model.slots = read_json(
		"{\"limit\": 18, \"matched\": 1, \"devices\": [{\"device\": \"<i>\", \"overflows\": 4, \"outcomes\": {\"dropped\": 4}}]}");
	model.napi = read_json(
		"{\"matched\": 1, \"napi\": [{\"device\": \"<i>\", \"polls\": 3, \"full_budgets\": 1}], \"cpus\": [{\"cpu\": 0, \"wait_count\": 5}]}");
	open_page(&page);
	assert_int_equal(report_write(page.html.file, &model), 0);
	fclose(page.html.file);
	assert_null(strstr(page.text, "<i>"));
	assert_non_null(strstr(page.text, "1 alert fired (&lt;i&gt;)"));
	assert_non_null(strstr(page.text, "2 older changes are not shown."));
	assert_non_null(strstr(page.text, "$ netflowctl incidents show 7   # &lt;i&gt;"));
	assert_non_null(strstr(page.text, "33.3 %"));
	free(page.text);
}

/* Rows that the reply did not have are counted, with the command that shows them. */
TEST(test_more_rows)
{
	static const char slots[] = "3 more rows; <code>netflowctl slots --all</code> shows them.";
	static const char napi[] = "5 more rows; <code>netflowctl napi --all</code> shows them.";
	OWN_MODEL struct model model = {0};
	struct page page;

	model.slots = read_json(
		"{\"limit\": 18, \"matched\": 5, \"devices\": [{\"device\": \"eth0\"}, {\"device\": \"eth1\"}]}");
	model.napi = read_json(
		"{\"matched\": 6, \"napi\": [{\"device\": \"eth0\", \"polls\": 3}], \"cpus\": [{\"cpu\": 0}]}");
	open_page(&page);
	assert_int_equal(report_write(page.html.file, &model), 0);
	fclose(page.html.file);
	assert_non_null(strstr(page.text, slots));
	assert_non_null(strstr(page.text, napi));
	free(page.text);
	/* All are there. */
	json_object_set_new(model.slots, "matched", json_integer(2));
	json_object_set_new(model.napi, "matched", json_integer(1));
	open_page(&page);
	assert_int_equal(report_write(page.html.file, &model), 0);
	fclose(page.html.file);
	assert_null(strstr(page.text, "more rows"));
	free(page.text);
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
