/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies with rows: the daemon sends them in pages, see io.netflowd.varlink; commands get them as one. */
#ifndef COMMON_ROWS_H
#define COMMON_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/varlink.h"

/* The member of the method's reply that has the rows; NULL: it has none. */
const char *rows_of(const char *method);

/* Call a method as varlink_call() does, and put the rows of all pages together.  `timeout_ms` is for each page. */
int rows_call(struct varlink *varlink, const char *method, json_t *parameters, int64_t timeout_ms,
	      json_t **reply);

/* The rest of a call that -EINTR interrupted; *reply has the pages so far, or is NULL. */
int rows_next(struct varlink *varlink, const char *method, int64_t timeout_ms, json_t **reply);

#endif
