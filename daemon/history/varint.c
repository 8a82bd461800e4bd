/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/varint.h"

size_t varint_put(uint8_t *bytes, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	return size;
}

size_t varint_get(const uint8_t *bytes, size_t size, uint64_t *value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size && i < VARINT_MAX; i++) {
		uint64_t part = bytes[i] & 0x7f;

		if (i == VARINT_MAX - 1 && part > 1)
			return 0;
		sum |= part << 7 * i;
		if (!(bytes[i] & 0x80)) {
			*value = sum;
			return i + 1;
		}
	}
	return 0;
}
