/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small HTTP server for one document, in the daemon's loop: GET and HEAD of one path.  It knows nothing of what it
 * serves.  This is the only user of libmicrohttpd.
 *
 * A hostile client can cost it a connection for the time limit, and HTTP_MEMORY bytes: connections, the size of a
 * request, and the time from the first byte to the last are limited.
 */
#ifndef DAEMON_HTTP_HTTP_H
#define DAEMON_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/http/address.h"

struct http;
struct http_request;
struct loop;

/* Bytes of memory for one connection; a request whose head is larger is refused. */
#define HTTP_MEMORY 16384

struct http_settings {
	struct http_address address; /* never HTTP_NOWHERE */
	const char *path;	     /* of the document, "/metrics"; must outlive the server */
	const char *group;	     /* that may connect to a Unix socket, if the system has it */
	unsigned int connections;    /* at once */
	uint64_t timeout_ns;	     /* from a connection's beginning to its end */
	/*
	 * A client asks for the document; `accept` is the header Accept, or empty.  Answer with http_answer(), now or
	 * later, but once.
	 */
	void (*ask)(struct http_request *request, const char *accept, void *userdata);
	void *userdata;
};

struct http_stats {
	uint64_t ok, refused, missing, failed; /* requests by their answer: 200; 405; 404; 503 */
	uint64_t timed_out;		       /* connections */
};

/* Returns 0, -EEXIST if the path exists and is not a socket, -ENAMETOOLONG, or another negative errno. */
int http_new(struct http **http, struct loop *loop, const struct http_settings *settings);
/* Ends all connections and removes the socket.  NULL-safe; sets *http to NULL. */
void http_free(struct http **http);
#define OWN_HTTP CLEANUP(http_free)

void http_set_timeout(struct http *http, uint64_t timeout_ns);
struct http_stats http_stats(const struct http *http);

struct http_document;

/* A document that several requests can share.  `bytes` is taken over.  -ENOMEM: `bytes` was freed. */
int http_document_new(struct http_document **document, char *bytes, size_t length,
		      const char *content_type);
void http_document_free(struct http_document **document);

/* NULL: there is no document now; the client gets 503. */
void http_answer(struct http_request *request, struct http_document *document);

#endif
