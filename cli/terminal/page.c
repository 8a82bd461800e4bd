/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/page.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/text.h"

#define COMMAND "$ "

struct page {
	const struct term *term;
	char *text; /* finished lines, then the current line */
	size_t used;
	size_t size;
	size_t line;   /* offset in `text` at which the current line begins */
	size_t column; /* width of the current line */
	size_t row;
	size_t columns_limit;
	size_t rows_limit;
	bool failed; /* memory was short, so text is missing */
};

/* ECMA-48 SGR.  Bright colours are not used, because they vanish on a light background. */
static const char *const styles[PAGE_STYLE_COUNT] = {
	[PAGE_PLAIN] = "",	  [PAGE_TITLE] = "\033[1m", [PAGE_DIM] = "\033[2m",
	[PAGE_GOOD] = "\033[32m", [PAGE_WARN] = "\033[33m", [PAGE_BAD] = "\033[31m",
};
#define STYLE_END "\033[0m"

int page_new(struct page **page, const struct term *term)
{
	struct page *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->term = term;
	*page = new;
	return 0;
}

void page_free(struct page **page)
{
	if (!*page)
		return;
	free((*page)->text);
	free(*page);
	*page = NULL;
}

const struct term *page_term(const struct page *page)
{
	return page->term;
}

void page_limit(struct page *page, size_t columns, size_t rows)
{
	page->columns_limit = columns;
	page->rows_limit = rows;
}

size_t page_rows_left(const struct page *page)
{
	if (!page->rows_limit)
		return SIZE_MAX;
	return page->row < page->rows_limit ? page->rows_limit - page->row : 0;
}

size_t page_column(const struct page *page)
{
	return page->column;
}

static void append(struct page *page, const char *bytes, size_t len)
{
	if (page->used + len > page->size) {
		size_t size = (page->used + len) * 2 + 256;
		char *text = realloc(page->text, size);

		if (!text) {
			page->failed = true;
			return;
		}
		page->text = text;
		page->size = size;
	}
	if (len)
		memcpy(page->text + page->used, bytes, len);
	page->used += len;
}

static void append_string(struct page *page, const char *string)
{
	append(page, string, strlen(string));
}

static void put_printable(struct page *page, enum page_style style, const char *printable)
{
	size_t len = strlen(printable);
	bool styled = page->term->colour && style != PAGE_PLAIN;

	if (page->columns_limit)
		len = text_fit(printable, page->column < page->columns_limit
						  ? page->columns_limit - page->column
						  : 0);
	if (!len || !page_rows_left(page))
		return;
	if (styled)
		append_string(page, styles[style]);
	append(page, printable, len);
	if (styled)
		append_string(page, STYLE_END);
	page->column += printable[len] ? page->columns_limit - page->column : text_width(printable);
}

/* The printable form of a formatted text, which the caller frees.  Out of memory: sets `failed` and returns NULL. */
static char *make_printable(struct page *page, const char *format, va_list list)
{
	char *printable = text_format(page->term->utf8, format, list);

	if (!printable)
		page->failed = true;
	return printable;
}

static void put_list(struct page *page, enum page_style style, const char *format, va_list list)
{
	OWN_FREE char *printable = make_printable(page, format, list);

	if (printable)
		put_printable(page, style, printable);
}

void page_put(struct page *page, enum page_style style, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put_list(page, style, format, list);
	va_end(list);
}

void page_pad(struct page *page, size_t column, size_t least)
{
	size_t blanks = page->column < column ? column - page->column : 0;

	if (blanks < least)
		blanks = least;
	page_put(page, PAGE_PLAIN, "%*s", (int)blanks, "");
}

void page_put_right(struct page *page, enum page_style style, const char *text, size_t width)
{
	size_t columns = text_width(text);

	page_pad(page, 0, columns < width ? width - columns : 0);
	page_put(page, style, "%s", text);
}

void page_end(struct page *page)
{
	/* Empty cells at the end of a table's row leave only blanks. */
	while (page->used > page->line && page->text[page->used - 1] == ' ')
		page->used--;
	if (page_rows_left(page))
		append_string(page, "\n");
	page->line = page->used;
	page->row++;
	page->column = 0;
}

void page_line(struct page *page, enum page_style style, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put_list(page, style, format, list);
	va_end(list);
	page_end(page);
}

/*
 * The bytes of `text` that go on a line with `columns` left: up to the last blank that fits.  A word that is wider than
 * the line is cut.  At least one character goes on the line, so that the caller always makes progress.
 */
static size_t line_length(const char *text, size_t columns)
{
	size_t fit = text_fit(text, columns);
	size_t len = fit;

	if (!text[fit])
		return fit;
	while (len && text[len] != ' ')
		len--;
	if (len)
		return len;
	return fit ? fit : text_fit(text, 2);
}

void page_paragraph(struct page *page, enum page_style style, size_t indent, const char *format,
		    ...)
{
	OWN_FREE char *printable = NULL;
	size_t columns = page->term->columns;
	const char *rest;
	va_list list;

	va_start(list, format);
	printable = make_printable(page, format, list);
	va_end(list);
	for (rest = printable; rest && *rest;) {
		size_t left = columns > page->column ? columns - page->column : 1;
		size_t len = columns ? line_length(rest, left) : strlen(rest);
		OWN_FREE char *line = strndup(rest, len);

		if (line)
			put_printable(page, style, line);
		else
			page->failed = true;
		rest += len;
		rest += strspn(rest, " ");
		if (!*rest)
			break;
		page_end(page);
		page_pad(page, indent, 0);
	}
	page_end(page);
}

void page_advice(struct page *page, size_t indent, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		page_pad(page, indent, 0);
		if (!strncmp(text, COMMAND, strlen(COMMAND)))
			page_line(page, PAGE_GOOD, "  %.*s", (int)len, text);
		else
			page_paragraph(page, PAGE_PLAIN, indent, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* Empty the page.  0, or -ENOMEM if text is missing from it. */
static int restart(struct page *page)
{
	int r = page->failed ? -ENOMEM : 0;

	page->used = 0;
	page->line = 0;
	page->row = 0;
	page->column = 0;
	page->failed = false;
	return r;
}

int page_write(struct page *page, FILE *out)
{
	int r;

	if (page->used)
		fwrite(page->text, 1, page->used, out);
	r = restart(page);
	errno = 0;
	if (fflush(out) || ferror(out))
		r = errno ? -errno : -EIO;
	return r;
}

/* If `text` begins with the escape sequence of a style, set *style and return the sequence's length; otherwise 0. */
static size_t read_style(const char *text, size_t len, enum page_style *style)
{
	size_t end = strlen(STYLE_END);

	if (len >= end && !memcmp(text, STYLE_END, end)) {
		*style = PAGE_PLAIN;
		return end;
	}
	for (size_t i = PAGE_PLAIN + 1; i < PAGE_STYLE_COUNT; i++) {
		end = strlen(styles[i]);
		if (len < end || memcmp(text, styles[i], end))
			continue;
		*style = (enum page_style)i;
		return end;
	}
	return 0;
}

/* Every escape character in the text begins a sequence of ours: text_format() escapes those of callers. */
int page_draw(struct page *page, page_piece piece, void *data)
{
	enum page_style style = PAGE_PLAIN;
	size_t row = 0;

	for (size_t i = 0; i < page->used;) {
		const char *text = page->text + i;
		size_t len = 0, left = page->used - i;

		if (*text == '\n') {
			row++;
			i++;
			continue;
		}
		if (*text == '\033') {
			len = read_style(text, left, &style);
			i += len ? len : 1;
			continue;
		}
		while (len < left && text[len] != '\n' && text[len] != '\033')
			len++;
		piece(data, row, style, text, len);
		i += len;
	}
	return restart(page);
}
