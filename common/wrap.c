/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/wrap.h"

#include <stdbool.h>
#include <string.h>

/* Characters of UTF-8 in `len` bytes: a byte 10xxxxxx continues one. */
static size_t characters(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

void wrap_text(FILE *to, const char *text, size_t column, const char *prefix, size_t width)
{
	bool first = true;

	text += strspn(text, " ");
	while (*text) {
		size_t len = strcspn(text, " "), wide = characters(text, len);

		if (!first && column + 1 + wide > width) {
			fprintf(to, "\n%s", prefix);
			column = characters(prefix, strlen(prefix));
			first = true;
		}
		fprintf(to, "%s%.*s", first ? "" : " ", (int)len, text);
		column += wide + !first;
		first = false;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}
