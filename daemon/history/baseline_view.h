/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The marks of all causes at one moment.  The writer's thread makes one per minute; any thread reads it, and nothing
 * changes it.  It lives until the last holder releases it.
 */
#ifndef DAEMON_HISTORY_BASELINE_VIEW_H
#define DAEMON_HISTORY_BASELINE_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/history/baseline_rates.h"

struct baseline_shown {
	char *key;
	struct baseline_rate rate;
};

struct baseline_view {
	atomic_uint holders;
	struct baseline_cover cover;
	int64_t seen_us;  /* drops up to here are in it, us since 1970 */
	uint64_t seen_ns; /* the same, CLOCK_MONOTONIC; 0: none of this run */
	int64_t bucket_s; /* the start of the bucket of age 0, seconds since 1970 */
	size_t causes, families;
	size_t folded;		      /* families with one cause for all */
	bool full;		      /* there are more causes than it has room for */
	struct baseline_shown *shown; /* sorted by key; a folded family has its own key */
	size_t count;
};

/* NULL-safe. */
struct baseline_view *baseline_view_hold(struct baseline_view *view);
/* NULL-safe; sets *view to NULL. */
void baseline_view_release(struct baseline_view **view);
#define OWN_BASELINE_VIEW CLEANUP(baseline_view_release)

/*
 * Fill the rate of a cause, by its key, or that of its family if that is folded.  `unseen_us`: its newest drop, in
 * us since 1970, if that came after the view was made, otherwise 0: then a cause that is not in the view is new, if the
 * view has room for all.  BASELINE_NONE: nothing is known, or there is too little history.  `view` may be NULL.
 */
void baseline_view_find(const struct baseline_view *view, const char *key, int64_t unseen_us,
			struct baseline_rate *rate);

#endif
