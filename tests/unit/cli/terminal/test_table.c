/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables, and the pages that show them. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/page.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "tests/unit/test.h"

/* Returns the text that the page writes; the caller frees it. */
static char *written(struct page *page)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	return text;
}

static void expect_page(struct page *page, const char *expected)
{
	OWN_FREE char *text = written(page);

	assert_string_equal(text, expected);
}

static void fill(struct table *table)
{
	table_column(table, TABLE_RIGHT, "packets");
	table_column(table, TABLE_LEFT, "reason");
	table_column(table, TABLE_LEFT, "place");
	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", "4,217");
	table_cell(table, PAGE_PLAIN, "%s", "NO_SOCKET");
	table_cell(table, PAGE_PLAIN, "%s", "a_function_with_a_long_name+0x1f");
	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", "12,345,678");
	table_cell(table, PAGE_PLAIN, "%s", "日本");
	table_cell(table, PAGE_PLAIN, "%s", "b+0x1");
}

static void expect_table(const struct term *term, size_t indent, const char *expected)
{
	OWN_TABLE struct table *table = NULL;
	OWN_PAGE struct page *page = NULL;

	assert_int_equal(table_new(&table, term, indent), 0);
	assert_int_equal(page_new(&page, term), 0);
	fill(table);
	assert_int_equal(table_rows(table), 2);
	assert_int_equal(table_put(table, page), 0);
	expect_page(page, expected);
}

TEST(test_whole)
{
	const struct term term = {.utf8 = true};

	expect_table(&term, 0,
		     "   packets  reason     place\n"
		     "     4,217  NO_SOCKET  a_function_with_a_long_name+0x1f\n"
		     "12,345,678  日本       b+0x1\n");
	expect_table(&term, 2,
		     "     packets  reason     place\n"
		     "       4,217  NO_SOCKET  a_function_with_a_long_name+0x1f\n"
		     "  12,345,678  日本       b+0x1\n");
}

TEST(test_narrow)
{
	struct term term = {.tty = true, .utf8 = true, .columns = 40};

	expect_table(&term, 0,
		     "   packets  reason     place\n"
		     "     4,217  NO_SOCKET  a_function_with_…\n"
		     "12,345,678  日本       b+0x1\n");
	term.utf8 = false;
	expect_table(&term, 0,
		     "   packets  reason         place\n"
		     "     4,217  NO_SOCKET      a_function_w~\n"
		     "12,345,678  \\xe6\\x97\\xa5~  b+0x1\n");
}

/* Numbers and titles are not cut, even if they are wider than the terminal. */
TEST(test_too_narrow)
{
	const struct term term = {.tty = true, .utf8 = true, .columns = 5};

	expect_table(&term, 0,
		     "   packets  reason    place\n"
		     "     4,217  NO_SOCK…  a_funct…\n"
		     "12,345,678  日本      b+0x1\n");
}

TEST(test_empty)
{
	const struct term term = {.utf8 = true};
	OWN_TABLE struct table *table = NULL;
	OWN_PAGE struct page *page = NULL;

	assert_int_equal(table_new(&table, &term, 0), 0);
	assert_int_equal(page_new(&page, &term), 0);
	assert_int_equal(table_put(table, page), 0);
	expect_page(page, "");
	table_column(table, TABLE_LEFT, "a");
	table_column(table, TABLE_RIGHT, "b");
	table_least(table, 4);
	table_row(table);
	table_cell(table, PAGE_PLAIN, "x");
	assert_int_equal(table_put(table, page), 0);
	expect_page(page, "a     b\nx\n");
}

/* A cell too many is an error, and must not overwrite memory. */
TEST(test_too_many)
{
	const struct term term = {.utf8 = true};
	OWN_TABLE struct table *table = NULL;
	OWN_PAGE struct page *page = NULL;

	assert_int_equal(table_new(&table, &term, 0), 0);
	assert_int_equal(page_new(&page, &term), 0);
	table_column(table, TABLE_LEFT, "a");
	table_row(table);
	table_cell(table, PAGE_PLAIN, "x");
	table_cell(table, PAGE_PLAIN, "y");
	assert_int_equal(table_put(table, page), -ENOMEM);
}

TEST(test_harmless)
{
	const struct term term = {.tty = true, .colour = true, .utf8 = true, .columns = 80};
	OWN_TABLE struct table *table = NULL;
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;

	assert_int_equal(table_new(&table, &term, 0), 0);
	assert_int_equal(page_new(&page, &term), 0);
	table_column(table, TABLE_LEFT, "comm");
	table_row(table);
	table_cell(table, PAGE_BAD, "%s", "\033[2Jevil\n");
	assert_int_equal(table_put(table, page), 0);
	text = written(page);
	assert_string_equal(text, "\033[1mcomm\033[0m\n"
				  "\033[31m\\x1b[2Jevil\\x0a\033[0m\n");
}

TEST(test_page_limits)
{
	const struct term term = {.tty = true, .utf8 = true, .columns = 6, .rows = 2};
	OWN_PAGE struct page *page = NULL;

	assert_int_equal(page_new(&page, &term), 0);
	assert_int_equal(page_rows_left(page), SIZE_MAX);
	page_limit(page, 6, 2);
	page_put(page, PAGE_PLAIN, "abc");
	page_pad(page, 5, 1);
	assert_int_equal(page_column(page), 5);
	page_put(page, PAGE_PLAIN, "→→→");
	page_put(page, PAGE_PLAIN, "more");
	page_end(page);
	assert_int_equal(page_rows_left(page), 1);
	page_line(page, PAGE_PLAIN, "second");
	page_line(page, PAGE_PLAIN, "third");
	assert_int_equal(page_rows_left(page), 0);
	expect_page(page, "abc  →\nsecond\n");
	/* the page is empty again */
	page_line(page, PAGE_PLAIN, "again");
	expect_page(page, "again\n");
}

/* Writes a piece of text on a screen as "row style text|". */
static void note_piece(void *data, size_t row, enum page_style style, const char *text, size_t len)
{
	fprintf(data, "%zu %d %.*s|", row, (int)style, (int)len, text);
}

TEST(test_draw)
{
	const struct term term = {.colour = true, .utf8 = true, .columns = 8, .rows = 3};
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(page_new(&page, &term), 0);
	page_limit(page, 8, 3);
	page_put(page, PAGE_PLAIN, "a→");
	page_line(page, PAGE_BAD, "b\033[1m");
	page_end(page);
	page_line(page, PAGE_DIM, "c");
	page_line(page, PAGE_DIM, "too much");
	assert_int_equal(page_draw(page, note_piece, out), 0);
	/* the page is empty again */
	page_line(page, PAGE_PLAIN, "again");
	assert_int_equal(page_draw(page, note_piece, out), 0);
	fclose(out);
	assert_string_equal(text, "0 0 a→|0 5 b\\x1b[|2 2 c|0 0 again|");
}

TEST(test_paragraph)
{
	struct term term = {.tty = true, .utf8 = true, .columns = 12};
	OWN_PAGE struct page *page = NULL;

	assert_int_equal(page_new(&page, &term), 0);
	page_put(page, PAGE_PLAIN, "a: ");
	page_paragraph(page, PAGE_PLAIN, 3, "%s", "the one  two,threefourfive six");
	expect_page(page, "a: the one\n   two,three\n   fourfive\n   six\n");
	page_paragraph(page, PAGE_PLAIN, 20, "%s", "日本 ab");
	expect_page(page, "日本 ab\n");
	page_put(page, PAGE_PLAIN, "123456789012");
	page_paragraph(page, PAGE_PLAIN, 20, "%s", "日本");
	expect_page(page, "123456789012日\n                    本\n");
	page_paragraph(page, PAGE_PLAIN, 2, "%s", "");
	expect_page(page, "\n");
	term.columns = 0;
	page_paragraph(page, PAGE_PLAIN, 3, "%s", "the one two three four five six");
	expect_page(page, "the one two three four five six\n");
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
