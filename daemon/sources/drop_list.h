/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of drops that GetDrops replies with, whether a reading or the history fills it. */
#ifndef DAEMON_SOURCES_DROP_LIST_H
#define DAEMON_SOURCES_DROP_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "common/texts.h"
#include "daemon/rows/drop_rows.h"

struct baseline_view;
struct call;
struct drop;

struct drop_list {
	struct drop_rows rows;
	struct texts texts; /* of the rows */
	size_t top;
	bool by_class,
		by_place; /* whether the client asked for classes, and for a device or a namespace */
	bool by_flow;	  /* of records, not of counters */
	struct baseline_view *view; /* owned; NULL: there are no marks */
	int64_t seen_ns; /* until when the view has seen the drops, by the clock of their last_ns */
};

/* Read `by`, the classes and `top`.  -EINVAL: the call has ended.  Clear it in any case. */
int drop_list_read(struct drop_list *list, struct call *call, json_t *parameters);
void drop_list_clear(struct drop_list *list);

/*
 * Give the list the marks, before any place; it takes `view`.  `seen_ns`: see drop_list.  A clock that was set since
 * makes no difference if the source reckons it and drop_row.last_ns alike.
 */
void drop_list_mark(struct drop_list *list, struct baseline_view *view, int64_t seen_ns);
/* See drop_rows_place(); the cause gets its mark, and loses fields that it cannot have. */
int drop_list_place(struct drop_list *list, struct drop_row *cause, bool folded,
		    struct drop_place *place);

/* Count a record in its flow; `folded`: see drop_rows_place().  -ENOMEM. */
int drop_list_add_record(struct drop_list *list, const struct drop *drop, bool folded);

/* Type Drops; NULL: no memory. */
json_t *drop_list_row(const struct drop_list *list, size_t i);
/* Add what the reply says of all rows; `exact`: of the counters.  -ENOMEM. */
int drop_list_put(const struct drop_list *list, bool exact, json_t *reply);

#endif
