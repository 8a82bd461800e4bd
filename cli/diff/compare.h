/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops of one period compared with those of the period before it: what is new, and what has grown. */
#ifndef CLI_DIFF_COMPARE_H
#define CLI_DIFF_COMPARE_H

#include <stdbool.h>

#include <jansson.h>

struct page;

/*
 * Whether the history covers enough of the time before, half of it, to say what is new.
 * `before` is a reply of GetDrops, or NULL: it covers nothing.
 */
bool compare_has_enough(const json_t *before);

/*
 * Turn two replies of GetDrops into one object.  `rows` are the drops of `now` that are new, or so much more frequent
 * than `before` that chance does not explain it (significance.h), the largest growth first, each with before_packets,
 * before_per_second, per_second and new; `period` and `before` are the two periods.  NULL: no memory.
 */
json_t *compare_drops(const json_t *now, const json_t *before);

/* Put the rows as a table, `most` of them, and how many more there are.  0 or a negative errno. */
int compare_put(struct page *page, const json_t *compared, size_t most);

#endif
