/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: it reads calls, passes them on one at a time, and writes replies.  Only the server and its calls use
 * it.
 *
 * A client is freed only by its own turn in the loop, through `gone`, or by the server.  No other function below frees
 * it, so a method may call them freely.
 */
#ifndef DAEMON_VARLINK_CLIENT_H
#define DAEMON_VARLINK_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "common/cleanup.h"

struct call;
struct client;
struct loop;
struct message;
struct place;
struct server_settings;
struct server_stats;

/* State that all clients of a server share; it outlives them. */
struct client_context {
	struct loop *loop;
	const struct server_settings *settings;
	struct server_stats *stats;
	/* Handle one message, which the client still owns. */
	void (*dispatch)(struct client *client, const struct message *message, void *userdata);
	/* Report a failure for the log: the name of a method and a negative errno. */
	void (*report)(const char *what, int error, void *userdata);
	/* The client has a message to handle: call client_turn() when its turn comes. */
	void (*want_turn)(struct client *client, void *userdata);
	/*
	 * All unsent replies together exceed the budget: disconnect clients until they fit.  False: `client`, whose
	 * reply is the last one, has the most unsent bytes itself, and the reply is taken back.
	 */
	bool (*make_room)(struct client *client, void *userdata);
	/* The connection has ended: free the client. */
	void (*gone)(struct client *client, void *userdata);
	void *userdata;
};

/*
 * Serve the connected socket `fd` of the user `uid`, which has `place`.  If this returns 0, the client owns `fd`;
 * `place` stays the server's.
 */
int client_new(struct client **client, const struct client_context *context, int fd, uid_t uid,
	       struct place *place);
void client_free(struct client **client);
#define OWN_CLIENT CLEANUP(client_free)

const struct client_context *client_context(const struct client *client);
uid_t client_uid(const struct client *client);
struct place *client_place(const struct client *client);

/* When its last call began or ended, or when it connected if it made none; CLOCK_MONOTONIC. */
uint64_t client_since(const struct client *client);

/* True if no call is running and nothing is unsent. */
bool client_idle(const struct client *client);

/* Bytes of replies that it has not taken. */
size_t client_unsent(const struct client *client);

/* Handle one message, if there is one. */
void client_turn(struct client *client);

/*
 * Disconnect the client if it has been idle, or has taken none of its replies, for longer than the settings allow.
 * Returns true if it did.
 */
bool client_check(struct client *client);

/* The running call; NULL if there is none. */
struct call *client_call(const struct client *client);

/* `call` begins; NULL: the running call ends. */
void client_set_call(struct client *client, struct call *call);

/*
 * Queue a reply with framing_write(), and return its result; -EPIPE if the connection has failed; -EDQUOT, with nothing
 * queued, if the unsent replies of all clients exceed their budget and this client has the most.
 */
int client_send(struct client *client, const json_t *reply, size_t max_bytes);

/* Send as much as the socket accepts now, not only after the current handler. */
void client_flush(struct client *client);

/*
 * Send the error `error`, handle no more messages, and disconnect once it is sent, or after a second.  `parameters` is
 * stolen.  A running call is abandoned.
 */
void client_refuse(struct client *client, const char *error, json_t *parameters);

/* Disconnect without sending anything more. */
void client_break(struct client *client);

#endif
