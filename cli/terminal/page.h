/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines for people.  Commands put all text for people on a page, and a page prints only printable text
 * (cli/terminal/text.h).  No caller can therefore forget to escape a name that comes from the kernel.
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

/* Create an empty page without limits of size.  `term` must outlive the page.  0 or -ENOMEM. */
int page_new(struct page **page, const struct term *term);
void page_free(struct page **page);
#define OWN_PAGE CLEANUP(page_free)

const struct term *page_term(const struct page *page);

/*
 * From now on, cut lines after `columns` and drop lines after the first `rows`; 0 is no limit.  Only a screen needs
 * this: other output is never cut.
 */
void page_limit(struct page *page, size_t columns, size_t rows);

/* Lines that still fit; SIZE_MAX without a limit. */
size_t page_rows_left(const struct page *page);

/* The width of the current line in columns. */
size_t page_column(const struct page *page);

/* Append to the current line.  A newline in the text does not end the line: it is escaped as a control character. */
void page_put(struct page *page, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Append blanks up to `column`, at least `least` of them. */
void page_pad(struct page *page, size_t column, size_t least);

/* Append `text`, aligned to the right in `width` columns.  Wider text is not cut. */
void page_put_right(struct page *page, enum page_style style, const char *text, size_t width);

/* End the current line. */
void page_end(struct page *page);

/* Do page_put(), then page_end(). */
void page_line(struct page *page, enum page_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Put text on the current line.  Where the terminal ends, break the text at a blank and continue on another line, which
 * begins at column `indent`.  End the last line.
 */
void page_paragraph(struct page *page, enum page_style style, size_t indent, const char *format,
		    ...) __attribute__((format(printf, 4, 5)));

/*
 * Put each line of `text` as a paragraph.  A line that begins with "$ " is a command: it is never broken, so that the
 * user can copy it.
 */
void page_advice(struct page *page, size_t indent, const char *text);

/*
 * Write the page to `out` and empty it.  0; -ENOMEM if memory was short while the page was filled; or a negative errno
 * of the write.
 */
int page_write(struct page *page, FILE *out);

/*
 * Receives one piece of text from page_draw(): its line, its style and its bytes, which are valid during the call.
 * The pieces of a line arrive in order.
 */
typedef void (*page_piece)(void *data, size_t row, enum page_style style, const char *text,
			   size_t len);

/*
 * Pass the page to `piece` and empty it, for a screen, which is not a stream.  All pieces are PAGE_PLAIN if the page's
 * terminal has no colours.  0, or -ENOMEM if memory was short while the page was filled.
 */
int page_draw(struct page *page, page_piece piece, void *data);

#endif
