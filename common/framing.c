/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/framing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Memory to start with, and the most that an empty queue keeps after a large message. */
#define FIRST_BYTES 4096UL
#define KEEP_BYTES (64UL * 1024)

/* With 15 digits jansson writes 0.1 as 0.1, and no number of netflowd's is known more exactly. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(15))

void framing_clear(struct framing *framing)
{
	free(framing->data);
	*framing = (struct framing){0};
}

size_t framing_bytes(const struct framing *framing)
{
	return framing->end - framing->start;
}

static int make_room(struct framing *framing, size_t size)
{
	size_t used = framing_bytes(framing);
	size_t capacity = framing->capacity ? framing->capacity : FIRST_BYTES;
	char *data;

	if (framing->capacity - framing->end >= size)
		return 0;
	if (framing->start) {
		memmove(framing->data, framing->data + framing->start, used);
		framing->searched -= framing->start;
		framing->end = used;
		framing->start = 0;
	}
	if (size > SIZE_MAX / 4 - used)
		return -ENOMEM;
	while (capacity < used + size)
		capacity *= 2;
	if (capacity == framing->capacity)
		return 0;
	data = realloc(framing->data, capacity);
	if (!data)
		return -ENOMEM;
	framing->data = data;
	framing->capacity = capacity;
	return 0;
}

static void remove_bytes(struct framing *framing, size_t size)
{
	framing->start += size;
	framing->searched = framing->start;
	if (framing_bytes(framing))
		return;
	framing->start = framing->end = framing->searched = 0;
	if (framing->capacity > KEEP_BYTES)
		framing_clear(framing);
}

/*
 * Keep the memory in proportion to the bytes, so that a limit of the bytes limits the memory: a peer could take all of
 * a large message but its end.
 */
static void shrink(struct framing *framing)
{
	size_t used = framing_bytes(framing);
	char *data;

	if (framing->capacity <= KEEP_BYTES || used > framing->capacity / 4)
		return;
	memmove(framing->data, framing->data + framing->start, used);
	framing->searched -= framing->start;
	framing->start = 0;
	framing->end = used;
	data = realloc(framing->data, framing->capacity / 2);
	if (!data)
		return;
	framing->data = data;
	framing->capacity /= 2;
}

/* ---- in ------------------------------------------------------------------- */

int framing_feed(struct framing *framing, const void *data, size_t size)
{
	int r;

	if (size == 0)
		return 0;
	r = make_room(framing, size);
	if (r < 0)
		return r;
	memcpy(framing->data + framing->end, data, size);
	framing->end += size;
	return 0;
}

int framing_next(struct framing *framing, size_t max_bytes, const char **text, size_t *length)
{
	const char *nul = NULL;
	size_t found;

	if (framing->end > framing->searched)
		nul = memchr(framing->data + framing->searched, '\0',
			     framing->end - framing->searched);
	framing->searched = nul ? (size_t)(nul - framing->data) : framing->end;
	found = framing->searched - framing->start;
	if (found > max_bytes)
		return -EMSGSIZE;
	if (!nul)
		return 0;
	*text = framing->data + framing->start;
	*length = found;
	return 1;
}

void framing_consume(struct framing *framing, size_t length)
{
	remove_bytes(framing, length + 1);
}

/* ---- out ------------------------------------------------------------------ */

/* A message that is being written. */
struct dump {
	struct framing *framing;
	size_t max_bytes;
	int error;
};

static int append(const char *bytes, size_t size, void *userdata)
{
	struct dump *dump = userdata;

	/* jansson goes on after a key that did not fit, and then a shorter piece might fit. */
	if (dump->error < 0)
		return -1;
	if (size > dump->max_bytes - framing_bytes(dump->framing))
		dump->error = -ENOBUFS;
	else
		dump->error = framing_feed(dump->framing, bytes, size);
	return dump->error < 0 ? -1 : 0;
}

int framing_write(struct framing *framing, const json_t *message, size_t max_bytes)
{
	struct dump dump = {.framing = framing, .max_bytes = max_bytes};
	size_t before = framing_bytes(framing);

	if (before >= max_bytes)
		return -ENOBUFS;
	if (json_dump_callback(message, append, &dump, DUMP_FLAGS) == 0 &&
	    append("", 1, &dump) == 0)
		return 0;
	/* make_room() may have moved the earlier bytes, but their number is the same. */
	framing->end = framing->start + before;
	return dump.error ? dump.error : -EINVAL;
}

void framing_take_back(struct framing *framing, size_t bytes)
{
	framing->end -= bytes;
	if (framing->searched > framing->end)
		framing->searched = framing->end;
}

int framing_send(struct framing *framing, int fd)
{
	while (framing_bytes(framing)) {
		ssize_t sent = send(fd, framing->data + framing->start, framing_bytes(framing),
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		remove_bytes(framing, (size_t)sent);
		shrink(framing);
	}
	return 0;
}
