/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/process/loop.h"
#include "daemon/process/unix_socket.h"

/* Connections that wait in the kernel. */
#define BACKLOG 64
/* How often connections are checked for their time limit. */
#define CHECK_NS (TIME_NS_PER_SECOND / 2)

/* One request each, so that the time limit of a connection is that of its request. */
struct connection {
	struct connection *next;
	int fd;
	uint64_t began_ns;
	bool ended; /* shut down because of the time limit */
};

struct http_request {
	struct http_request *next;
	struct http *http;
	struct MHD_Connection *connection;
	bool asked, answered, suspended;
	struct http_document *document; /* held; NULL: there is none */
};

struct http_document {
	struct MHD_Response *response;
	unsigned int holders;
};

struct http {
	struct loop *loop;
	struct http_settings settings;
	struct unix_socket socket; /* if it listens on one */
	struct MHD_Daemon *daemon;
	struct loop_source *events, *timer, *again;
	struct connection *connections;
	struct http_request *requests; /* that wait for their answer */
	struct MHD_Response *missing, *refused, *failed;
	struct http_stats stats;
};

/* ---- documents ------------------------------------------------------------------ */

static void one_request(struct MHD_Response *response)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

int http_document_new(struct http_document **document, char *bytes, size_t length,
		      const char *content_type)
{
	struct http_document *fresh = calloc(1, sizeof(*fresh));

	if (fresh)
		fresh->response =
			MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
	if (!fresh || !fresh->response) {
		free(bytes);
		free(fresh);
		return -ENOMEM;
	}
	fresh->holders = 1;
	one_request(fresh->response);
	MHD_add_response_header(fresh->response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	/* Another Accept can get another document. */
	MHD_add_response_header(fresh->response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	MHD_add_response_header(fresh->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	*document = fresh;
	return 0;
}

void http_document_free(struct http_document **document)
{
	struct http_document *old = *document;

	*document = NULL;
	if (!old || --old->holders)
		return;
	MHD_destroy_response(old->response);
	free(old);
}

/* A short answer that does not change. */
static struct MHD_Response *fixed(const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (!response)
		return NULL;
	one_request(response);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				"text/plain; charset=utf-8");
	return response;
}

/* ---- events --------------------------------------------------------------------- */

/*
 * libmicrohttpd does its work here, without waiting.  It can have read more than it processed: then it asks for another
 * turn, which comes after those of the other sources.
 */
static int run(struct http *http)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	MHD_run(http->daemon);
	if (MHD_get_timeout(http->daemon, &timeout_ms) == MHD_YES && timeout_ms == 0)
		return loop_source_set_enabled(http->again, true);
	return 0;
}

static int on_events(int fd, unsigned int events, void *userdata)
{
	(void)fd;
	(void)events;
	return run(userdata);
}

static int on_again(void *userdata)
{
	return run(userdata);
}

/*
 * libmicrohttpd's own limit is one of idle time, which a client that sends a byte now and then escapes.  A socket that
 * is shut down ends its connection.
 */
static int on_timer(void *userdata)
{
	struct http *http = userdata;
	uint64_t now = time_monotonic();

	for (struct connection *c = http->connections; c; c = c->next) {
		if (c->ended || now - c->began_ns < http->settings.timeout_ns)
			continue;
		c->ended = true;
		http->stats.timed_out++;
		shutdown(c->fd, SHUT_RDWR);
	}
	return run(http);
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = userdata;
	struct connection *mine = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		mine = calloc(1, sizeof(*mine));
		if (!mine || !info) {
			/* Without memory for its limit, there is no connection. */
			if (info)
				shutdown(info->connect_fd, SHUT_RDWR);
			free(mine);
			return;
		}
		*mine = (struct connection){
			.next = http->connections,
			.fd = info->connect_fd,
			.began_ns = time_monotonic(),
		};
		http->connections = mine;
		*context = mine;
	} else if (mine) {
		struct connection **link = &http->connections;

		while (*link != mine)
			link = &(*link)->next;
		*link = mine->next;
		free(mine);
		*context = NULL;
	}
}

/* ---- requests ------------------------------------------------------------------- */

static enum MHD_Result answer(struct http_request *request, unsigned int status,
			      struct MHD_Response *response)
{
	return MHD_queue_response(request->connection, status, response);
}

static enum MHD_Result queue(struct http_request *request)
{
	struct http *http = request->http;

	if (request->document) {
		http->stats.ok++;
		return answer(request, MHD_HTTP_OK, request->document->response);
	}
	http->stats.failed++;
	return answer(request, MHD_HTTP_SERVICE_UNAVAILABLE, http->failed);
}

static void unlink_request(struct http_request *request)
{
	struct http_request **link = &request->http->requests;

	while (*link && *link != request)
		link = &(*link)->next;
	if (*link)
		*link = request->next;
}

/* `request` is answered before this returns, or its connection is suspended. */
static enum MHD_Result ask(struct http_request *request)
{
	const char *accept = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT);
	struct http *http = request->http;

	request->asked = true;
	request->next = http->requests;
	http->requests = request;
	http->settings.ask(request, accept ? accept : "", http->settings.userdata);
	if (request->answered)
		return queue(request);
	request->suspended = true;
	MHD_suspend_connection(request->connection);
	return MHD_YES;
}

static enum MHD_Result refuse(struct http_request *request, unsigned int status,
			      struct MHD_Response *response, uint64_t *counter)
{
	request->asked = request->answered = true;
	++*counter;
	return answer(request, status, response);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *body, size_t *body_size, void **context)
{
	struct http *http = userdata;
	struct http_request *request = *context;

	(void)version;
	(void)body;
	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->http = http;
		request->connection = connection;
		*context = request;
		/* An answer to the head alone ends a request whose body would follow. */
		if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
			return refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, http->refused,
				      &http->stats.refused);
		return MHD_YES;
	}
	if (*body_size) {
		*body_size = 0;
		return MHD_YES;
	}
	if (request->asked)
		return request->answered ? queue(request) : MHD_YES;
	if (strcmp(url, http->settings.path))
		return refuse(request, MHD_HTTP_NOT_FOUND, http->missing, &http->stats.missing);
	return ask(request);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct http_request *request = *context;

	(void)userdata;
	(void)connection;
	(void)code;
	if (!request)
		return;
	unlink_request(request);
	http_document_free(&request->document);
	free(request);
	*context = NULL;
}

void http_answer(struct http_request *request, struct http_document *document)
{
	struct http *http = request->http;

	unlink_request(request);
	request->answered = true;
	if (document) {
		document->holders++;
		request->document = document;
	}
	if (!request->suspended)
		return;
	request->suspended = false;
	MHD_resume_connection(request->connection);
	/* Not from here: the caller may be libmicrohttpd itself. */
	loop_source_set_enabled(http->again, true);
}

/* ---- the socket ------------------------------------------------------------------ */

static int listen_unix(struct http *http, int fd)
{
	int r = unix_socket_bind(&http->socket, fd, http->settings.address.path);

	if (r < 0)
		return r;
	/* The same as for the control socket: without the group, or the right to set it, only the own user connects. */
	(void)unix_socket_share(&http->socket, http->settings.group);
	return 0;
}

static int listen_tcp(const struct http_address *address, int fd)
{
	const int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address->tcp, address->tcp_length) < 0)
		return -errno;
	return 0;
}

/* Returns the socket or a negative errno. */
static int open_socket(struct http *http)
{
	const struct http_address *address = &http->settings.address;
	bool local = address->where == HTTP_UNIX;
	OWN_FD int fd = socket(local ? AF_UNIX : address->tcp.ss_family,
			       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = local ? listen_unix(http, fd) : listen_tcp(address, fd);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	return r < 0 ? r : TAKE_FD(fd);
}

/* ---- life ------------------------------------------------------------------------ */

static int start(struct http *http)
{
	int fd = open_socket(http);

	if (fd < 0)
		return fd;
	/* It owns the socket from here on. */
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		http->settings.connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, http, MHD_OPTION_END);
	if (!http->daemon) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

static int watch(struct http *http)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	if (!info)
		return -ENOTSUP;
	r = loop_add_fd(http->loop, &http->events, info->epoll_fd, LOOP_READ, on_events, http);
	if (r == 0)
		r = loop_add_timer(http->loop, &http->timer, CHECK_NS, CHECK_NS, on_timer, http);
	if (r == 0)
		r = loop_add_defer(http->loop, &http->again, on_again, http);
	return r;
}

int http_new(struct http **http, struct loop *loop, const struct http_settings *settings)
{
	OWN_HTTP struct http *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->loop = loop;
	fresh->settings = *settings;
	fresh->missing = fixed("There is only /metrics here.\n");
	fresh->refused = fixed("This server answers GET and HEAD only.\n");
	fresh->failed = fixed("netflowd cannot read its counters now; its log has the reason.\n");
	if (!fresh->missing || !fresh->refused || !fresh->failed)
		return -ENOMEM;
	MHD_add_response_header(fresh->refused, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	r = start(fresh);
	if (r == 0)
		r = watch(fresh);
	if (r < 0)
		return r;
	*http = TAKE_PTR(fresh);
	return 0;
}

void http_free(struct http **http)
{
	struct http *old = *http;

	if (!old)
		return;
	/* libmicrohttpd cannot stop while a connection is suspended. */
	while (old->requests)
		http_answer(old->requests, NULL);
	loop_source_free(&old->again);
	loop_source_free(&old->timer);
	loop_source_free(&old->events);
	if (old->daemon)
		MHD_stop_daemon(old->daemon);
	unix_socket_remove(&old->socket);
	if (old->missing)
		MHD_destroy_response(old->missing);
	if (old->refused)
		MHD_destroy_response(old->refused);
	if (old->failed)
		MHD_destroy_response(old->failed);
	free(old);
	*http = NULL;
}

void http_set_timeout(struct http *http, uint64_t timeout_ns)
{
	http->settings.timeout_ns = timeout_ns;
}

struct http_stats http_stats(const struct http *http)
{
	return http->stats;
}
