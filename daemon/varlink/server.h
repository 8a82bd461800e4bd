/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Varlink server on a Unix socket: who may connect, how many clients at once, and which method handles a call.
 * call.h has the functions for methods.
 *
 * The server never waits for a client and never logs.  All its functions belong to one thread.  org.varlink.service is
 * built in.
 */
#ifndef DAEMON_VARLINK_SERVER_H
#define DAEMON_VARLINK_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"
#include "daemon/varlink/call.h"

struct loop;
struct server;

enum server_access {
	/* Every client that may connect: root and the socket's group. */
	ACCESS_READ,
	/* Root only. */
	ACCESS_CHANGE,
};

/*
 * Handle a call.  `parameters` is never NULL and is valid until the method returns, or longer with json_incref().  If
 * the method returns a negative errno and the call has not ended, the server reports the errno and ends the call with
 * the error `failed`.
 */
typedef int (*server_method)(struct call *call, json_t *parameters, void *userdata);

struct method {
	/* With the interface: "org.varlink.service.GetInfo". */
	const char *name;
	enum server_access access;
	/* Must be called with `more`. */
	bool streams;
	/* NULL: the interface has the method and this program does not; MethodNotImplemented. */
	server_method handle;
};

#define SERVER_MAX_CLIENTS 128U
#define SERVER_MAX_QUEUED_BYTES (1024UL * 1024)
#define SERVER_MAX_REPLY_BYTES (64UL * 1024 * 1024)
#define SERVER_MAX_UNSENT_BYTES (16UL * 1024 * 1024)
#define SERVER_BACKLOG 128

/* An interface beside org.varlink.service, for GetInfo and GetInterfaceDescription. */
struct server_interface {
	const char *name;
	/* Its definition, in the language of Varlink's interface files. */
	const char *text;
};

/* The errors that the server itself sends: full names, none of them NULL, and their parameters. */
struct server_errors {
	/* (reason: string) */
	const char *failed;
	/* (what: string, limit: int) */
	const char *too_many;
	/* (reason: string) */
	const char *permission_denied;
	/* (reason: string) */
	const char *invalid_message;
};

/* 0 and NULL select the default. */
struct server_settings {
	/* Of the socket, at most 107 bytes; there is no default. */
	const char *path;
	/*
	 * A socket that listens already, not blocking; 0: the server makes its own.  The server closes it, also if
	 * server_new() fails, and leaves its file, mode and group to the process that made it.
	 */
	int listening;
	/* The group that may connect, if the system has it; default: none. */
	const char *group;
	/* The reply to GetInfo; default: empty. */
	const char *vendor;
	const char *product;
	const char *version;
	const char *url;
	const struct server_interface *interfaces;
	size_t interface_count;
	struct server_errors errors;
	/*
	 * Default SERVER_MAX_CLIENTS.  The next client gets `too_many` and is disconnected, unless another one has been
	 * quiet and belongs to a user with more connections: then that one is.  See places.h.
	 */
	unsigned int max_clients;
	/* Of these, kept for uid 0: at most half of them; default 0. */
	unsigned int root_clients;
	/* The most that one other user gets; default: all that are not kept. */
	unsigned int user_clients;
	/*
	 * A client without a running call is disconnected this long after its last call, and one that has replies when
	 * it has taken none for this long; 0: never.
	 */
	uint64_t idle_ns;
	/* Of one call: default MESSAGE_MAX_BYTES, MESSAGE_MAX_DEPTH. */
	size_t max_message_bytes;
	unsigned int max_depth;
	/* Bytes of a stream that wait for a slow client: default SERVER_MAX_QUEUED_BYTES. */
	size_t max_queued_bytes;
	/* Bytes of the reply that ends a call and of its waiting stream: default SERVER_MAX_REPLY_BYTES. */
	size_t max_reply_bytes;
	/*
	 * Bytes of the replies of all clients that wait, and the limit of each reply: default SERVER_MAX_UNSENT_BYTES.
	 * Beyond it, the client with the most of the user with the most loses: a stream has a gap if the reply is its
	 * own, and otherwise the client is disconnected.
	 */
	size_t max_unsent_bytes;
	/* Connections that wait in the kernel for accept(): default SERVER_BACKLOG. */
	int backlog;
	/* Reports a failure: a method's name, "accept" or "group", and a negative errno.  May be NULL. */
	void (*report)(const char *what, int error, void *userdata);
};

struct server_stats {
	/* Clients that are connected now, without those that are being refused. */
	unsigned int clients;
	/* Streams that run now. */
	unsigned int streams;
	/* Replies of streams that were lost because the client's queue was full. */
	uint64_t gaps;
	/* Clients that were refused: one too many, or the sender of an invalid message. */
	uint64_t rejected;
	/* Clients that were disconnected because they were idle, or took no reply, for too long. */
	uint64_t timed_out;
	/* Clients that lost their place to another user's. */
	uint64_t displaced;
	/* Replies that were not sent, and clients that were disconnected, because of max_unsent_bytes. */
	uint64_t over_budget;
	/* Bytes of replies that wait now. */
	size_t unsent_bytes;
};

/*
 * Listen on settings->listening, or on settings->path: then replace a socket that a dead process left there, because
 * the caller holds a lock that excludes a running one.  `settings` is copied with its path and group.  Everything that
 * it points to otherwise, and the `count` methods must outlive the server.  `userdata` is passed to the methods and to
 * `report`.  Returns 0, -ENAMETOOLONG, -EEXIST if the path exists and is not a socket, or another negative errno.
 *
 * A socket of its own gets the group and mode 0660.  It gets mode 0600 if there is no such group, or if the group
 * cannot be set, which is reported as "group".
 */
int server_new(struct server **server, struct loop *loop, const struct server_settings *settings,
	       const struct method *methods, size_t count, void *userdata);

/*
 * Disconnect all clients, abandon their calls, and remove the socket.  Call this before the owners of those calls are
 * freed, and never from a method.
 */
void server_free(struct server **server);
#define OWN_SERVER CLEANUP(server_free)

/*
 * Take the limits of `settings`, no other member: for new connections, and for the calls and replies that come.
 * Clients beyond the new limits stay.
 */
void server_set_limits(struct server *server, const struct server_settings *settings);

void server_stats(const struct server *server, struct server_stats *stats);

#endif
