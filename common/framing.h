/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Varlink's framing (varlink.org): each message is a JSON text, and a NUL byte ends it.  A queue of bytes that serves
 * one direction of a connection: either the bytes that were read go in and messages come out, or messages go in and a
 * socket takes the bytes.
 */
#ifndef COMMON_FRAMING_H
#define COMMON_FRAMING_H

#include <stddef.h>

#include "common/cleanup.h"
#include "common/json.h"

/* All zero: an empty queue.  It holds data[start] up to data[end]. */
struct framing {
	char *data;
	size_t capacity;
	size_t start;
	size_t end;
	/* No NUL byte before this index, so a message in many pieces is searched only once. */
	size_t searched;
};

/* Free the memory; the queue is then empty. */
void framing_clear(struct framing *framing);
#define OWN_FRAMING CLEANUP(framing_clear)

/* Bytes in the queue: those that are fed and not consumed, or written and not sent. */
size_t framing_bytes(const struct framing *framing);

/* ---- in ------------------------------------------------------------------- */

/*
 * Append `size` bytes as they were read, wherever the read cut them.  The queue stays within one message and the size
 * of one read only if the caller takes all complete messages before it feeds again.  Returns 0 or -ENOMEM.
 */
int framing_feed(struct framing *framing, const void *data, size_t size);

/*
 * Find the next message, without removing it.  Returns 1, with its text and length, the NUL byte behind it not counted,
 * until the next call for this queue; 0 when the message is not complete; or -EMSGSIZE when more than `max_bytes` bytes
 * come before its NUL byte.
 */
int framing_next(struct framing *framing, size_t max_bytes, const char **text, size_t *length);

/* Remove the message of `length` bytes that framing_next() found, and its NUL byte. */
void framing_consume(struct framing *framing, size_t length);

/* ---- out ------------------------------------------------------------------ */

/*
 * Append `message` and its NUL byte.  Returns 0; or, with the queue as it was, -ENOBUFS if it would exceed `max_bytes`,
 * -ENOMEM, or -EINVAL if `message` cannot be written as JSON.
 */
int framing_write(struct framing *framing, const json_t *message, size_t max_bytes);

/* Take back the last `bytes` bytes, of a message of which nothing was sent. */
void framing_take_back(struct framing *framing, size_t bytes);

/*
 * Send to the socket `fd` as much as it accepts without waiting.  Returns 0, also when bytes remain in the queue, or
 * the negative errno of send(2).
 */
int framing_send(struct framing *framing, int fd);

#endif
