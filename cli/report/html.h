/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTML page as it is written.  Names of devices, cgroups and processes are a stranger's text.  So only literals of
 * this program are markup, which the compiler checks, and all other text is escaped, in one function.
 */
#ifndef CLI_REPORT_HTML_H
#define CLI_REPORT_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct html_column {
	const char *title;
	bool number; /* aligned to the right */
};

struct html {
	FILE *file;
	bool failed; /* memory was short, so a text is missing */
	/* The table that is open. */
	const struct html_column *columns;
	size_t column;
	bool in_row;
};

/* What a text says about its value. */
enum html_tone { HTML_PLAIN, HTML_DIM, HTML_GOOD, HTML_WARN, HTML_BAD };

/* Write markup, a string literal. */
#define html_markup(html, literal) fputs("" literal, (html)->file)

/* Write text, escaped: it is never markup, also inside an attribute in quotes. */
void html_text(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Write <p class="TONE">text</p>.  Text between two backticks is code, also in html_advice(). */
void html_paragraph(struct html *html, enum html_tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Write text of the knowledge or of a rule: a line that begins with "$ " is a command. */
void html_advice(struct html *html, const char *text);

/* ---- sections and tables ------------------------------------------------------------------- */

/* Begin a section with its title; `id` is its name in links. */
void html_section(struct html *html, const char *id, const char *title);
void html_section_end(struct html *html);

/* A smaller title inside a section. */
void html_title(struct html *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begin a table of `count` columns, which must exist until its end.  `label` says what it is, for screen readers. */
void html_table(struct html *html, const char *label, const struct html_column *columns,
		size_t count);
void html_row(struct html *html);
void html_cell(struct html *html, enum html_tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void html_table_end(struct html *html);

/* ---- drawings ------------------------------------------------------------------------------ */

/*
 * Begin a drawing of `width` by `height` units, which is stretched to the size that the style sheet gives to `style`.
 * `label` says what it shows.
 */
void html_drawing(struct html *html, const char *style, const char *label, unsigned int width,
		  unsigned int height);
void html_drawing_end(struct html *html);

struct html_box {
	unsigned int x, y, width, height;
};

void html_box(struct html *html, const char *style, struct html_box box);

/* Several boxes of one style: begin, a call for each box, end. */
void html_boxes(struct html *html, const char *style);
void html_boxes_add(struct html *html, struct html_box box);
void html_boxes_end(struct html *html);

#endif
