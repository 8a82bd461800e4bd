/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report/html.h"

#include <stdarg.h>
#include <string.h>

#include "cli/terminal/text.h"
#include "common/cleanup.h"

/* A class of the style sheet for each tone. */
static const char *const tones[] = {
	[HTML_PLAIN] = "plain", [HTML_DIM] = "dim", [HTML_GOOD] = "good",
	[HTML_WARN] = "warn",	[HTML_BAD] = "bad",
};

/* ---- text ---------------------------------------------------------------------------------- */

/* The only way of foreign text into the page.  Quotes count too: the text can be inside an attribute. */
static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", file);
			break;
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		case '\'':
			fputs("&#39;", file);
			break;
		default:
			fputc(*text, file);
		}
	}
}

/* The same, with text between two backticks as code, which is how the knowledge marks commands. */
static void put_marked(FILE *file, char *text)
{
	char *begin, *end;

	while ((begin = strchr(text, '`')) && (end = strchr(begin + 1, '`'))) {
		*begin = *end = 0;
		put_escaped(file, text);
		fputs("<code>", file);
		put_escaped(file, begin + 1);
		fputs("</code>", file);
		text = end + 1;
	}
	put_escaped(file, text);
}

/* Control characters, invalid UTF-8 and marks that turn the direction of text become \xNN first. */
static void put_list(struct html *html, bool marked, const char *format, va_list list)
{
	OWN_FREE char *text = text_format(true, format, list);

	if (!text)
		html->failed = true;
	else if (marked)
		put_marked(html->file, text);
	else
		put_escaped(html->file, text);
}

void html_text(struct html *html, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put_list(html, false, format, list);
	va_end(list);
}

void html_paragraph(struct html *html, enum html_tone tone, const char *format, ...)
{
	va_list list;

	html_markup(html, "<p class=\"");
	html_text(html, "%s", tones[tone]);
	html_markup(html, "\">");
	va_start(list, format);
	put_list(html, true, format, list);
	va_end(list);
	html_markup(html, "</p>\n");
}

/* A line of prose, or a command, whose backticks mean something to a shell. */
__attribute__((format(printf, 3, 4))) static void put_line(struct html *html, bool marked,
							   const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put_list(html, marked, format, list);
	va_end(list);
}

void html_advice(struct html *html, const char *text)
{
	bool command = false;

	html_markup(html, "<p>");
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		bool is_command = !strncmp(line, "$ ", 2);

		if (is_command && !command)
			html_markup(html, "</p><pre>");
		else if (!is_command && command)
			html_markup(html, "</pre><p>");
		else if (line != text)
			html_markup(html, "\n");
		command = is_command;
		put_line(html, !is_command, "%.*s", (int)len, line);
		line += len + (line[len] == '\n');
	}
	if (command)
		html_markup(html, "</pre>\n");
	else
		html_markup(html, "</p>\n");
}

/* ---- sections and tables ------------------------------------------------------------------- */

void html_section(struct html *html, const char *id, const char *title)
{
	html_markup(html, "<section id=\"");
	html_text(html, "%s", id);
	html_markup(html, "\">\n<h2>");
	html_text(html, "%s", title);
	html_markup(html, "</h2>\n");
}

void html_section_end(struct html *html)
{
	html_markup(html, "</section>\n");
}

void html_title(struct html *html, const char *format, ...)
{
	va_list list;

	html_markup(html, "<h3>");
	va_start(list, format);
	put_list(html, false, format, list);
	va_end(list);
	html_markup(html, "</h3>\n");
}

void html_table(struct html *html, const char *label, const struct html_column *columns,
		size_t count)
{
	/* A wide table scrolls in its own box; a keyboard can scroll only what has the focus. */
	html_markup(html, "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"");
	html_text(html, "%s", label);
	html_markup(html, "\"><table>\n<thead><tr>");
	for (size_t i = 0; i < count; i++) {
		if (columns[i].number)
			html_markup(html, "<th scope=\"col\" class=\"number\">");
		else
			html_markup(html, "<th scope=\"col\">");
		html_text(html, "%s", columns[i].title);
		html_markup(html, "</th>");
	}
	html_markup(html, "</tr></thead>\n<tbody>\n");
	html->columns = columns;
	html->in_row = false;
}

void html_row(struct html *html)
{
	if (html->in_row)
		html_markup(html, "</tr>\n");
	html_markup(html, "<tr>");
	html->in_row = true;
	html->column = 0;
}

void html_cell(struct html *html, enum html_tone tone, const char *format, ...)
{
	va_list list;

	html_markup(html, "<td class=\"");
	html_text(html, "%s", tones[tone]);
	if (html->columns[html->column++].number)
		html_markup(html, " number");
	html_markup(html, "\">");
	va_start(list, format);
	put_list(html, false, format, list);
	va_end(list);
	html_markup(html, "</td>");
}

void html_table_end(struct html *html)
{
	if (html->in_row)
		html_markup(html, "</tr>\n");
	html->in_row = false;
	html_markup(html, "</tbody></table></div>\n");
}

/* ---- drawings ------------------------------------------------------------------------------ */

void html_drawing(struct html *html, const char *style, const char *label, unsigned int width,
		  unsigned int height)
{
	html_markup(html, "<svg class=\"");
	html_text(html, "%s", style);
	html_markup(html, "\" role=\"img\" preserveAspectRatio=\"none\" aria-label=\"");
	html_text(html, "%s", label);
	fprintf(html->file, "\" viewBox=\"0 0 %u %u\">\n", width, height);
}

void html_drawing_end(struct html *html)
{
	html_markup(html, "</svg>\n");
}

void html_box(struct html *html, const char *style, struct html_box box)
{
	html_markup(html, "<rect class=\"");
	html_text(html, "%s", style);
	fprintf(html->file, "\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/>\n", box.x, box.y,
		box.width, box.height);
}

void html_boxes(struct html *html, const char *style)
{
	html_markup(html, "<path class=\"");
	html_text(html, "%s", style);
	html_markup(html, "\" d=\"");
}

void html_boxes_add(struct html *html, struct html_box box)
{
	fprintf(html->file, "M%u %uh%uv%uh-%uz", box.x, box.y, box.width, box.height, box.width);
}

void html_boxes_end(struct html *html)
{
	html_markup(html, "\"/>\n");
}
