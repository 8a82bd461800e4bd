/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call by a client, as the method that handles it sees it.
 *
 * A call lasts until call_reply(), call_error(), call_invalid_parameter() or a failing call_check_parameters() ends it,
 * at once or long after the method returned.  It must not be used after that.  A method that keeps its call after it
 * returns registers with call_on_close() to learn that the client has disconnected.  The client's next call waits until
 * this one has ended.
 *
 * These functions steal the JSON that they are given, also on failure.  A function that ends the call ends it also when
 * it returns a negative errno.  The client then got no answer and is disconnected, and the server has reported the
 * error.
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
	/* An integer is valid too. */
	PARAMETER_FLOAT,
	PARAMETER_BOOL,
	PARAMETER_OBJECT,
	PARAMETER_ARRAY,
};

/* One parameter of a method.  A table of parameters ends with a row without a name. */
struct parameter {
	const char *name;
	enum parameter_type type;
	bool optional;
};

/*
 * Compare `parameters` with `table`.  Afterwards parameters that were null are removed, and the others have their type.
 * Returns 0; or -EINVAL after it ended the call with InvalidParameter, because a parameter is unknown, missing or of
 * another type.  A method can simply return that value.
 */
int call_check_parameters(struct call *call, json_t *parameters, const struct parameter *table);

/*
 * Send the reply, which ends the call.  NULL is a reply without parameters: a method that has no memory to build the
 * parameters must return -ENOMEM instead.
 */
int call_reply(struct call *call, json_t *parameters);

/* Send the error `error`, a name with its interface, which ends the call.  NULL: it has no parameters. */
int call_error(struct call *call, const char *error, json_t *parameters);

/* End the call with InvalidParameter, because the value of the parameter `name` is not valid. */
int call_invalid_parameter(struct call *call, const char *name);

/*
 * Send one reply of a stream; more follow.  Returns 0; -ENOBUFS, with nothing sent, if the client's queue is full
 * because it reads too slowly: the method must report the gap in a later reply; -EINVAL if the call did not ask for
 * `more`; or another negative errno.  The call continues in every case.
 */
int call_stream(struct call *call, json_t *parameters);

/*
 * Send one part of a long reply; more follow.  It may be as long as a reply that ends a call.  For methods that wait
 * while call_is_behind().  Returns 0 or a negative errno; the call continues in every case.
 */
int call_page(struct call *call, json_t *parameters);

/* Whether the call asked for `more`: for methods that can answer in one reply or in several. */
bool call_wants_more(const struct call *call);

/* Whether the client has not yet taken all replies: a method that need not stream now waits. */
bool call_is_behind(const struct call *call);

/*
 * Call `closed` if the client disconnects or the server stops before the call ends.  The call is then freed, so
 * `closed` must not use it.
 */
void call_on_close(struct call *call, void (*closed)(void *userdata), void *userdata);

/* True if the client belongs to uid 0. */
bool call_is_root(const struct call *call);

/*
 * Go on with a call long after its method returned: run `handle` as the server runs a method.  If it fails and the call
 * has not ended, the call ends with the error `failed`.
 */
typedef int (*call_handler)(struct call *call, json_t *parameters, void *userdata);
void call_continue(struct call *call, call_handler handle, json_t *parameters, void *userdata);

/* ---- for the server only -------------------------------------------------- */

/* Make a call of `method` the running call of `client`.  NULL: there is no method of that name. */
int call_new(struct call **call, struct client *client, const struct message *message,
	     const struct method *method);

/* The client has disconnected: notify the owner of the call and free the call. */
void call_abandon(struct call **call);

/*
 * The parameter `name`, a count of at least 1; `otherwise` if it is absent; 0 if it is invalid and the call has ended.
 */
size_t call_read_count(struct call *call, json_t *parameters, const char *name, size_t otherwise);

#endif
