/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Varlink's framing, and what a call must look like: bytes in, messages out.
 * No I/O.  A message is a JSON object ended by a NUL byte:
 *
 *   {"method": string, "parameters": ?object, "more": ?bool, "oneway": ?bool}
 *
 * Members of other names are left alone, as the protocol asks, but for
 * "upgrade", which may not be true: no method hands over its connection.
 */
#ifndef DAEMON_VARLINK_MESSAGE_H
#define DAEMON_VARLINK_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "common/cleanup.h"

#define MESSAGE_MAX_BYTES (1024UL * 1024)
/* Levels of objects and arrays, the message itself being the first. */
#define MESSAGE_MAX_DEPTH 32U

struct message {
	char *method;
	/* Never NULL: an empty object when the call had none. */
	json_t *parameters;
	bool more;
	bool oneway;
};

struct message_reader;

void message_free(struct message **message);
#define OWN_MESSAGE CLEANUP(message_free)

/* `max_bytes` of one message, its NUL byte not counted, and `max_depth`; at least 1 each. */
int message_reader_new(struct message_reader **reader, size_t max_bytes, unsigned int max_depth);
void message_reader_free(struct message_reader **reader);
#define OWN_MESSAGE_READER CLEANUP(message_reader_free)

/*
 * Take in `size` bytes, cut wherever the reads happened to cut them.  Memory is
 * bounded by one message and what was fed at once only if message_reader_next()
 * is called until it has no more before the next bytes are fed.  Returns 0,
 * -ENOMEM, or -EBADMSG once a message was bad.
 */
int message_reader_feed(struct message_reader *reader, const void *data, size_t size);

/*
 * The next message, which the caller frees with message_free().  Returns 1; 0
 * when the bytes do not hold a whole one; -ENOMEM; or -EBADMSG, from then on
 * always, when it is not a call as above: message_reader_error() tells why.
 */
int message_reader_next(struct message_reader *reader, struct message **message);

/* Why a message was bad, one line of ASCII that names the place; NULL while none was. */
const char *message_reader_error(const struct message_reader *reader);

/* Whether there are bytes that are not part of a message handed out yet. */
bool message_reader_pending(const struct message_reader *reader);

#endif
