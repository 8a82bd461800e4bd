/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recent {
	size_t capacity, count, next;
	size_t record_size, capture_size;
	size_t capture_at, stride; /* bytes, multiples of 8 */
	recent_release release;
	void *userdata;
	_Alignas(8) unsigned char entries[];
};

#define ALIGNED(size) (((size) + 7) & ~(size_t)7)

int recent_new(struct recent **recent, size_t capacity, size_t record_size, size_t capture_size,
	       recent_release release, void *userdata)
{
	size_t stride = ALIGNED(record_size) + ALIGNED(capture_size), bytes;
	struct recent *fresh;

	if (__builtin_mul_overflow(capacity, stride, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*fresh), &bytes))
		return -ENOMEM;
	/* calloc(), because a page then takes memory only once records fill it. */
	fresh = calloc(1, bytes);
	if (!fresh)
		return -ENOMEM;
	fresh->capacity = capacity;
	fresh->record_size = record_size;
	fresh->capture_size = capture_size;
	fresh->capture_at = ALIGNED(record_size);
	fresh->stride = stride;
	fresh->release = release;
	fresh->userdata = userdata;
	*recent = fresh;
	return 0;
}

static unsigned char *entry(const struct recent *recent, size_t at)
{
	return (unsigned char *)recent->entries + at * recent->stride;
}

static void release(struct recent *recent, size_t at)
{
	if (recent->release)
		recent->release(recent->userdata, entry(recent, at) + recent->capture_at);
}

void recent_free(struct recent **recent)
{
	if (!*recent)
		return;
	/* A ring that is not full has been filled from its beginning. */
	for (size_t at = 0; at < (*recent)->count; at++)
		release(*recent, at);
	free(*recent);
	*recent = NULL;
}

void recent_add(struct recent *recent, const struct nf_record *record, const void *capture)
{
	struct nf_record *to = (struct nf_record *)entry(recent, recent->next);
	size_t size = record->size < recent->record_size ? record->size : recent->record_size;

	if (recent->count == recent->capacity)
		release(recent, recent->next);
	else
		recent->count++;
	memcpy(to, record, size);
	to->size = (uint32_t)size;
	if (recent->capture_size)
		memcpy(entry(recent, recent->next) + recent->capture_at, capture,
		       recent->capture_size);
	recent->next = (recent->next + 1) % recent->capacity;
}

size_t recent_count(const struct recent *recent)
{
	return recent->count;
}

size_t recent_capacity(const struct recent *recent)
{
	return recent->capacity;
}

static unsigned char *newest(const struct recent *recent, size_t i)
{
	if (i >= recent->count)
		return NULL;
	return entry(recent, (recent->next + recent->capacity - 1 - i) % recent->capacity);
}

const struct nf_record *recent_newest(const struct recent *recent, size_t i)
{
	return (const struct nf_record *)newest(recent, i);
}

void *recent_capture(const struct recent *recent, size_t i)
{
	unsigned char *at = newest(recent, i);

	return at ? at + recent->capture_at : NULL;
}
