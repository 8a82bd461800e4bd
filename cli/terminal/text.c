/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "common/array.h"
#include "common/cleanup.h"

#define ESCAPED_BYTE 4 /* \xNN */

/* The characters beyond ASCII that netflowctl prints itself, except the blocks of charts (cli/terminal/chart.c). */
static const struct {
	uint32_t point;
	const char *ascii;
} plain[] = {
	{0x00b5, "u"},	 /* µ */
	{0x00b7, "|"},	 /* · */
	{0x2013, "-"},	 /* – */
	{0x2026, "..."}, /* … */
	{0x2192, "->"},	 /* → */
	{0x2264, "<="},	 /* ≤ */
	{0x2265, ">="},	 /* ≥ */
};

/*
 * Decode the character at `s` and return its length in bytes, or 0 if there is no valid UTF-8.  RFC 3629 excludes
 * overlong forms, surrogates and everything beyond U+10FFFF.
 */
static size_t decode(const char *s, uint32_t *point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	uint32_t value;
	size_t len;

	if (u[0] < 0x80) {
		*point = u[0];
		return 1;
	}
	if ((u[0] & 0xe0) == 0xc0)
		len = 2;
	else if ((u[0] & 0xf0) == 0xe0)
		len = 3;
	else if ((u[0] & 0xf8) == 0xf0)
		len = 4;
	else
		return 0;
	value = u[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (u[i] & 0x3f);
	}
	if (value < least[len] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*point = value;
	return len;
}

/* Bidirectional marks and line separators.  They reorder the text around them, so one name could look like another. */
static bool reorders(uint32_t point)
{
	return point == 0x061c || point == 0x200e || point == 0x200f ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static bool printable_point(uint32_t point)
{
	if (point < 0x80)
		return point >= 0x20 && point != 0x7f;
	return !reorders(point) && wcwidth((wchar_t)point) >= 0;
}

static const char *plain_form(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (plain[i].point == point)
			return plain[i].ascii;
	return NULL;
}

static char *escape(char *out, const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		*out++ = '\\';
		*out++ = 'x';
		*out++ = digits[byte >> 4];
		*out++ = digits[byte & 0xf];
	}
	return out;
}

char *text_printable(const char *text, bool utf8)
{
	char *printable = malloc(strlen(text) * ESCAPED_BYTE + 1);
	char *out = printable;

	if (!printable)
		return NULL;
	while (*text) {
		uint32_t point;
		size_t len = decode(text, &point);
		const char *ascii;

		if (len == 1 && printable_point(point)) {
			*out++ = *text;
		} else if (len > 1 && !utf8 && (ascii = plain_form(point))) {
			out = stpcpy(out, ascii);
		} else if (len > 1 && utf8 && printable_point(point)) {
			out = mempcpy(out, text, len);
		} else {
			len = len ? len : 1;
			out = escape(out, text, len);
		}
		text += len;
	}
	*out = '\0';
	return printable;
}

/* Set *columns to the width of the character at `s` and return its length in bytes, at least 1. */
static size_t step(const char *s, size_t *columns)
{
	uint32_t point;
	size_t len = decode(s, &point);
	int width;

	if (!len) {
		*columns = 1;
		return 1;
	}
	width = wcwidth((wchar_t)point);
	*columns = width < 0 ? 1 : (size_t)width;
	return len;
}

char *text_format(bool utf8, const char *format, va_list list)
{
	OWN_FREE char *text = NULL;

	if (vasprintf(&text, format, list) < 0) {
		/* On failure, vasprintf() leaves the pointer undefined. */
		text = NULL;
		return NULL;
	}
	return text_printable(text, utf8);
}

size_t text_width(const char *printable)
{
	size_t width = 0;

	while (*printable) {
		size_t columns;

		printable += step(printable, &columns);
		width += columns;
	}
	return width;
}

size_t text_fit(const char *printable, size_t columns)
{
	const char *s = printable;

	while (*s) {
		size_t width, len = step(s, &width);

		if (width > columns)
			break;
		columns -= width;
		s += len;
	}
	return (size_t)(s - printable);
}

char *text_cut(const char *printable, size_t columns, bool utf8)
{
	const char *mark = utf8 ? "…" : "~";
	char *cut = NULL;

	if (text_width(printable) <= columns)
		return strdup(printable);
	if (!columns)
		return strdup("");
	if (asprintf(&cut, "%.*s%s", (int)text_fit(printable, columns - 1), printable, mark) < 0)
		return NULL;
	return cut;
}
