/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A queue that one large reply made grow beyond this is given back after it. */
#define KEEP_BYTES (64UL * 1024)

/* 15 digits write 0.1 as 0.1; no number of ours is known any better. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

struct append {
	struct output *output;
	size_t max_bytes;
	int error;
};

void output_clear(struct output *output)
{
	free(output->data);
	*output = (struct output){0};
}

bool output_empty(const struct output *output)
{
	return output->end == output->start;
}

static int make_room(struct output *output, size_t size)
{
	size_t used = output->end - output->start;
	size_t capacity = output->capacity ? output->capacity : 4096;
	char *data;

	if (output->capacity - output->end >= size)
		return 0;
	if (output->start) {
		memmove(output->data, output->data + output->start, used);
		output->start = 0;
		output->end = used;
	}
	while (capacity < used + size)
		capacity *= 2;
	if (capacity == output->capacity)
		return 0;
	data = realloc(output->data, capacity);
	if (!data)
		return -ENOMEM;
	output->data = data;
	output->capacity = capacity;
	return 0;
}

static int append_bytes(const char *bytes, size_t size, void *userdata)
{
	struct append *append = userdata;
	struct output *output = append->output;

	/* jansson goes on after a key that did not fit, and shorter pieces would fit again. */
	if (append->error < 0)
		return -1;
	if (size > append->max_bytes - (output->end - output->start)) {
		append->error = -ENOBUFS;
		return -1;
	}
	append->error = make_room(output, size);
	if (append->error < 0)
		return -1;
	memcpy(output->data + output->end, bytes, size);
	output->end += size;
	return 0;
}

int output_append(struct output *output, const json_t *reply, size_t max_bytes)
{
	struct append append = {.output = output, .max_bytes = max_bytes};
	size_t before = output->end - output->start;

	if (before >= max_bytes)
		return -ENOBUFS;
	if (json_dump_callback(reply, append_bytes, &append, DUMP_FLAGS) == 0 &&
	    append_bytes("", 1, &append) == 0)
		return 0;
	/* The bytes may have been moved meanwhile, but never their number. */
	output->end = output->start + before;
	return append.error ? append.error : -EINVAL;
}

int output_flush(struct output *output, int fd)
{
	while (!output_empty(output)) {
		ssize_t sent = send(fd, output->data + output->start, output->end - output->start,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		output->start += (size_t)sent;
	}
	output->start = output->end = 0;
	if (output->capacity > KEEP_BYTES)
		output_clear(output);
	return 0;
}
