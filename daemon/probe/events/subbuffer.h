/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events on a page of the kernel's ring buffer, as trace_pipe_raw gives it and recordings have it.
 *
 * libtraceevent can walk a page, too (kbuffer).  That took a third of the time of a reader, and a damaged page leads it
 * out of the page, or round in circles.
 */
#ifndef DAEMON_PROBE_EVENTS_SUBBUFFER_H
#define DAEMON_PROBE_EVENTS_SUBBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct subbuffer {
	bool is_big_endian, is_swapped;
	uint32_t header_bytes;
	/* Of the page: where the next event and the end of all are, and the time of the last one. */
	const unsigned char *at, *end;
	uint64_t time_ns;
};

struct subbuffer_event {
	const void *data;
	size_t size; /* bytes */
	uint64_t time_ns;
};

/* For pages of a kernel of this byte order, whose longs have 8 or 4 bytes. */
void subbuffer_init(struct subbuffer *buffer, bool is_big_endian, uint32_t long_bytes);

/*
 * Begin a page of `bytes`, which must be valid as long as it is read.  *lost: events that were lost before it, negative
 * if it is not known how many.  0, or -EBADMSG: it says that it has more than that.
 */
int subbuffer_load(struct subbuffer *buffer, const void *page, uint32_t bytes, int64_t *lost);

/* Bytes of the page up to the end of its events. */
uint32_t subbuffer_used(const struct subbuffer *buffer, const void *page);

/*
 * 1: this is the next event; 0: there is none any more; -EBADMSG: it does not end on the page, and where the next one
 * begins is not known.
 */
int subbuffer_next(struct subbuffer *buffer, struct subbuffer_event *event);

#endif
