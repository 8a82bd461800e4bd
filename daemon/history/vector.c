/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/vector.h"

#include <errno.h>
#include <stdbool.h>

#include "common/saturate.h"
#include "daemon/history/varint.h"

static void merge_one(uint64_t *into, size_t index, uint64_t value)
{
	if (index)
		into[index] = add_saturated(into[index], value);
	else if (value > into[0])
		into[0] = value;
}

void vector_merge(uint64_t *into, const uint64_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		merge_one(into, i, from[i]);
}

size_t vector_encode(const uint64_t *value, size_t count, uint8_t *bytes)
{
	size_t size = 0, next = 0;

	for (size_t i = 0; i < count; i++) {
		if (!value[i])
			continue;
		size += varint_put(bytes + size, i - next);
		size += varint_put(bytes + size, value[i]);
		next = i + 1;
	}
	return size;
}

/* `into` NULL: only look whether the bytes are a vector of at most `count` values; otherwise they are. */
static bool walk(uint64_t *into, size_t count, const uint8_t *bytes, size_t size)
{
	uint64_t next = 0;

	while (size) {
		uint64_t gap, number;
		size_t used = varint_get(bytes, size, &gap), more;

		if (!used || gap >= count || next + gap >= count)
			return false;
		more = varint_get(bytes + used, size - used, &number);
		if (!more)
			return false;
		if (into)
			merge_one(into, next + gap, number);
		next += gap + 1;
		bytes += used + more;
		size -= used + more;
	}
	return true;
}

int vector_add(uint64_t *value, size_t count, const uint8_t *bytes, size_t size)
{
	if (!walk(NULL, count, bytes, size))
		return -EBADMSG;
	walk(value, count, bytes, size);
	return 0;
}
