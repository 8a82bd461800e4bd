/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the baseline of this host says about the causes of drops in a reply: docs/baseline.md. */
#ifndef DAEMON_SOURCES_DROP_MARKS_H
#define DAEMON_SOURCES_DROP_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "daemon/history/baseline_view.h"

struct sources;
struct drop_row;

/* The view of now; NULL: there is none.  The caller releases it. */
struct baseline_view *drop_marks_view(const struct sources *sources);
/*
 * That of a period until `until_us`.  The marks are about now, so only a period that ends now has them: within the last
 * two minutes.  NULL: it does not.  The caller releases it.
 */
struct baseline_view *drop_marks_of_period(const struct sources *sources, int64_t until_us);

/* Give the row of a cause its mark, before it is placed.  `view` may be NULL. */
void drop_marks_place(const struct baseline_view *view, struct drop_row *row);

/*
 * Set the member `baseline` of a row's object, type DropBaseline; `joined`: the row is of several causes, and has no
 * rates.  A row without a mark has no such member.  `seen_ns`: see struct drop_list.  NULL-safe in `object` and `view`.
 */
void drop_marks_put(json_t *object, const struct baseline_view *view, const struct drop_row *row,
		    int64_t seen_ns, bool joined);

/* Type Baseline, of the reply; the caller owns it.  NULL: no memory. */
json_t *drop_marks_json(const struct sources *sources, const struct baseline_view *view);

#endif
