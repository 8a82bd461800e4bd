/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/json.h"
#include "daemon/varlink/client.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/reply.h"
#include "daemon/varlink/server.h"

struct call {
	struct client *client;
	const struct method *method;
	bool more;
	bool oneway;
	void (*closed)(void *userdata);
	void *closed_userdata;
};

static bool is_stream(const struct call *call)
{
	return call->more && call->method && call->method->streams;
}

int call_new(struct call **call, struct client *client, const struct message *message,
	     const struct method *method)
{
	struct call *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	new->client = client;
	new->method = method;
	new->more = message->more;
	new->oneway = message->oneway;
	if (is_stream(new))
		client_context(client)->stats->streams++;
	client_set_call(client, new);
	*call = new;
	return 0;
}

static void call_free(struct call **call)
{
	struct call *old = *call;

	if (is_stream(old))
		client_context(old->client)->stats->streams--;
	/* `call` may be the address of the client's own pointer, which this clears. */
	client_set_call(old->client, NULL);
	free(old);
	*call = NULL;
}

void call_abandon(struct call **call)
{
	void (*closed)(void *userdata);
	void *userdata;

	if (!*call)
		return;
	closed = (*call)->closed;
	userdata = (*call)->closed_userdata;
	call_free(call);
	if (closed)
		closed(userdata);
}

void call_on_close(struct call *call, void (*closed)(void *userdata), void *userdata)
{
	call->closed = closed;
	call->closed_userdata = userdata;
}

bool call_is_root(const struct call *call)
{
	return client_uid(call->client) == 0;
}

/* ---- replies -------------------------------------------------------------- */

static void report(const struct call *call, int error)
{
	const struct client_context *context = client_context(call->client);

	context->report(call->method ? call->method->name : "unknown method", error,
			context->userdata);
}

/* An error instead of a reply that is too long to keep in memory. */
static int send_too_long(struct call *call, size_t max_bytes)
{
	const char *error = client_context(call->client)->settings->errors.failed;
	OWN_JSON json_t *reply = NULL;

	report(call, -EMSGSIZE);
	reply = reply_error(
		error,
		json_pack(
			"{s:o}", "reason",
			json_sprintf(
				"the reply is longer than %zu bytes: request less, with a limit or a filter",
				max_bytes)));
	/* Replies of the call's stream may fill the queue, so the error gets room beyond the limit. */
	return reply ? client_send(call->client, reply, max_bytes + 4096) : -ENOMEM;
}

/* The unsent replies of all clients exceed the budget, and this client has the most of them. */
static int send_over_budget(struct call *call)
{
	const struct server_settings *settings = client_context(call->client)->settings;
	OWN_JSON json_t *reply = NULL;

	client_context(call->client)->stats->over_budget++;
	reply = reply_error(
		settings->errors.failed,
		json_pack(
			"{s:o}", "reason",
			json_sprintf(
				"replies that clients have not read exceed %zu bytes together, and this client has the most: read faster or request less",
				settings->max_unsent_bytes)));
	return reply ? client_send(call->client, reply, settings->max_reply_bytes) : -ENOMEM;
}

/* Send `reply` and end the call.  `reply` is stolen; NULL means that there was no memory for it. */
static int finish(struct call *call, json_t *reply)
{
	OWN_JSON json_t *owned = reply;
	size_t max_bytes = client_context(call->client)->settings->max_reply_bytes;
	int r = 0;

	if (!call->oneway) {
		r = owned ? client_send(call->client, owned, max_bytes) : -ENOMEM;
		if (r == -ENOBUFS)
			r = send_too_long(call, max_bytes);
		else if (r == -EDQUOT)
			r = send_over_budget(call);
	}
	if (r < 0) {
		/* A client that has disconnected, or that does not read, is not a failure to log. */
		if (r != -EPIPE && r != -EDQUOT)
			report(call, r);
		client_break(call->client);
	}
	call_free(&call);
	return r;
}

int call_reply(struct call *call, json_t *parameters)
{
	return finish(call, reply_new(parameters, false));
}

int call_error(struct call *call, const char *error, json_t *parameters)
{
	return finish(call, reply_error(error, parameters));
}

int call_invalid_parameter(struct call *call, const char *name)
{
	return call_error(call, "org.varlink.service.InvalidParameter",
			  json_pack("{s:s}", "parameter", name));
}

int call_stream(struct call *call, json_t *parameters)
{
	OWN_JSON json_t *reply = reply_new(parameters, true);
	const struct client_context *context = client_context(call->client);
	int r;

	if (!call->more)
		return -EINVAL;
	if (!reply)
		return -ENOMEM;
	r = client_send(call->client, reply, context->settings->max_queued_bytes);
	if (r == -ENOBUFS || r == -EDQUOT) {
		/* Send now, so that a client that keeps up loses nothing when one handler sends much. */
		client_flush(call->client);
		r = client_send(call->client, reply, context->settings->max_queued_bytes);
	}
	if (r == -EDQUOT)
		r = -ENOBUFS;
	if (r == -ENOBUFS)
		context->stats->gaps++;
	return r;
}

int call_page(struct call *call, json_t *parameters)
{
	OWN_JSON json_t *reply = reply_new(parameters, true);

	if (!reply)
		return -ENOMEM;
	return client_send(call->client, reply,
			   client_context(call->client)->settings->max_reply_bytes);
}

bool call_wants_more(const struct call *call)
{
	return call->more && !call->oneway;
}

bool call_is_behind(const struct call *call)
{
	return client_unsent(call->client) > 0;
}

void call_continue(struct call *call, call_handler handle, json_t *parameters, void *userdata)
{
	struct client *client = call->client;
	const struct client_context *context = client_context(client);
	const char *name = call->method ? call->method->name : "unknown method";
	int r = handle(call, parameters, userdata);

	/* The handler may have ended the call, which frees it; the client knows whether it did. */
	if (r == 0 || !client_call(client))
		return;
	context->report(name, r, context->userdata);
	call_error(client_call(client), context->settings->errors.failed,
		   json_pack("{s:s}", "reason", strerror(-r)));
}

/* ---- parameters ----------------------------------------------------------- */

static bool has_type(const json_t *value, enum parameter_type type)
{
	switch (type) {
	case PARAMETER_STRING:
		return json_is_string(value);
	case PARAMETER_INT:
		return json_is_integer(value);
	case PARAMETER_FLOAT:
		return json_is_number(value);
	case PARAMETER_BOOL:
		return json_is_boolean(value);
	case PARAMETER_OBJECT:
		return json_is_object(value);
	case PARAMETER_ARRAY:
		return json_is_array(value);
	}
	return false;
}

static const struct parameter *find_parameter(const struct parameter *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

/* The name of the first parameter that is not valid; NULL if all are. */
static const char *find_wrong(json_t *parameters, const struct parameter *table)
{
	const char *name;
	json_t *value;
	void *next;

	json_object_foreach_safe(parameters, next, name, value)
	{
		const struct parameter *known = find_parameter(table, name);

		if (!known)
			return name;
		if (json_is_null(value))
			json_object_del(parameters, name);
		else if (!has_type(value, known->type))
			return name;
	}
	for (; table->name; table++)
		if (!table->optional && !json_object_get(parameters, table->name))
			return table->name;
	return NULL;
}

int call_check_parameters(struct call *call, json_t *parameters, const struct parameter *table)
{
	const char *wrong = find_wrong(parameters, table);

	if (!wrong)
		return 0;
	call_invalid_parameter(call, wrong);
	return -EINVAL;
}

size_t call_read_count(struct call *call, json_t *parameters, const char *name, size_t otherwise)
{
	const json_t *value = json_object_get(parameters, name);

	if (!value)
		return otherwise;
	if (json_integer_value(value) >= 1)
		return (size_t)json_integer_value(value);
	call_invalid_parameter(call, name);
	return 0;
}
