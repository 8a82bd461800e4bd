/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes of unknown origin as UTF-8, which JSON requires. */
#include <stdlib.h>
#include <string.h>

#include "daemon/json/json.h"

/*
 * The length in bytes of the UTF-8 character at `p`; 0 if there is no valid one.  Table 3-7 of the Unicode standard:
 * limits for the second byte exclude overlong forms, surrogates and values above U+10FFFF.
 */
static size_t utf8_bytes(const unsigned char *p, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t bytes;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	bytes = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (len < bytes || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return bytes;
}

json_t *json_text(const char *bytes, size_t max)
{
	static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
	const unsigned char *p = (const unsigned char *)bytes;
	size_t len = strnlen(bytes, max), out = 0;
	char *clean = malloc(len * 3 + 1);
	json_t *text;

	if (!clean)
		return NULL;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_bytes(p + i, len - i);

		memcpy(clean + out, n ? bytes + i : replacement, n ? n : 3);
		out += n ? n : 3;
		i += n ? n : 1;
	}
	text = json_stringn_nocheck(clean, out);
	free(clean);
	return text;
}
