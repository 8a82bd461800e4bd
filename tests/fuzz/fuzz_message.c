/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the Varlink message reader: it must return the same messages and the same error, however
 * the bytes are split.  The first input byte seeds the splits, the second selects the limits, and the
 * others are the bytes that a client sends.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/varlink/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All messages and errors of one pass over the input, as one text. */
struct transcript {
	char *text;
	size_t size;
};

static void note(struct transcript *transcript, const char *text)
{
	size_t length = strlen(text) + 1;

	transcript->text = realloc(transcript->text, transcript->size + length);
	assert(transcript->text);
	memcpy(transcript->text + transcript->size, text, length);
	transcript->size += length;
}

static void check_message(struct transcript *transcript, const struct message *message,
			  size_t max_bytes)
{
	char *parameters;

	assert(message->method && message->method[0]);
	assert(strlen(message->method) <= max_bytes);
	assert(json_is_object(message->parameters));
	assert(!(message->more && message->oneway));
	parameters = json_dumps(message->parameters, JSON_COMPACT);
	assert(parameters);
	note(transcript, message->method);
	note(transcript, parameters);
	note(transcript, message->more ? "more" : message->oneway ? "oneway" : "plain");
	free(parameters);
}

/* Returns 0, or -EBADMSG after a bad message. */
static int drain(struct message_reader *reader, struct transcript *transcript, size_t max_bytes)
{
	struct message *message = NULL;
	int r;

	while ((r = message_reader_next(reader, &message)) == 1) {
		check_message(transcript, message, max_bytes);
		message_free(&message);
		assert(!message);
	}
	assert(r == 0 || r == -EBADMSG);
	assert((r == 0) == !message_reader_error(reader));
	return r;
}

static struct transcript read_all(const uint8_t *data, size_t size, uint32_t seed, uint8_t limits)
{
	size_t max_bytes = limits & 1 ? 64 : MESSAGE_MAX_BYTES;
	unsigned int max_depth = limits & 2 ? 3 : MESSAGE_MAX_DEPTH;
	struct transcript transcript = {0};
	struct message_reader *reader = NULL;
	size_t at = 0;
	int r = message_reader_new(&reader, max_bytes, max_depth);

	assert(r == 0);
	while (r == 0 && at < size) {
		size_t chunk = size - at;

		if (seed) {
			seed = seed * 1103515245U + 12345U;
			chunk = 1 + (seed >> 16) % (seed & 0x4000 ? 3 : chunk);
		}
		if (chunk > size - at)
			chunk = size - at;
		assert(message_reader_feed(reader, data + at, chunk) == 0);
		at += chunk;
		r = drain(reader, &transcript, max_bytes);
	}
	if (r < 0) {
		json_t *reason = json_string(message_reader_error(reader));

		/* The client receives this text as JSON, so it must be UTF-8. */
		assert(reason);
		json_decref(reason);
		note(&transcript, message_reader_error(reader));
		assert(message_reader_feed(reader, "x", 1) == -EBADMSG);
		assert(message_reader_next(reader, NULL) == -EBADMSG);
	} else {
		note(&transcript, message_reader_pending(reader) ? "half" : "whole");
	}
	message_reader_free(&reader);
	assert(!reader);
	return transcript;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct transcript whole;
	struct transcript cut;

	if (size < 2)
		return 0;
	whole = read_all(data + 2, size - 2, 0, data[1]);
	cut = read_all(data + 2, size - 2, data[0] + 1U, data[1]);
	assert(whole.size == cut.size);
	assert(memcmp(whole.text, cut.text, whole.size) == 0);
	free(whole.text);
	free(cut.text);
	return 0;
}
