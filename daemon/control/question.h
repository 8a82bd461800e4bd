/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that a method answers from what netflowd counts now or, with `since` or `until`, from the history: a thread
 * of the history makes the rows, and the reply goes out in pages like all others.
 */
#ifndef DAEMON_CONTROL_QUESTION_H
#define DAEMON_CONTROL_QUESTION_H

#include <stdbool.h>

#include <jansson.h>

#include "daemon/sources/past.h"
#include "daemon/varlink/server.h"

struct control;
struct parameter;

/* The parameters of a method that can answer for the past. */
#define PAST_PARAMETERS                         \
	{"since", PARAMETER_STRING, true},      \
	{                                       \
		"until", PARAMETER_STRING, true \
	}

struct question {
	const struct parameter *parameters;
	const struct past_kind *past;
	unsigned int parts; /* READING_BIT() of what `now` needs */
	server_method now;
	bool without_backend; /* it has an answer then, too */
};

/* Check the parameters and answer the call.  The result is for the method to return. */
int question_answer(struct control *control, struct call *call, json_t *parameters,
		    const struct question *question);

/* Whether the call is about the past. */
bool question_is_past(const json_t *parameters);

/* Answer the call from the history, after its parameters were checked.  The result is for the method to return. */
int question_ask_past(struct control *control, struct call *call, json_t *parameters,
		      const struct past_kind *kind);

#endif
