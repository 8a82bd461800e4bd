/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/drop_lines.h"

#include <stdarg.h>
#include <string.h>

#include "cli/ask/classes.h"
#include "cli/ask/field.h"
#include "cli/terminal/text.h"

#define STACK_INDENT 6
#define GAP 2

/* The texts of one line; NULL where memory was short. */
struct line {
	char *texts[DROP_LINES_COLUMNS];
};

static void line_free(struct line *line)
{
	for (size_t i = 0; i < DROP_LINES_COLUMNS; i++)
		free(line->texts[i]);
}

#define OWN_LINE CLEANUP(line_free)

/* A formatted text, which the caller frees; NULL when out of memory. */
__attribute__((format(printf, 1, 2))) static char *text(const char *format, ...)
{
	char *made = NULL;
	va_list list;

	va_start(list, format);
	if (vasprintf(&made, format, list) < 0)
		made = NULL;
	va_end(list);
	return made;
}

/* Candidates that a line names; it counts the others. */
#define CANDIDATES_NAMED 3

/* "A or B", of the different reasons that are possible; NULL: there are none, or no memory. */
static char *candidates(const json_t *object)
{
	const json_t *list = json_object_get(object, "candidates"), *one;
	const char *names[CANDIDATES_NAMED] = {NULL};
	size_t named = 0, others = 0, i;
	char *made = NULL;

	json_array_foreach(list, i, one)
	{
		const char *name = field_text_or(one, "reason", "another");
		bool known = false;

		for (size_t j = 0; j < named; j++)
			known |= !strcmp(names[j], name);
		if (!known && named < CANDIDATES_NAMED)
			names[named++] = name;
		else
			others += !known;
	}
	if (!named)
		return NULL;
	made = text("%s%s%s%s%s", names[0], named > 1 ? (named > 2 ? ", " : " or ") : "",
		    named > 1 ? names[1] : "", named > 2 ? (others ? ", " : " or ") : "",
		    named > 2 ? names[2] : "");
	if (made && others) {
		char *more = text("%s or %zu more", made, others);

		free(made);
		made = more;
	}
	return made;
}

char *drop_lines_reason(const json_t *object)
{
	const char *name = field_text_or(object, "reason", NULL);
	const char *subsystem = field_text_or(object, "subsystem", "core");
	bool core = !strcmp(subsystem, "core"), inferred = field_true(object, "inferred");
	OWN_FREE char *others = candidates(object);
	uint64_t number;

	if (name && others)
		return text("%s: %s", name, others);
	if (name)
		return text("%s%s%s%s%s%s", name, core && !inferred ? "" : " (",
			    core ? "" : subsystem, core || !inferred ? "" : ", ",
			    inferred ? "inferred" : "", core && !inferred ? "" : ")");
	if (others)
		return TAKE_PTR(others);
	if (field_count(object, "reason_number", &number))
		return text("%llu%s%s%s", (unsigned long long)number, core ? "" : " (",
			    core ? "" : subsystem, core ? "" : ")");
	return text("%s", UNITS_UNKNOWN);
}

size_t drop_lines_rank(const json_t *object)
{
	const char *class = field_text_or(object, "class", "unknown");
	size_t rank = 0;

	while (classes_names[rank] && strcmp(classes_names[rank], class) != 0)
		rank++;
	return rank;
}

/* The task, in parentheses if it only happened to run on the CPU. */
static char *task(const json_t *record)
{
	const json_t *object = json_object_get(record, "task");
	bool involved = field_true(object, "involved");

	if (!object)
		return text("%s", UNITS_UNKNOWN);
	if (!json_is_boolean(json_object_get(object, "involved")))
		return text("(%s[%s], not known whether involved)", field_text(object, "comm"),
			    field_units_number(object, "pid").s);
	return text("%s%s[%s]%s", involved ? "" : "(", field_text(object, "comm"),
		    field_units_number(object, "pid").s, involved ? "" : ")");
}

/* The length, and the packets on the wire if the skb was several. */
static char *length_text(const json_t *record)
{
	uint64_t length, segments = field_count_or(record, "segments", 1);

	if (!field_count(record, "length_bytes", &length))
		return text("%s", UNITS_UNKNOWN);
	if (segments == 1)
		return text("%llu B", (unsigned long long)length);
	return text("%llu B in %llu", (unsigned long long)length, (unsigned long long)segments);
}

static struct line line_of(const json_t *record, const char *now)
{
	struct line line = {{
		text("%s", field_time(record, "time", now).s),
		drop_lines_reason(record),
		text("%s", field_text_or(record, "class", UNITS_UNKNOWN)),
		text("%s", field_text(record, "location")),
		text("%s", field_text(record, "device")),
		text("%s", field_text_or(record, "flow", field_text(record, "protocol"))),
		length_text(record),
		task(record),
	}};

	return line;
}

static void measure(struct drop_lines_widths *widths, const struct line *line, bool utf8)
{
	for (size_t i = 0; i < DROP_LINES_COLUMNS; i++) {
		OWN_FREE char *printable =
			line->texts[i] ? text_printable(line->texts[i], utf8) : NULL;
		size_t width = printable ? text_width(printable) : 0;

		if (width > widths->columns[i])
			widths->columns[i] = width;
	}
}

void drop_lines_measure(struct drop_lines_widths *widths, const json_t *record, const char *now)
{
	OWN_LINE struct line line = line_of(record, now);

	measure(widths, &line, true);
}

static void put_stack(struct page *page, const json_t *stack)
{
	const json_t *frame;
	size_t i;

	json_array_foreach(stack, i, frame)
	{
		const char *symbol = json_string_value(frame);

		page_pad(page, STACK_INDENT, 0);
		page_line(page, PAGE_DIM, "%s", symbol ? symbol : UNITS_UNKNOWN);
	}
}

bool drop_lines_put(struct page *page, struct drop_lines_widths *widths, const json_t *record,
		    const char *now, bool stack)
{
	OWN_LINE struct line line = line_of(record, now);
	const json_t *frames = json_object_get(record, "stack");
	size_t column = 0;

	measure(widths, &line, page_term(page)->utf8);
	for (size_t i = 0; i < DROP_LINES_COLUMNS; i++) {
		page_pad(page, column, 0);
		page_put(page, i == 1 ? PAGE_TITLE : PAGE_PLAIN, "%s",
			 line.texts[i] ? line.texts[i] : "?");
		column += widths->columns[i] + GAP;
	}
	page_end(page);
	if (!stack || !json_array_size(frames))
		return false;
	put_stack(page, frames);
	return true;
}
