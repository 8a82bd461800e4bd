/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The replies of a Varlink server, as JSON. */
#ifndef DAEMON_VARLINK_REPLY_H
#define DAEMON_VARLINK_REPLY_H

#include <stdbool.h>

#include <jansson.h>

/*
 * {"parameters": {…}}, and "continues": true if `continues` is true.  `parameters` is stolen; NULL is an empty object.
 * The caller owns the result; NULL: no memory.
 */
json_t *reply_new(json_t *parameters, bool continues);

/* {"error": error, "parameters": {…}} */
json_t *reply_error(const char *error, json_t *parameters);

#endif
