/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/utf8.h"

/*
 * Table 3-7 of the Unicode standard: limits for the second byte exclude overlong forms, surrogates and values above
 * U+10FFFF.
 */
size_t utf8_bytes(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
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
