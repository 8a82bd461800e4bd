/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replies with rows.  A call without `more` gets one reply with up to PAGES_ROWS_MAX rows.  A call with `more` gets as
 * many replies as its rows need, each with up to PAGES_ROWS rows; every row is in exactly one of them, because the rows
 * are those of one reading.  Rows are made in slices of 1 ms, and the next page when the client has taken the last one.
 */
#ifndef DAEMON_CONTROL_PAGES_H
#define DAEMON_CONTROL_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct call;
struct control;

#define PAGES_ROWS 64
#define PAGES_ROWS_MAX 256

/* How a method makes its reply.  `state` belongs to the pages from pages_reply() on. */
struct pages_source {
	const char *member; /* the array of the rows */
	/* All members of a reply except the rows; called once per page, after the first rows were made. */
	json_t *(*head)(void *state);
	/*
	 * Make the next row.  1: *row is the row, or NULL if this step found none; 0: there are no more; or a negative
	 * errno.  It takes at most 1 ms.
	 */
	int (*next)(void *state, json_t **row);
	void (*free)(void *state);
};

/*
 * Read the parameter `limit`: how many rows the reply has at most.  Default: `otherwise`, and all rows for a call with
 * `more`.  0: it is not valid, and the call has ended.
 */
size_t pages_read_limit(struct call *call, json_t *parameters, size_t otherwise);

/* Reply with up to `limit` rows.  On failure `state` is freed and the call has not ended.  For the method to return. */
int pages_reply(struct control *control, struct call *call, const struct pages_source *source,
		void *state, size_t limit);

/* End all replies that are not complete. */
void pages_stop(struct control *control);

#endif
