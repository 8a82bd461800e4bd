/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the walk over a page of the kernel's ring buffer.  Whatever the page says, the walk ends and stays in it; and
 * as far as it goes, it finds the events that libtraceevent finds.
 *
 * The input is a byte that chooses the byte order and the size of a long, and the page.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/kbuffer.h>

#include "daemon/probe/events/subbuffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What libtraceevent can read behind the events of a page that is not whole. */
#define SLACK 16

/* The events that subbuffer_next() finds on a page. */
static size_t walk(const struct subbuffer *begin, struct subbuffer_event *events)
{
	struct subbuffer buffer = *begin;
	size_t count = 0;

	while (subbuffer_next(&buffer, &events[count]) > 0) {
		const unsigned char *data = events[count].data;

		assert(data > begin->at && data + events[count].size <= begin->end);
		assert(!count || data >= (const unsigned char *)events[count - 1].data +
						 events[count - 1].size);
		count++;
	}
	return count;
}

/* libtraceevent can go round in circles behind the last of them, so it is asked for no more. */
static void compare(const struct subbuffer *buffer, unsigned char *page, int64_t lost,
		    const struct subbuffer_event *events, size_t count)
{
	struct kbuffer *kbuffer =
		kbuffer_alloc(buffer->header_bytes == 16 ? KBUFFER_LSIZE_8 : KBUFFER_LSIZE_4,
			      buffer->is_big_endian ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
	unsigned long long time_ns;

	assert(kbuffer);
	if (count)
		assert(kbuffer_load_subbuffer(kbuffer, page) == 0);
	/* It knows of the lost events only before the first event of a page. */
	if (count && lost >= 0 && !kbuffer_curr_index(kbuffer))
		assert(kbuffer_missed_events(kbuffer) == (int)lost);
	for (size_t i = 0; i < count; i++) {
		void *data = i ? kbuffer_next_event(kbuffer, &time_ns)
			       : kbuffer_read_event(kbuffer, &time_ns);

		assert(data == events[i].data && time_ns == events[i].time_ns);
		assert((size_t)kbuffer_event_size(kbuffer) == events[i].size);
	}
	kbuffer_free(kbuffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct subbuffer_event *events;
	struct subbuffer buffer;
	unsigned char *page;
	int64_t lost;

	if (!size)
		return 0;
	/* Two copies: of exactly its size, to show reads behind its end, and for libtraceevent. */
	page = malloc(size > 1 ? size - 1 : 1);
	events = calloc(size, sizeof(*events));
	assert(page && events);
	memcpy(page, data + 1, size - 1);
	subbuffer_init(&buffer, data[0] & 1, data[0] & 2 ? 4 : 8);
	if (subbuffer_load(&buffer, page, (uint32_t)size - 1, &lost) == 0) {
		size_t count = walk(&buffer, events);
		unsigned char *copy = calloc(1, size + SLACK);

		assert(copy);
		memcpy(copy, page, size - 1);
		for (size_t i = 0; i < count; i++)
			events[i].data = copy + ((const unsigned char *)events[i].data - page);
		compare(&buffer, copy, lost, events, count);
		free(copy);
	}
	free(events);
	free(page);
	return 0;
}
