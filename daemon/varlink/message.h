/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of Varlink: bytes go in, and messages that are valid calls come out.  No I/O.  A message is a JSON object that
 * a NUL byte ends:
 *
 *   {"method": string, "parameters": ?object, "more": ?bool, "oneway": ?bool}
 *
 * Members with other names are ignored, as the protocol requires, except "upgrade", which must not be true: no method
 * changes the protocol of its connection.
 */
#ifndef DAEMON_VARLINK_MESSAGE_H
#define DAEMON_VARLINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "common/cleanup.h"

#define MESSAGE_MAX_BYTES (1024UL * 1024)
/* Levels of objects and arrays; the message itself is the first level. */
#define MESSAGE_MAX_DEPTH 32U

struct message {
	char *method;
	/* Never NULL; an empty object if the call had no parameters. */
	json_t *parameters;
	bool more;
	bool oneway;
};

struct message_reader;

void message_free(struct message **message);
#define OWN_MESSAGE CLEANUP(message_free)

/* `max_bytes` limits one message without its NUL byte, and `max_depth` its levels; each is at least 1. */
int message_reader_new(struct message_reader **reader, size_t max_bytes, unsigned int max_depth);
void message_reader_free(struct message_reader **reader);
#define OWN_MESSAGE_READER CLEANUP(message_reader_free)

/*
 * Append `size` bytes, wherever the reads cut them.  Memory is limited to one message and the size of one read only if
 * the caller takes all messages with message_reader_next() before it feeds again.  Returns 0, -ENOMEM, or -EBADMSG
 * after a bad message.
 */
int message_reader_feed(struct message_reader *reader, const void *data, size_t size);

/*
 * Get the next message, which the caller frees with message_free().  Returns 1; 0 if the bytes do not contain a
 * complete message; -ENOMEM; or -EBADMSG if the message is not a call as above.  After that it always returns -EBADMSG,
 * and message_reader_error() gives the reason.
 */
int message_reader_next(struct message_reader *reader, struct message **message);

/* True if message_reader_next() would return a message or the reason why there is none, so that it is worth a turn. */
bool message_reader_ready(struct message_reader *reader);

/* Why a message was bad, with the position if there is one, as one line of ASCII; NULL if none was bad. */
const char *message_reader_error(const struct message_reader *reader);

/* True if there are bytes that are not part of a message returned so far. */
bool message_reader_pending(const struct message_reader *reader);

#endif
