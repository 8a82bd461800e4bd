/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the reader of the history's values with arbitrary bytes, as a damaged file has them: what it accepts is the
 * same after it was written again.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "daemon/history/vector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t value[VECTOR_MAX] = {0}, again[VECTOR_MAX] = {0};
	uint8_t bytes[VECTOR_BYTES_MAX];
	size_t count, length;

	if (!size)
		return 0;
	count = (size_t)data[0] + 1;
	if (vector_add(value, count, data + 1, size - 1) < 0)
		return 0;
	length = vector_encode(value, count, bytes);
	assert(length <= sizeof(bytes));
	assert(vector_add(again, count, bytes, length) == 0);
	assert(!memcmp(value, again, sizeof(value)));
	return 0;
}
