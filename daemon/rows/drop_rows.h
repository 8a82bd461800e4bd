/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a list of drops.  A source, which is a reading or the history, gives each cause a place and counts its
 * drops there; this groups, hides and orders them.  So both show the same of the same drops.
 */
#ifndef DAEMON_ROWS_DROP_ROWS_H
#define DAEMON_ROWS_DROP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/map.h"
#include "daemon/rows/drop_row.h"

struct texts;

/* What rows are joined by. */
struct drop_grouping {
	unsigned int fields; /* enum drop_field: that the rows of a group have in common */
	unsigned int lost;   /* enum drop_lost: rows that have lost fields so stay apart */
};

/* A row for each cause. */
#define DROP_GROUPING_NONE ((struct drop_grouping){DROP_FIELDS, ~0U})

/* A name of a grouping as it was given, a part of the names, and the nearest one, which is static; NULL: none is. */
struct drop_grouping_error {
	const char *name;
	size_t length;
	const char *nearest;
};

/*
 * Read the names of groupings, with commas between: a row for all drops that have all of this in common.  Flows are of
 * records, and are not joined with other fields.  -EINVAL: there is none of a name.
 */
int drop_grouping_read(struct drop_grouping *by, const char *names,
		       struct drop_grouping_error *error);

struct drop_rows {
	/* What the caller asks for. */
	struct drop_grouping by;
	struct texts *
		texts; /* keep the texts of rows here; NULL: the source keeps those of all its causes */
	unsigned int classes; /* VERDICT_CLASS_BIT() of those that are shown */
	/*
	 * Rows; what has none then counts in rows of others: of flows one for each class, otherwise one for each
	 * class, and each reason and location if rows are joined by these, of which the kernel has few.  These are
	 * DROP_GONE.  0: no limit.
	 */
	size_t most;
	uint8_t first_mark,
		new_mark; /* marks from the first on come before others, the largest first */
	int64_t new_after_ns; /* a cause that the baseline has not seen is new if it dropped later; INT64_MAX: never */

	struct drop_row *row;
	size_t count, room;
	struct map map;
	/* Packets of each class, hidden or not, and what is no packet. */
	uint64_t class[KNOWLEDGE_CLASSES], messages;
	uint64_t folded;     /* packets of keys that have lost what was asked for */
	struct drop_row sum; /* of all rows: only its numbers */
};

void drop_rows_clear(struct drop_rows *rows);
#define OWN_DROP_ROWS CLEANUP(drop_rows_clear)

/* Where the drops of a cause count. */
struct drop_place {
	enum {
		DROP_NOWHERE, /* it was not asked for */
		DROP_IN_ROW,
		DROP_IN_CLASS, /* hidden: only in the sum of its class */
		DROP_IN_FOLDED,
		DROP_IN_MESSAGES,
	} in : 8;
	uint32_t row;
	uint8_t class;
};

/*
 * The place of a cause, of which `cause` has all but the numbers; `folded`: it has lost what was asked for.  -ENOMEM.
 */
int drop_rows_place(struct drop_rows *rows, const struct drop_row *cause, bool folded,
		    struct drop_place *place);
/* Add the numbers of `count`. */
void drop_rows_count(struct drop_rows *rows, const struct drop_place *place,
		     const struct drop_row *count);

/* All is counted: give rows the names that others of their namespace have, join, order and sum them.  -ENOMEM. */
int drop_rows_finish(struct drop_rows *rows);

/* The packets of classes that are not shown. */
uint64_t drop_rows_hidden(const struct drop_rows *rows);

#endif
