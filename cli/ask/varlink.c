/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/varlink.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#define READ_SIZE 65536
/* Between two attempts at a listener whose queue is full; poll() can't wait for that. */
#define CONNECT_RETRY_MS 20

struct varlink {
	int fd;
	int interrupt_fd;
	char *buffer;
	size_t used;
	size_t scanned; /* bytes of the buffer known to hold no NUL */
	size_t size;
	json_t *error; /* the answer that was an error */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t deadline_after(int64_t timeout_ms)
{
	return timeout_ms < 0 ? VARLINK_FOREVER : now_ms() + timeout_ms;
}

/* For poll(): milliseconds to the deadline, at least 0, or -1. */
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
	free((*varlink)->buffer);
	json_decref((*varlink)->error);
	free(*varlink);
	*varlink = NULL;
}

void varlink_interrupt(struct varlink *varlink, int fd)
{
	varlink->interrupt_fd = fd;
}

/* Until the socket is ready for `events`, or has failed. */
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

/*
 * An interruption waits until the call is out: half a call would make the rest
 * of the connection useless.
 */
static int send_all(struct varlink *varlink, const char *bytes, size_t len, int64_t deadline)
{
	while (len) {
		ssize_t sent = send(varlink->fd, bytes, len, MSG_NOSIGNAL);
		struct pollfd fd = {.fd = varlink->fd, .events = POLLOUT};

		if (sent >= 0) {
			bytes += sent;
			len -= (size_t)sent;
			continue;
		}
		/* whoever closes without listening may have said why: read on */
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (!time_left(deadline))
			return -ETIMEDOUT;
		if (errno == EAGAIN)
			poll(&fd, 1, time_left(deadline));
	}
	return 0;
}

static int send_call(struct varlink *varlink, const char *method, json_t *parameters, bool more,
		     int64_t deadline)
{
	OWN_FREE char *text = NULL;
	json_t *call;

	if (!parameters)
		parameters = json_object();
	call = json_pack("{s:s, s:o}", "method", method, "parameters", parameters);
	if (!call)
		return -ENOMEM;
	if (more && json_object_set_new(call, "more", json_true())) {
		json_decref(call);
		return -ENOMEM;
	}
	text = json_dumps(call, JSON_COMPACT);
	json_decref(call);
	if (!text)
		return -ENOMEM;
	json_decref(varlink->error);
	varlink->error = NULL;
	return send_all(varlink, text, strlen(text) + 1, deadline);
}

static int make_room(struct varlink *varlink)
{
	size_t size = varlink->size * 2;
	char *buffer;

	if (varlink->size - varlink->used >= READ_SIZE)
		return 0;
	if (varlink->used > VARLINK_REPLY_MAX)
		return -EMSGSIZE;
	if (size < varlink->used + READ_SIZE)
		size = varlink->used + READ_SIZE;
	buffer = realloc(varlink->buffer, size);
	if (!buffer)
		return -ENOMEM;
	varlink->buffer = buffer;
	varlink->size = size;
	return 0;
}

/* Read once, waiting for it. */
static int receive(struct varlink *varlink, int64_t deadline)
{
	ssize_t got;
	int r = make_room(varlink);

	if (!r)
		r = wait_for(varlink, POLLIN, deadline);
	if (r)
		return r;
	got = recv(varlink->fd, varlink->buffer + varlink->used, READ_SIZE, 0);
	if (got > 0) {
		varlink->used += (size_t)got;
		return 0;
	}
	if (!got)
		return -ECONNRESET;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* Length of the message at the beginning of the buffer, its NUL included; 0 when it is not whole.
 */
static size_t whole_message(struct varlink *varlink)
{
	const char *nul = NULL;

	if (varlink->used > varlink->scanned)
		nul = memchr(varlink->buffer + varlink->scanned, '\0',
			     varlink->used - varlink->scanned);
	if (nul)
		return (size_t)(nul - varlink->buffer) + 1;
	varlink->scanned = varlink->used;
	return 0;
}

static void consume(struct varlink *varlink, size_t len)
{
	varlink->used -= len;
	varlink->scanned = 0;
	memmove(varlink->buffer, varlink->buffer + len, varlink->used);
}

/* Take an answer apart; `message` is stolen. */
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
	json_t *message;
	size_t len;

	while (!(len = whole_message(varlink))) {
		int r = receive(varlink, deadline);

		if (r)
			return r;
	}
	message = json_loadb(varlink->buffer, len - 1, JSON_REJECT_DUPLICATES, NULL);
	consume(varlink, len);
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
