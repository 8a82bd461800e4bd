/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Varlink server on a Unix socket: who may connect, how many, and which
 * method a call goes to.  What methods may do with a call is in call.h.
 *
 * The server never waits for a client, never logs, and is not used from more
 * than one thread.  org.varlink.service is built in.
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
	/* Whoever may connect: root and the socket's group. */
	ACCESS_READ,
	/* Root alone. */
	ACCESS_CHANGE,
};

/*
 * Handle a call.  `parameters` is never NULL and lives until the method returns;
 * json_incref() keeps it longer.  A negative errno, unless the call has ended
 * already, is reported and returned to the client as the error `failed`.
 */
typedef int (*server_method)(struct call *call, json_t *parameters, void *userdata);

struct method {
	/* With the interface: "org.varlink.service.GetInfo". */
	const char *name;
	enum server_access access;
	/* Must be called with `more`. */
	bool streams;
	/* NULL: the interface has it, this daemon does not; MethodNotImplemented. */
	server_method handle;
};

#define SERVER_MAX_CLIENTS 128U
#define SERVER_MAX_QUEUED_BYTES (1024UL * 1024)
#define SERVER_MAX_REPLY_BYTES (64UL * 1024 * 1024)
#define SERVER_BACKLOG 128

/* An interface beside org.varlink.service, as GetInfo and GetInterfaceDescription report it. */
struct server_interface {
	const char *name;
	/* Its definition, in Varlink's language. */
	const char *text;
};

/*
 * Full names of the errors that the server itself returns, and the parameters that it gives them.
 * None of them has a default.
 */
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

/* 0 and NULL stand for the default. */
struct server_settings {
	/* Of the socket; it has no default, and is at most 107 bytes long. */
	const char *path;
	/* The group that may connect, if the system has it; NULL: no group. */
	const char *group;
	/* What GetInfo returns; by default each is empty. */
	const char *vendor;
	const char *product;
	const char *version;
	const char *url;
	const struct server_interface *interfaces;
	size_t interface_count;
	struct server_errors errors;
	/* SERVER_MAX_CLIENTS.  The server refuses the next one with `too_many`. */
	unsigned int max_clients;
	/* Of one call: MESSAGE_MAX_BYTES, MESSAGE_MAX_DEPTH. */
	size_t max_message_bytes;
	unsigned int max_depth;
	/* What a stream may leave unread: SERVER_MAX_QUEUED_BYTES. */
	size_t max_queued_bytes;
	/* One reply that ends a call, and what of its stream is unread: SERVER_MAX_REPLY_BYTES. */
	size_t max_reply_bytes;
	/* Connections that the kernel keeps until they are accepted: SERVER_BACKLOG. */
	int backlog;
	/*
	 * Told what failed, for the log: a method's name, "accept" or "group" with a
	 * negative errno.  May be NULL.
	 */
	void (*report)(const char *what, int error, void *userdata);
};

struct server_stats {
	/* Connected now, those that are being turned away not counted. */
	unsigned int clients;
	/* Streams that run now. */
	unsigned int streams;
	/* Replies of streams that found their queue full. */
	uint64_t gaps;
	/* Clients that were one too many, or sent what is no message. */
	uint64_t rejected;
};

/*
 * Listen on settings->path, in place of a socket that a dead daemon left there:
 * the caller holds a lock that keeps a living one away.  `settings` is copied,
 * its path and group too; all else that it points to, and `methods`, `count` of
 * them, must outlive the server.  `userdata` goes to the methods and to `report`.  Returns 0, -ENAMETOOLONG, -EEXIST when the path is
 * no socket, or another negative errno.
 *
 * The socket has mode 0660 and the group, or 0600 when there is no such group
 * or it could not be given to it (reported as "group").
 */
int server_new(struct server **server, struct loop *loop, const struct server_settings *settings,
	       const struct method *methods, size_t count, void *userdata);

/*
 * Disconnect everybody, abandon their calls, remove the socket.  Before the
 * owners of those calls are freed, and never from within a method.
 */
void server_free(struct server **server);
#define OWN_SERVER CLEANUP(server_free)

void server_stats(const struct server *server, struct server_stats *stats);

#endif
