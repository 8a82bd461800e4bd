/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/recent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Records are numbered from 1, because 0 is no record. */
struct link {
	uint32_t newer, older; /* of all causes; 0: none */
	uint64_t sequence;
};

struct recent {
	struct recent_layout layout;
	void *userdata;
	struct shares *shares;
	size_t capacity, count;
	uint64_t added;
	uint32_t newest, oldest;	    /* 0: none */
	uint32_t free;			    /* where the next record goes */
	size_t seen;			    /* the index of the record that was last read */
	uint32_t seen_at;		    /* its number; 0: not known */
	size_t capture_at, link_at, stride; /* bytes, multiples of 8 */
	unsigned char *entries;
	unsigned char *tails; /* what records have beyond plain_size */
	unsigned char *whole; /* a record with its tail, while it is read */
};

#define ALIGNED(size) (((size) + 7) & ~(size_t)7)

static size_t tail_size(const struct recent *recent)
{
	return recent->layout.record_size - recent->layout.plain_size;
}

static int allocate(struct recent *recent)
{
	size_t entries = recent->capacity + 1, bytes;

	/* One more than the capacity: a record is added before another is given up. */
	if (recent->capacity >= UINT32_MAX ||
	    __builtin_mul_overflow(entries, recent->stride + recent->layout.record_size, &bytes))
		return -ENOMEM;
	/* calloc(), because a page then takes memory only once records fill it. */
	recent->entries = calloc(entries, recent->stride);
	if (!recent->entries)
		return -ENOMEM;
	if (tail_size(recent)) {
		recent->tails = calloc(entries, tail_size(recent));
		recent->whole = calloc(1, recent->layout.record_size);
		if (!recent->tails || !recent->whole)
			return -ENOMEM;
	}
	return shares_new(&recent->shares, (uint32_t)entries);
}

int recent_new(struct recent **recent, size_t capacity, const struct recent_layout *layout,
	       void *userdata)
{
	OWN_RECENT struct recent *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->layout = *layout;
	fresh->userdata = userdata;
	fresh->capacity = capacity;
	fresh->free = 1;
	fresh->capture_at = ALIGNED(layout->plain_size);
	fresh->link_at = fresh->capture_at + ALIGNED(layout->capture_size);
	fresh->stride = fresh->link_at + ALIGNED(sizeof(struct link));
	r = allocate(fresh);
	if (r < 0)
		return r;
	*recent = TAKE_PTR(fresh);
	return 0;
}

/* ---- entries ---------------------------------------------------------------- */

static unsigned char *entry(const struct recent *recent, uint32_t at)
{
	return recent->entries + (at - 1) * recent->stride;
}

static unsigned char *tail(const struct recent *recent, uint32_t at)
{
	return recent->tails + (at - 1) * tail_size(recent);
}

static struct link *link_of(const struct recent *recent, uint32_t at)
{
	return (struct link *)(entry(recent, at) + recent->link_at);
}

static void release(const struct recent *recent, uint32_t at)
{
	if (recent->layout.release)
		recent->layout.release(recent->userdata, entry(recent, at) + recent->capture_at);
}

void recent_free(struct recent **recent)
{
	struct recent *old = *recent;

	if (!old)
		return;
	for (uint32_t at = old->newest; at; at = link_of(old, at)->older)
		release(old, at);
	shares_free(&old->shares);
	free(old->whole);
	free(old->tails);
	free(old->entries);
	free(old);
	*recent = NULL;
}

/* ---- adding ----------------------------------------------------------------- */

static void put_newest(struct recent *recent, uint32_t at)
{
	*link_of(recent, at) = (struct link){.older = recent->newest, .sequence = ++recent->added};
	if (recent->newest)
		link_of(recent, recent->newest)->newer = at;
	else
		recent->oldest = at;
	recent->newest = at;
	recent->count++;
}

static void take_out(struct recent *recent, uint32_t at)
{
	const struct link *link = link_of(recent, at);

	if (link->newer)
		link_of(recent, link->newer)->older = link->older;
	else
		recent->newest = link->older;
	if (link->older)
		link_of(recent, link->older)->newer = link->newer;
	else
		recent->oldest = link->newer;
	recent->count--;
}

static void copy_record(struct recent *recent, uint32_t at, const struct nf_record *record)
{
	const struct recent_layout *layout = &recent->layout;
	struct nf_record *to = (struct nf_record *)entry(recent, at);
	size_t size = record->size < layout->record_size ? record->size : layout->record_size;
	size_t plain = size < layout->plain_size ? size : layout->plain_size;

	memcpy(to, record, plain);
	to->size = (uint32_t)size;
	if (size > plain)
		memcpy(tail(recent, at), (const unsigned char *)record + plain, size - plain);
}

void recent_add(struct recent *recent, const struct nf_record *record,
		const struct share_cause *cause, const void *capture)
{
	uint32_t at = recent->free;

	copy_record(recent, at, record);
	if (recent->layout.capture_size)
		memcpy(entry(recent, at) + recent->capture_at, capture,
		       recent->layout.capture_size);
	put_newest(recent, at);
	shares_add(recent->shares, at, cause);
	recent->seen_at = 0;
	if (recent->count <= recent->capacity) {
		recent->free = (uint32_t)recent->count + 1;
		return;
	}
	recent->free = shares_give(recent->shares);
	take_out(recent, recent->free);
	release(recent, recent->free);
}

/* ---- reading ---------------------------------------------------------------- */

size_t recent_count(const struct recent *recent)
{
	return recent->count;
}

size_t recent_capacity(const struct recent *recent)
{
	return recent->capacity;
}

size_t recent_causes(const struct recent *recent)
{
	return shares_causes(recent->shares);
}

static size_t distance(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* Begin at the newest record, the oldest one or the one last read, whichever is nearest, and count from there. */
static uint32_t find(struct recent *recent, size_t i)
{
	size_t from = 0;
	uint32_t at = recent->newest;

	if (i >= recent->count)
		return 0;
	if (recent->count - 1 - i < i) {
		from = recent->count - 1;
		at = recent->oldest;
	}
	if (recent->seen_at && distance(i, recent->seen) < distance(i, from)) {
		from = recent->seen;
		at = recent->seen_at;
	}
	for (; from < i; from++)
		at = link_of(recent, at)->older;
	for (; from > i; from--)
		at = link_of(recent, at)->newer;
	recent->seen = i;
	recent->seen_at = at;
	return at;
}

/* The record with its tail, contiguous. */
static const struct nf_record *whole(struct recent *recent, uint32_t at)
{
	const struct nf_record *record = (const struct nf_record *)entry(recent, at);
	size_t plain = recent->layout.plain_size;

	if (record->size <= plain)
		return record;
	memcpy(recent->whole, record, plain);
	memcpy(recent->whole + plain, tail(recent, at), record->size - plain);
	return (const struct nf_record *)recent->whole;
}

const struct nf_record *recent_newest(struct recent *recent, size_t i)
{
	uint32_t at = find(recent, i);

	return at ? whole(recent, at) : NULL;
}

uint64_t recent_added(const struct recent *recent)
{
	return recent->added;
}

uint64_t recent_sequence(struct recent *recent, size_t i)
{
	uint32_t at = find(recent, i);

	return at ? link_of(recent, at)->sequence : 0;
}

void *recent_capture(struct recent *recent, size_t i)
{
	uint32_t at = find(recent, i);

	return at ? entry(recent, at) + recent->capture_at : NULL;
}
