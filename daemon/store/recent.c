/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recent {
	size_t capacity, count, next;
	struct nf_drop_record records[];
};

int recent_new(struct recent **recent, size_t capacity)
{
	/* calloc: pages are only taken as records come. */
	struct recent *fresh = calloc(1, sizeof(*fresh) + capacity * sizeof(fresh->records[0]));

	if (!fresh)
		return -ENOMEM;
	fresh->capacity = capacity;
	*recent = fresh;
	return 0;
}

void recent_free(struct recent **recent)
{
	free(*recent);
	*recent = NULL;
}

void recent_add(struct recent *recent, const struct nf_drop_record *record)
{
	struct nf_drop_record *to = &recent->records[recent->next];
	size_t size = record->header.size < sizeof(*to) ? record->header.size : sizeof(*to);

	memcpy(to, record, size);
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

const struct nf_drop_record *recent_newest(const struct recent *recent, size_t i)
{
	if (i >= recent->count)
		return NULL;
	return &recent->records[(recent->next + recent->capacity - 1 - i) % recent->capacity];
}
