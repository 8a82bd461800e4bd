/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recent {
	size_t capacity, count, next;
	size_t record_size, stride; /* bytes; a stride keeps the next record aligned */
	_Alignas(8) unsigned char records[];
};

int recent_new(struct recent **recent, size_t capacity, size_t record_size)
{
	size_t stride = (record_size + 7) & ~(size_t)7, bytes;
	struct recent *fresh;

	if (__builtin_mul_overflow(capacity, stride, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*fresh), &bytes))
		return -ENOMEM;
	/* calloc: pages are only taken as records come. */
	fresh = calloc(1, bytes);
	if (!fresh)
		return -ENOMEM;
	fresh->capacity = capacity;
	fresh->record_size = record_size;
	fresh->stride = stride;
	*recent = fresh;
	return 0;
}

void recent_free(struct recent **recent)
{
	free(*recent);
	*recent = NULL;
}

void recent_add(struct recent *recent, const struct nf_record *record)
{
	struct nf_record *to =
		(struct nf_record *)(recent->records + recent->next * recent->stride);
	size_t size = record->size < recent->record_size ? record->size : recent->record_size;

	memcpy(to, record, size);
	to->size = (uint32_t)size;
	recent->next = (recent->next + 1) % recent->capacity;
	if (recent->count < recent->capacity)
		recent->count++;
}

size_t recent_count(const struct recent *recent)
{
	return recent->count;
}

size_t recent_capacity(const struct recent *recent)
{
	return recent->capacity;
}

const struct nf_record *recent_newest(const struct recent *recent, size_t i)
{
	size_t at = (recent->next + recent->capacity - 1 - i) % recent->capacity;

	if (i >= recent->count)
		return NULL;
	return (const struct nf_record *)(recent->records + at * recent->stride);
}
