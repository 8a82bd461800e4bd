/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recent {
	size_t capacity, count, next;
	size_t record_size, attached_size, stride; /* bytes */
	recent_release release;
	void *userdata;
	/* Each entry: the attached bytes, then the record. */
	_Alignas(8) unsigned char entries[];
};

/* Entries and their two parts stay aligned. */
static size_t aligned(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

int recent_new_attached(struct recent **recent, size_t capacity, size_t record_size,
			size_t attached_size, recent_release release, void *userdata)
{
	size_t stride = aligned(attached_size) + aligned(record_size), bytes;
	struct recent *fresh;

	if (__builtin_mul_overflow(capacity, stride, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*fresh), &bytes))
		return -ENOMEM;
	/* calloc: the kernel gives pages only as records arrive. */
	fresh = calloc(1, bytes);
	if (!fresh)
		return -ENOMEM;
	fresh->capacity = capacity;
	fresh->record_size = record_size;
	fresh->attached_size = aligned(attached_size);
	fresh->stride = stride;
	fresh->release = release;
	fresh->userdata = userdata;
	*recent = fresh;
	return 0;
}

int recent_new(struct recent **recent, size_t capacity, size_t record_size)
{
	return recent_new_attached(recent, capacity, record_size, 0, NULL, NULL);
}

/* The attached bytes come first. */
static unsigned char *entry(const struct recent *recent, size_t i)
{
	size_t at = (recent->next + recent->capacity - 1 - i) % recent->capacity;

	return (unsigned char *)recent->entries + at * recent->stride;
}

void recent_free(struct recent **recent)
{
	struct recent *old = *recent;

	for (size_t i = 0; old && old->release && i < old->count; i++)
		old->release(entry(old, i), old->userdata);
	free(old);
	*recent = NULL;
}

void *recent_add(struct recent *recent, const struct nf_record *record)
{
	size_t size = record->size < recent->record_size ? record->size : recent->record_size;
	unsigned char *attached = recent->entries + recent->next * recent->stride;
	struct nf_record *to = (struct nf_record *)(attached + recent->attached_size);

	if (recent->count == recent->capacity && recent->release)
		recent->release(attached, recent->userdata);
	memset(attached, 0, recent->attached_size);
	memcpy(to, record, size);
	to->size = (uint32_t)size;
	recent->next = (recent->next + 1) % recent->capacity;
	if (recent->count < recent->capacity)
		recent->count++;
	return attached;
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
	if (i >= recent->count)
		return NULL;
	return (const struct nf_record *)(entry(recent, i) + recent->attached_size);
}

void *recent_attached(const struct recent *recent, size_t i)
{
	return entry(recent, i);
}
