/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's side of a Varlink connection (varlink.org) over a Unix stream socket.  One call at a time. */
#ifndef COMMON_VARLINK_H
#define COMMON_VARLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"

/* The longest reply that is accepted, in bytes without its NUL byte. */
#define VARLINK_REPLY_MAX (256U << 20)

/* As `timeout_ms`: no limit. */
#define VARLINK_FOREVER (-1)

struct varlink;

/*
 * Connect to the socket at `path` within `timeout_ms`.  Returns 0; -ENAMETOOLONG; -ETIMEDOUT if the listener's queue
 * stays full; or another negative errno of connect(2), such as -EACCES, or -ENOENT or -ECONNREFUSED if no process
 * listens there.
 */
int varlink_connect(struct varlink **varlink, const char *path, int64_t timeout_ms);

/* Use the connected stream socket `fd`, which is owned from then on, also on failure.  Returns 0 or -ENOMEM. */
int varlink_new(struct varlink **varlink, int fd);

void varlink_free(struct varlink **varlink);
#define OWN_VARLINK CLEANUP(varlink_free)

/*
 * While `fd` is readable, waiting for a reply ends with -EINTR, and varlink_next() can then continue the call.  -1: no
 * fd.  `fd` is not owned.
 */
void varlink_interrupt(struct varlink *varlink, int fd);

/*
 * Call `method` within `timeout_ms`.  `parameters` is stolen; NULL: none.  Returns 0, with the parameters of the reply
 * in *reply, which the caller owns; or:
 *   -EREMOTEIO   the daemon replied with an error, see varlink_error()
 *   -ETIMEDOUT   no complete reply in time
 *   -ECONNRESET  the connection ended before or within the reply
 *   -EMSGSIZE    the reply is longer than VARLINK_REPLY_MAX bytes
 *   -EBADMSG     the reply is not a Varlink message
 *   -EINTR       interrupted, see varlink_interrupt()
 * or another negative errno.  The connection can be used again only after 0, -EREMOTEIO and -EINTR.
 */
int varlink_call(struct varlink *varlink, const char *method, json_t *parameters,
		 int64_t timeout_ms, json_t **reply);

/* Call `method` with "more".  varlink_next() then returns the replies. */
int varlink_stream(struct varlink *varlink, const char *method, json_t *parameters,
		   int64_t timeout_ms);

/* Wait for the next reply of the call; *continues is true if more follow.  Errors as above. */
int varlink_next(struct varlink *varlink, int64_t timeout_ms, json_t **reply, bool *continues);

/*
 * After -EREMOTEIO: the name of the error.  *parameters is an object with its parameters, or NULL if it has none.  Both
 * are borrowed and valid until the next call.
 */
const char *varlink_error(const struct varlink *varlink, const json_t **parameters);

#endif
