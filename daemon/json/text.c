/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of the kernel can be any bytes, but JSON must be UTF-8, and jansson refuses all other bytes. */
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "daemon/json/json.h"

json_t *json_text(const char *bytes, size_t max)
{
	size_t len = strnlen(bytes, max), out = 0;
	char *clean = malloc(len * 3 + 1);
	json_t *text;

	if (!clean)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_bytes(bytes + i, len - i);

		memcpy(clean + out, n ? bytes + i : UTF8_REPLACEMENT, n ? n : 3);
		out += n ? n : 3;
		i += n ? n : 1;
	}
	text = json_stringn_nocheck(clean, out);
	free(clean);
	return text;
}
