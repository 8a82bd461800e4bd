/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/export/negotiate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OPENMETRICS "application/openmetrics-text"
#define PLAIN "text/plain"
#define BLANKS " \t"

const char *negotiate_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS ? OPENMETRICS "; version=1.0.0; charset=utf-8"
					     : PLAIN "; version=0.0.4; charset=utf-8";
}

/* A piece of the header: up to one of `ends`, without blanks around it. */
struct piece {
	const char *at;
	size_t length;
};

static struct piece next_piece(const char **rest, const char *ends)
{
	struct piece piece;

	*rest += strspn(*rest, BLANKS);
	piece.at = *rest;
	piece.length = strcspn(*rest, ends);
	*rest += piece.length;
	while (piece.length && strchr(BLANKS, piece.at[piece.length - 1]))
		piece.length--;
	return piece;
}

static bool is(const struct piece *piece, const char *text)
{
	return piece->length == strlen(text) && !strncasecmp(piece->at, text, piece->length);
}

/* A weight in thousandths: "1", "0.5", "0.125"; what is none counts as 1. */
static unsigned int weight(const struct piece *piece)
{
	unsigned int value = 0, scale = 1000;
	size_t i = 2;

	if (!piece->length || piece->at[0] != '0')
		return 1000;
	for (; i < piece->length && isdigit((unsigned char)piece->at[i]) && scale > 1; i++) {
		scale /= 10;
		value += (unsigned int)(piece->at[i] - '0') * scale;
	}
	return value;
}

/* OpenMetrics 0.0.1 is what 1.0.0 was called before. */
static bool has_version(const struct piece *value)
{
	return is(value, "1.0.0") || is(value, "0.0.1") || is(value, "\"1.0.0\"");
}

/* The parameters of a media type, up to the comma behind it. */
static unsigned int parameters(const char **rest, bool openmetrics)
{
	unsigned int result = 1000;
	bool known = true;

	while (**rest == ';') {
		struct piece name, value = {"", 0};

		++*rest;
		name = next_piece(rest, ";,=");
		if (**rest == '=') {
			++*rest;
			value = next_piece(rest, ";,");
		}
		if (is(&name, "q"))
			result = weight(&value);
		else if (openmetrics && is(&name, "version"))
			known = has_version(&value);
	}
	return known ? result : 0;
}

enum metrics_format negotiate_format(const char *accept)
{
	unsigned int open = 0, plain = 0;

	while (*accept) {
		struct piece type = next_piece(&accept, ";,");
		bool is_open = is(&type, OPENMETRICS), is_plain = is(&type, PLAIN);
		unsigned int q = parameters(&accept, is_open);

		if (is_open && q > open)
			open = q;
		if (is_plain && q > plain)
			plain = q;
		if (*accept == ',')
			accept++;
	}
	return open && open >= plain ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
