/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calling side of a Varlink connection (varlink.org): JSON objects ended
 * by a NUL byte over a Unix stream socket.  One call at a time.
 */
#ifndef CLI_ASK_VARLINK_H
#define CLI_ASK_VARLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"

/* The largest answer accepted, in bytes. */
#define VARLINK_REPLY_MAX (256U << 20)

/* No limit of time. */
#define VARLINK_FOREVER (-1)

struct varlink;

/*
 * Connect to the socket at `path` within `timeout_ms`.  0, or what connect(2)
 * says: -ENOENT or -ECONNREFUSED where nobody listens, -EACCES,
 * -ENAMETOOLONG, -ETIMEDOUT when the listener's queue stays full.
 */
int varlink_connect(struct varlink **varlink, const char *path, int64_t timeout_ms);

/* Over a connected stream socket, which the object then owns, also when this fails. */
int varlink_new(struct varlink **varlink, int fd);

void varlink_free(struct varlink **varlink);
#define OWN_VARLINK CLEANUP(varlink_free)

/*
 * While `fd` (not owned; -1 for none) is readable, waiting ends with -EINTR.
 * The call it ended may be continued with varlink_next().
 */
void varlink_interrupt(struct varlink *varlink, int fd);

/*
 * Call `method` within `timeout_ms`.  `parameters` is stolen, NULL for none.
 * On success *reply holds the parameters of the answer, which the caller owns.
 * Else:
 *   -EREMOTEIO   the daemon answered with an error, see varlink_error()
 *   -ETIMEDOUT   no whole answer in time
 *   -ECONNRESET  the connection ended, also in the middle of an answer
 *   -EMSGSIZE    an answer of more than VARLINK_REPLY_MAX bytes
 *   -EBADMSG     something that is no Varlink answer
 *   -EINTR       interrupted
 * After all but -EREMOTEIO and -EINTR the connection is of no more use.
 */
int varlink_call(struct varlink *varlink, const char *method, json_t *parameters,
		 int64_t timeout_ms, json_t **reply);

/* Call with "more": answers come from varlink_next() from now on. */
int varlink_stream(struct varlink *varlink, const char *method, json_t *parameters,
		   int64_t timeout_ms);

/* The next answer of the call, and whether more will follow.  Errors as above. */
int varlink_next(struct varlink *varlink, int64_t timeout_ms, json_t **reply, bool *continues);

/*
 * The error that -EREMOTEIO told of: its name, and its parameters in
 * *parameters (an object, borrowed).  Both last until the next call.
 */
const char *varlink_error(const struct varlink *varlink, const json_t **parameters);

#endif
