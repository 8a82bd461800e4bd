/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call that a client made, as the method that handles it sees it.
 *
 * A call lasts until call_reply(), call_error(), call_invalid_parameter() or a
 * failing call_check_parameters() ends it, at once or long after the method
 * returned; it must not be used after that.  Whoever keeps a call beyond the
 * method's return registers with call_on_close() to learn that the client went
 * away.  While a call lasts its client's next one waits.
 *
 * JSON that is handed over is stolen, also on failure.  The functions that end
 * a call end it also when they return a negative errno: then the client could
 * not be answered and is disconnected, which the server has reported.
 */
#ifndef DAEMON_VARLINK_CALL_H
#define DAEMON_VARLINK_CALL_H

#include <stdbool.h>

#include <jansson.h>

struct call;
struct client;
struct message;
struct method;

enum parameter_type {
	PARAMETER_STRING,
	PARAMETER_INT,
	/* An integer is one too. */
	PARAMETER_FLOAT,
	PARAMETER_BOOL,
	PARAMETER_OBJECT,
	PARAMETER_ARRAY,
};

/* One parameter of a method; a table of them ends with a row without a name. */
struct parameter {
	const char *name;
	enum parameter_type type;
	bool optional;
};

/*
 * Hold `parameters` against `table`.  Afterwards those that were null are gone
 * and the others have their type.  Returns 0, or -EINVAL after the call ended
 * with InvalidParameter for one that is unknown, missing or of another type;
 * a method may simply return that.
 */
int call_check_parameters(struct call *call, json_t *parameters, const struct parameter *table);

/*
 * The reply, which ends the call.  NULL is a reply without parameters: whoever
 * builds them looks for a lack of memory first and returns -ENOMEM instead.
 */
int call_reply(struct call *call, json_t *parameters);

/* The error `error`, its interface included, which ends the call.  NULL: it has no parameters. */
int call_error(struct call *call, const char *error, json_t *parameters);

/* The error that the value of the parameter `name` makes no sense. */
int call_invalid_parameter(struct call *call, const char *name);

/*
 * One reply of a stream, after which more follow.  Returns 0; -ENOBUFS, with
 * nothing sent, when this client's queue is full: it reads too slowly, and the
 * next reply that succeeds tells it of the gap; -EINVAL when the call did not
 * ask for `more`; or another negative errno.  The call goes on in every case.
 */
int call_stream(struct call *call, json_t *parameters);

/*
 * Call `closed` should the client or the server go away before the call ends,
 * as the last thing the call does.  It must not use the call any more.
 */
void call_on_close(struct call *call, void (*closed)(void *userdata), void *userdata);

/* ---- for the server only -------------------------------------------------- */

/* A call of `method`, NULL when there is none of that name, becomes the current one of `client`. */
int call_new(struct call **call, struct client *client, const struct message *message,
	     const struct method *method);

/* The client is gone: tell the owner, free the call. */
void call_abandon(struct call **call);

#endif
