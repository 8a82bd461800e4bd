/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies on their way to one client: a queue of bytes and its emptying into a socket. */
#ifndef DAEMON_VARLINK_OUTPUT_H
#define DAEMON_VARLINK_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* Zeroed is empty.  Bytes not sent yet are data[start] up to data[end]. */
struct output {
	char *data;
	size_t capacity;
	size_t start;
	size_t end;
};

/* Give the memory back; the queue is empty then. */
void output_clear(struct output *output);

bool output_empty(const struct output *output);

/*
 * Queue `reply` as one message.  Returns 0; or, with nothing queued, -ENOBUFS if
 * the queue would become longer than `max_bytes`, -ENOMEM, or -EINVAL when
 * `reply` is no JSON that can be written.
 */
int output_append(struct output *output, const json_t *reply, size_t max_bytes);

/*
 * Send what the socket `fd` takes without waiting.  Returns 0, also when some is
 * left, or the negative errno of a connection that takes no more for good.
 */
int output_flush(struct output *output, int fd);

#endif
