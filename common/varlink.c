/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/varlink.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/framing.h"
#include "common/json.h"
#include "common/time.h"

#define READ_SIZE 65536
/* The pause before another attempt when the listener's queue is full; poll() cannot wait for that. */
#define CONNECT_RETRY_MS 20

struct varlink {
	int fd;
	int interrupt_fd;
	struct framing in;
	json_t *error; /* the last reply that was an error */
};

static int64_t now_ms(void)
{
	return (int64_t)(time_monotonic() / 1000000);
}

static int64_t deadline_after(int64_t timeout_ms)
{
	return timeout_ms < 0 ? VARLINK_FOREVER : now_ms() + timeout_ms;
}

/* The timeout for poll(): milliseconds to the deadline, from 0 to one hour; -1 if there is none. */
static int time_left(int64_t deadline)
{
	int64_t left;

	if (deadline == VARLINK_FOREVER)
		return -1;
	left = deadline - now_ms();
	if (left < 0)
		return 0;
	return left > 3600 * 1000 ? 3600 * 1000 : (int)left;
}

int varlink_new(struct varlink **varlink, int fd)
{
	struct varlink *new = calloc(1, sizeof(*new));

	if (!new) {
		close(fd);
		return -ENOMEM;
	}
	new->fd = fd;
	new->interrupt_fd = -1;
	*varlink = new;
	return 0;
}

int varlink_connect(struct varlink **varlink, const char *path, int64_t timeout_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int64_t deadline = deadline_after(timeout_ms);
	OWN_FD int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!time_left(deadline))
			return -ETIMEDOUT;
		poll(NULL, 0, CONNECT_RETRY_MS);
	}
	return varlink_new(varlink, TAKE_FD(fd));
}

void varlink_free(struct varlink **varlink)
{
	if (!*varlink)
		return;
	close((*varlink)->fd);
	framing_clear(&(*varlink)->in);
	json_decref((*varlink)->error);
	free(*varlink);
	*varlink = NULL;
}

void varlink_interrupt(struct varlink *varlink, int fd)
{
	varlink->interrupt_fd = fd;
}

/* Wait until the socket is ready for `events` or has failed. */
static int wait_for(const struct varlink *varlink, short events, int64_t deadline)
{
	struct pollfd fds[] = {
		{.fd = varlink->fd, .events = events},
		{.fd = varlink->interrupt_fd, .events = POLLIN},
	};

	for (;;) {
		int ready = poll(fds, 2, time_left(deadline));

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0 && fds[1].revents)
			return -EINTR;
		if (ready > 0)
			return 0;
		if (!time_left(deadline))
			return -ETIMEDOUT;
	}
}

/* Send all of the call, even if an interruption is due: after half a call the connection is useless. */
static int send_all(const struct varlink *varlink, struct framing *out, int64_t deadline)
{
	for (;;) {
		struct pollfd fd = {.fd = varlink->fd, .events = POLLOUT};
		int r = framing_send(out, varlink->fd);

		/* A peer that closed without reading the call may have said why: read its reply. */
		if (r == -EPIPE || r == -ECONNRESET || (r == 0 && !framing_bytes(out)))
			return 0;
		if (r < 0)
			return r;
		if (!time_left(deadline))
			return -ETIMEDOUT;
		poll(&fd, 1, time_left(deadline));
	}
}

static int send_call(struct varlink *varlink, const char *method, json_t *parameters, bool more,
		     int64_t deadline)
{
	OWN_FRAMING struct framing out = {0};
	OWN_JSON json_t *call = NULL;
	int r;

	if (!parameters)
		parameters = json_object();
	call = json_pack("{s:s, s:o}", "method", method, "parameters", parameters);
	if (!call || (more && json_object_set_new(call, "more", json_true())))
		return -ENOMEM;
	r = framing_write(&out, call, SIZE_MAX);
	if (r < 0)
		return r;
	json_decref(varlink->error);
	varlink->error = NULL;
	return send_all(varlink, &out, deadline);
}

/* Wait for data and read once. */
static int receive(struct varlink *varlink, int64_t deadline)
{
	char chunk[READ_SIZE];
	ssize_t got;
	int r = wait_for(varlink, POLLIN, deadline);

	if (r)
		return r;
	got = recv(varlink->fd, chunk, sizeof(chunk), 0);
	if (got > 0)
		return framing_feed(&varlink->in, chunk, (size_t)got);
	if (!got)
		return -ECONNRESET;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* Interpret a reply; `message` is stolen. */
static int interpret(struct varlink *varlink, json_t *message, json_t **reply, bool *continues)
{
	json_t *error = json_object_get(message, "error");
	json_t *parameters = json_object_get(message, "parameters");
	json_t *more = json_object_get(message, "continues");

	if (!json_is_object(message) || (error && !json_is_string(error)) ||
	    (parameters && !json_is_object(parameters) && !json_is_null(parameters)) ||
	    (more && !json_is_boolean(more))) {
		json_decref(message);
		return -EBADMSG;
	}
	if (error) {
		varlink->error = message;
		return -EREMOTEIO;
	}
	parameters = json_is_object(parameters) ? json_incref(parameters) : json_object();
	*continues = json_is_true(more);
	json_decref(message);
	if (!parameters)
		return -ENOMEM;
	*reply = parameters;
	return 0;
}

static int next_before(struct varlink *varlink, int64_t deadline, json_t **reply, bool *continues)
{
	const char *text;
	json_t *message;
	size_t length;
	int r;

	while (!(r = framing_next(&varlink->in, VARLINK_REPLY_MAX, &text, &length))) {
		r = receive(varlink, deadline);
		if (r)
			return r;
	}
	if (r < 0)
		return r;
	message = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	framing_consume(&varlink->in, length);
	if (!message)
		return -EBADMSG;
	return interpret(varlink, message, reply, continues);
}

int varlink_call(struct varlink *varlink, const char *method, json_t *parameters,
		 int64_t timeout_ms, json_t **reply)
{
	int64_t deadline = deadline_after(timeout_ms);
	bool continues;
	int r = send_call(varlink, method, parameters, false, deadline);

	if (r)
		return r;
	return next_before(varlink, deadline, reply, &continues);
}

int varlink_stream(struct varlink *varlink, const char *method, json_t *parameters,
		   int64_t timeout_ms)
{
	return send_call(varlink, method, parameters, true, deadline_after(timeout_ms));
}

int varlink_next(struct varlink *varlink, int64_t timeout_ms, json_t **reply, bool *continues)
{
	return next_before(varlink, deadline_after(timeout_ms), reply, continues);
}

const char *varlink_error(const struct varlink *varlink, const json_t **parameters)
{
	const json_t *given = json_object_get(varlink->error, "parameters");

	*parameters = json_is_object(given) ? given : NULL;
	return json_string_value(json_object_get(varlink->error, "error"));
}
