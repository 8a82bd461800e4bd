/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the baseline of this host says about the causes of drops in a reply: docs/baseline.md. */
#ifndef DAEMON_CONTROL_DROP_MARKS_H
#define DAEMON_CONTROL_DROP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/history/baseline_view.h"

struct backend_drops;
struct cause;
struct control;
struct reader_rows;

/* The view of now; NULL: there is none.  The caller releases it. */
struct baseline_view *drop_marks_view(const struct control *control);

/* Of a counter and its cause, as they are now.  `view` may be NULL. */
void drop_marks_find(const struct baseline_view *view, const struct control *control,
		     const struct backend_drops *drops, const struct cause *cause,
		     struct baseline_rate *rate);

/* Of two rows, which comes first: what is new, then what has grown, then all others.  As a comparison for qsort(). */
int drop_marks_order(enum baseline_mark a, enum baseline_mark b);

/* Make it the mark of several causes together: the most urgent one, without rates. */
void drop_marks_join(struct baseline_rate *into, const struct baseline_rate *from);

/*
 * Set the member `baseline` of a row, type DropBaseline; `joined`: the row is of several causes, and has no rates.  A
 * row without a mark has no such member.  NULL-safe in `row`.
 */
void drop_marks_put(json_t *row, const struct baseline_rate *rate, bool joined);

/* Type Baseline, of the reply; the caller owns it.  NULL: no memory. */
json_t *drop_marks_json(const struct control *control, const struct baseline_view *view);

/* ---- the past ---------------------------------------------------------------------- */

/*
 * The marks are about now, so only a period that ends now has them: those of the last two minutes.  NULL: it does not.
 * The caller releases it.
 */
struct baseline_view *drop_marks_of_period(const struct control *control, int64_t until_us);

/* Of one series, by its name and its newest drop.  NULL-safe in `view`. */
void drop_marks_of_series(const struct baseline_view *view, const json_t *name, int64_t last_us,
			  struct baseline_rate *rate);

/*
 * Note the mark of a series in the part of its name that identifies a row of several, so that drop_marks_rows() finds
 * it: rows of different marks are apart until then.  NULL-safe in `part` and `view`.
 */
void drop_marks_note(json_t *part, const json_t *name, const struct baseline_view *view);

/* Join the rows that differ only in what was noted, and set their marks.  -ENOMEM.  NULL-safe in `view`. */
int drop_marks_rows(struct reader_rows *rows, const struct baseline_view *view);

#endif
