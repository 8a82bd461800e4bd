/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/framing.h"
#include "common/json.h"
#include "common/time.h"
#include "daemon/process/loop.h"
#include "daemon/varlink/call.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/reply.h"
#include "daemon/varlink/server.h"

/* Limits of one turn of a client in the loop, after which other clients have their turn. */
#define READ_BYTES (32UL * 1024)
#define MESSAGES_PER_TURN 16

/*
 * A refused client may still be writing.  If the socket closed at once, the client would get EPIPE instead of the
 * reply, so the server reads and discards its data for this time.
 */
#define LINGER_NS TIME_NS_PER_SECOND

struct client {
	const struct client_context *context;
	int fd;
	uid_t uid;
	struct loop_source *source;
	/* Gives the client a turn without an event of its socket. */
	struct loop_source *wake;
	struct loop_source *linger;
	struct message_reader *reader;
	struct framing output;
	struct call *call;
	/* The events that `source` waits for. */
	unsigned int events;
	bool in_turn;
	/* The reader may still hold complete messages. */
	bool unfinished;
	/* The client sends no more. */
	bool eof;
	/* The connection has failed: nothing more is sent or read. */
	bool broken;
	/* Refused: once the output is sent, the server shuts down its side and lingers. */
	bool refused;
	bool shut;
	bool lingered;
};

static int on_event(int fd, unsigned int events, void *userdata);
static int on_wake(void *userdata);

static int get_uid(int fd, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*uid = peer.uid;
	return 0;
}

int client_new(struct client **client, const struct client_context *context, int fd)
{
	OWN_CLIENT struct client *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	new->fd = -1;
	new->context = context;
	r = get_uid(fd, &new->uid);
	if (r < 0)
		return r;
	r = message_reader_new(&new->reader, context->settings->max_message_bytes,
			       context->settings->max_depth);
	if (r < 0)
		return r;
	new->events = LOOP_READ;
	r = loop_add_fd(context->loop, &new->source, fd, new->events, on_event, new);
	if (r < 0)
		return r;
	r = loop_add_defer(context->loop, &new->wake, on_wake, new);
	if (r < 0)
		return r;
	new->fd = fd;
	*client = TAKE_PTR(new);
	return 0;
}

void client_free(struct client **client)
{
	struct client *old = *client;

	if (!old)
		return;
	/* The owner of the call may try to reply in `closed`; no reply can be sent any more. */
	old->broken = true;
	call_abandon(&old->call);
	loop_source_free(&old->linger);
	loop_source_free(&old->wake);
	loop_source_free(&old->source);
	cleanup_close(&old->fd);
	message_reader_free(&old->reader);
	framing_clear(&old->output);
	free(old);
	*client = NULL;
}

const struct client_context *client_context(const struct client *client)
{
	return client->context;
}

uid_t client_uid(const struct client *client)
{
	return client->uid;
}

struct call *client_call(const struct client *client)
{
	return client->call;
}

/* Give the client a turn after the current handler. */
static void wake(struct client *client)
{
	if (!client->in_turn && client->wake)
		loop_source_set_enabled(client->wake, true);
}

void client_set_call(struct client *client, struct call *call)
{
	client->call = call;
	wake(client);
}

int client_send(struct client *client, const json_t *reply, size_t max_bytes)
{
	int r;

	if (client->broken)
		return -EPIPE;
	r = framing_write(&client->output, reply, max_bytes);
	if (r < 0)
		return r;
	wake(client);
	return 0;
}

void client_flush(struct client *client)
{
	if (!client->broken && framing_send(&client->output, client->fd) < 0)
		client_break(client);
}

size_t client_unsent(const struct client *client)
{
	return framing_bytes(&client->output);
}

void client_break(struct client *client)
{
	client->broken = true;
	wake(client);
}

void client_refuse(struct client *client, const char *error, json_t *parameters)
{
	OWN_JSON json_t *reply = reply_error(error, parameters);

	client->refused = true;
	message_reader_free(&client->reader);
	if (!reply || client_send(client, reply, client->context->settings->max_reply_bytes) < 0)
		client_break(client);
}

/* ---- a turn --------------------------------------------------------------- */

/* True if the next call may begin: the previous one has ended and its reply is sent. */
static bool is_ready(const struct client *client)
{
	return !client->broken && !client->refused && !client->call &&
	       !framing_bytes(&client->output);
}

static void take_in(struct client *client)
{
	char chunk[READ_BYTES];
	ssize_t got = recv(client->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (got < 0) {
		if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			client_break(client);
		return;
	}
	if (got == 0)
		client->eof = true;
	else if (!client->refused && message_reader_feed(client->reader, chunk, (size_t)got) < 0)
		client_break(client);
}

static void refuse_message(struct client *client, const char *reason)
{
	/* Copies the reason, because client_refuse() frees the reader that owns it. */
	json_t *parameters = json_pack("{s:s}", "reason", reason);

	client->context->stats->rejected++;
	client_refuse(client, client->context->settings->errors.invalid_message, parameters);
}

/* Returns true if there was a message. */
static bool handle_next(struct client *client)
{
	OWN_MESSAGE struct message *message = NULL;
	int r = message_reader_next(client->reader, &message);

	if (r == 0)
		return false;
	if (r > 0)
		client->context->dispatch(client, message, client->context->userdata);
	else if (r == -EBADMSG)
		refuse_message(client, message_reader_error(client->reader));
	else
		client_break(client);
	client_flush(client);
	return true;
}

static void handle_messages(struct client *client)
{
	unsigned int handled = 0;

	client->unfinished = false;
	while (is_ready(client)) {
		if (handled++ == MESSAGES_PER_TURN) {
			client->unfinished = true;
			return;
		}
		if (handle_next(client))
			continue;
		if (client->eof && message_reader_pending(client->reader)) {
			refuse_message(client, "the connection ended inside a message");
			client_flush(client);
		}
		return;
	}
}

static int on_lingered(void *userdata)
{
	struct client *client = userdata;

	client->lingered = true;
	return on_wake(client);
}

static void shut_refused(struct client *client)
{
	if (client->broken || client->shut || framing_bytes(&client->output))
		return;
	client->shut = true;
	if (shutdown(client->fd, SHUT_WR) < 0 ||
	    loop_add_timer(client->context->loop, &client->linger, LINGER_NS, 0, on_lingered,
			   client) < 0)
		client_break(client);
}

static bool is_over(const struct client *client)
{
	if (client->broken)
		return true;
	if (client->refused)
		return client->shut && (client->eof || client->lingered);
	return client->eof && !client->call && !framing_bytes(&client->output) &&
	       !client->unfinished;
}

/*
 * The server does not read from a client that has a running call or unsent replies.  The client's data waits in the
 * kernel, which limits its size.
 */
static void wait_for_more(struct client *client)
{
	unsigned int events = 0;

	if (!client->eof && (client->shut || (is_ready(client) && !client->unfinished)))
		events |= LOOP_READ;
	if (framing_bytes(&client->output))
		events |= LOOP_WRITE;
	if (client->unfinished)
		wake(client);
	if (events == client->events)
		return;
	client->events = events;
	if (loop_fd_set_events(client->source, events) < 0)
		client_break(client);
}

static int take_turn(struct client *client, unsigned int events)
{
	bool listening = client->events & LOOP_READ;

	client->in_turn = true;
	/* While the server listens, recv() finds the end itself, after all that the client sent. */
	if ((events & LOOP_HANGUP) && !listening && !client->unfinished)
		client_break(client);
	client_flush(client);
	if ((events & (LOOP_READ | LOOP_HANGUP)) && listening && !client->broken)
		take_in(client);
	handle_messages(client);
	if (client->refused)
		shut_refused(client);
	client->in_turn = false;
	if (!is_over(client))
		wait_for_more(client);
	if (is_over(client))
		client->context->gone(client, client->context->userdata);
	return 0;
}

static int on_event(int fd, unsigned int events, void *userdata)
{
	(void)fd;
	return take_turn(userdata, events);
}

static int on_wake(void *userdata)
{
	return take_turn(userdata, 0);
}
