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

/* What a client may send before other clients have their turn; it is then one message that is handled. */
#define READ_BYTES (32UL * 1024)

/*
 * A refused client may still be writing.  If the socket closed at once, the client would get EPIPE instead of the
 * reply, so the server reads and discards its data for this time.  It is also all the time that the client has to take
 * the reply.
 */
#define LINGER_NS TIME_NS_PER_SECOND

struct client {
	const struct client_context *context;
	struct place *place;
	int fd;
	uid_t uid;
	uint64_t since_ns;
	/* When the socket last took a part of the output, or when the output began. */
	uint64_t moved_ns;
	/* The part of stats.unsent_bytes that is this client's. */
	size_t unsent;
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
	/* The reader has a complete message, which waits for a turn. */
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
static int on_lingered(void *userdata);

/* Keep the sum of all clients' unsent bytes. */
static void account(struct client *client)
{
	size_t *sum = &client->context->stats->unsent_bytes;

	*sum = *sum - client->unsent + framing_bytes(&client->output);
	client->unsent = framing_bytes(&client->output);
}

static void drop_output(struct client *client)
{
	framing_clear(&client->output);
	account(client);
}

int client_new(struct client **client, const struct client_context *context, int fd, uid_t uid,
	       struct place *place)
{
	OWN_CLIENT struct client *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	new->fd = -1;
	new->context = context;
	new->place = place;
	new->uid = uid;
	new->since_ns = time_monotonic();
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
	drop_output(old);
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

struct place *client_place(const struct client *client)
{
	return client->place;
}

uint64_t client_since(const struct client *client)
{
	return client->since_ns;
}

size_t client_unsent(const struct client *client)
{
	return client->unsent;
}

bool client_idle(const struct client *client)
{
	return !client->call && !client->unsent && !client->unfinished;
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
	client->since_ns = time_monotonic();
	wake(client);
}

/* `written` bytes are the reply that has just been queued. */
static int make_room(struct client *client, size_t written)
{
	const struct client_context *context = client->context;

	if (context->stats->unsent_bytes <= context->settings->max_unsent_bytes ||
	    context->make_room(client, context->userdata))
		return 0;
	framing_take_back(&client->output, written);
	account(client);
	return -EDQUOT;
}

int client_send(struct client *client, const json_t *reply, size_t max_bytes)
{
	size_t before = framing_bytes(&client->output);
	int r;

	if (client->broken)
		return -EPIPE;
	r = framing_write(&client->output, reply, max_bytes);
	if (r < 0)
		return r;
	if (!before)
		client->moved_ns = time_monotonic();
	account(client);
	r = make_room(client, framing_bytes(&client->output) - before);
	wake(client);
	return r;
}

void client_flush(struct client *client)
{
	if (client->broken || !client->unsent)
		return;
	if (framing_send(&client->output, client->fd) < 0)
		client_break(client);
	else if (framing_bytes(&client->output) < client->unsent)
		client->moved_ns = time_monotonic();
	account(client);
}

void client_break(struct client *client)
{
	client->broken = true;
	drop_output(client);
	wake(client);
}

void client_refuse(struct client *client, const char *error, json_t *parameters)
{
	OWN_JSON json_t *reply = reply_error(error, parameters);

	if (client->refused) /* for another reason */
		return;
	client->refused = true;
	client->unfinished = false;
	call_abandon(&client->call);
	message_reader_free(&client->reader);
	if (!reply ||
	    loop_add_timer(client->context->loop, &client->linger, LINGER_NS, 0, on_lingered,
			   client) < 0 ||
	    client_send(client, reply, client->context->settings->max_reply_bytes) < 0)
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

static void handle_next(struct client *client)
{
	OWN_MESSAGE struct message *message = NULL;
	int r = message_reader_next(client->reader, &message);

	if (r > 0)
		client->context->dispatch(client, message, client->context->userdata);
	else if (r == -EBADMSG)
		refuse_message(client, message_reader_error(client->reader));
	else if (r < 0)
		client_break(client);
	client_flush(client);
}

/* A complete message waits for its turn among those of other clients. */
static void look_for_message(struct client *client)
{
	client->unfinished = is_ready(client) && message_reader_ready(client->reader);
	if (client->unfinished) {
		client->context->want_turn(client, client->context->userdata);
	} else if (is_ready(client) && client->eof && message_reader_pending(client->reader)) {
		refuse_message(client, "the connection ended inside a message");
		client_flush(client);
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
	if (shutdown(client->fd, SHUT_WR) < 0)
		client_break(client);
}

static bool is_over(const struct client *client)
{
	if (client->broken)
		return true;
	if (client->refused)
		return client->lingered || (client->shut && client->eof);
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
	if (events == client->events)
		return;
	client->events = events;
	if (loop_fd_set_events(client->source, events) < 0)
		client_break(client);
}

/* The end of all that happens to a client in the loop: only here it is freed. */
static void end_turn(struct client *client)
{
	look_for_message(client);
	if (client->refused)
		shut_refused(client);
	client->in_turn = false;
	if (!is_over(client))
		wait_for_more(client);
	if (is_over(client))
		client->context->gone(client, client->context->userdata);
}

void client_turn(struct client *client)
{
	client->in_turn = true;
	if (is_ready(client))
		handle_next(client);
	end_turn(client);
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
	end_turn(client);
	return 0;
}

/* ---- time-outs ------------------------------------------------------------ */

/* Bytes that complete no call do not count as life: only a call does, and the reading of its reply. */
static bool is_idle_too_long(const struct client *client, uint64_t now)
{
	uint64_t limit = client->context->settings->idle_ns;

	return limit && client_idle(client) && now - client->since_ns > limit &&
	       now - client->moved_ns > limit;
}

static bool is_stalled_too_long(const struct client *client, uint64_t now)
{
	uint64_t limit = client->context->settings->idle_ns;

	return limit && client->unsent && now - client->moved_ns > limit;
}

bool client_check(struct client *client)
{
	uint64_t now;

	if (client->broken || client->refused)
		return false;
	client_flush(client);
	/* Not earlier: moved_ns may be new, and must not be behind `now`. */
	now = time_monotonic();
	if (is_stalled_too_long(client, now)) {
		client_break(client);
	} else if (!is_idle_too_long(client, now)) {
		return false;
	} else if (message_reader_pending(client->reader)) {
		client_refuse(
			client, client->context->settings->errors.invalid_message,
			json_pack(
				"{s:s}", "reason",
				"the call was not complete within the time that a connection may be idle"));
	} else {
		client_break(client);
	}
	return true;
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
