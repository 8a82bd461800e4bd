/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a Varlink server says, as JSON. */
#ifndef DAEMON_VARLINK_REPLY_H
#define DAEMON_VARLINK_REPLY_H

#include <stdbool.h>

#include <jansson.h>

/*
 * {"parameters": {…}}, or with "continues": true.  `parameters` is stolen; NULL is
 * an empty object.  The caller owns the result; NULL when out of memory.
 */
json_t *reply_new(json_t *parameters, bool continues);

/* {"error": error, "parameters": {…}} */
json_t *reply_error(const char *error, json_t *parameters);

#endif
