/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines for people.  Everything that is printed for people is put on a page,
 * and a page prints only printable text (cli/terminal/text.h), so that no caller can
 * forget to make a name from the kernel harmless.
 */
#ifndef CLI_TERMINAL_PAGE_H
#define CLI_TERMINAL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/terminal/term.h"
#include "common/cleanup.h"

enum page_style {
	PAGE_PLAIN,
	PAGE_TITLE,
	PAGE_DIM,
	PAGE_GOOD,
	PAGE_WARN,
	PAGE_BAD,
	PAGE_STYLE_COUNT,
};

struct page;

/* `term` must live as long as the page.  A page starts with no limit of size. */
int page_new(struct page **page, const struct term *term);
void page_free(struct page **page);
#define OWN_PAGE CLEANUP(page_free)

const struct term *page_term(const struct page *page);

/*
 * From now on cut lines at `columns` and drop those from `rows` on; 0 for no
 * limit.  For a screen; other output is never cut.
 */
void page_limit(struct page *page, size_t columns, size_t rows);

/* Lines that still fit; SIZE_MAX without a limit. */
size_t page_rows_left(const struct page *page);

/* Columns that the current line has. */
size_t page_column(const struct page *page);

/* Append to the current line.  A newline in the text is a control character like others. */
void page_put(struct page *page, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Blanks up to `column`, at least `least`. */
void page_pad(struct page *page, size_t column, size_t least);

/* End the current line. */
void page_end(struct page *page);

/* page_put() and page_end(). */
void page_line(struct page *page, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Put text on the current line and, broken at blanks where the terminal ends,
 * on as many more as it takes, which begin at `indent`; end the last one.
 */
void page_paragraph(struct page *page, enum page_style style, size_t indent, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

/*
 * Paragraphs as above, one a line of `text`; lines that begin with "$ " are
 * commands, and are left whole whatever the terminal's width, to be copied.
 */
void page_advice(struct page *page, size_t indent, const char *text);

/*
 * Write what was put so far to `out` and start afresh, on row 0 again.  0, or
 * -ENOMEM when something could not be put, or why `out` took no more.
 */
int page_write(struct page *page, FILE *out);

/*
 * What page_draw() tells of each piece of text of one style: the line it is
 * on, and its bytes, which end with the page.  Pieces of a line come in order.
 */
typedef void (*page_piece)(void *data, size_t row, enum page_style style, const char *text,
			   size_t len);

/*
 * Give what was put so far to `piece` and start afresh, for a screen that is
 * no stream.  Styles are told where the page's terminal has colours.  0, or
 * -ENOMEM when something could not be put.
 */
int page_draw(struct page *page, page_piece piece, void *data);

#endif
