/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: reads calls, hands them on one at a time, writes replies.
 * Only the server and its calls use this.
 *
 * A client is freed only by its own turn in the loop, through `gone`, or by the
 * server; never inside the functions below, so that a method may use them freely.
 */
#ifndef DAEMON_VARLINK_CLIENT_H
#define DAEMON_VARLINK_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>

#include "common/cleanup.h"

struct call;
struct client;
struct loop;
struct message;
struct server_settings;
struct server_stats;

/* What all clients of a server share; it outlives them. */
struct client_context {
	struct loop *loop;
	const struct server_settings *settings;
	struct server_stats *stats;
	/* Handle one message, which stays the client's. */
	void (*dispatch)(struct client *client, const struct message *message, void *userdata);
	/* Something failed that the log should have: a method's name, a negative errno. */
	void (*report)(const char *what, int error, void *userdata);
	/* The connection is over: free the client. */
	void (*gone)(struct client *client, void *userdata);
	void *userdata;
};

/* Serve the connected socket `fd`, which the client owns from then on if it returns 0. */
int client_new(struct client **client, const struct client_context *context, int fd);
void client_free(struct client **client);
#define OWN_CLIENT CLEANUP(client_free)

const struct client_context *client_context(const struct client *client);
uid_t client_uid(const struct client *client);

/* The call that runs, or NULL. */
struct call *client_call(const struct client *client);

/* A call begins, or with NULL ends. */
void client_set_call(struct client *client, struct call *call);

/* Queue a reply, as framing_write().  -EPIPE when the connection is broken. */
int client_send(struct client *client, const json_t *reply, size_t max_bytes);

/* Send now, instead of after the current handler, what the socket takes. */
void client_flush(struct client *client);

/*
 * Send the error `error`, whose parameters are stolen, hear no more, and
 * disconnect once it is sent.  Not while a call runs.
 */
void client_refuse(struct client *client, const char *error, json_t *parameters);

/* Disconnect, with nothing more sent. */
void client_break(struct client *client);

#endif
