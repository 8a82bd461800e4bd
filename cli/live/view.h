/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The views that `netflowctl top` shows on a screen, one file each.  A view puts a reading on a page.
 * cli/live/controls.c handles the keys.
 */
#ifndef CLI_LIVE_VIEW_H
#define CLI_LIVE_VIEW_H

#include "cli/live/frame.h"
#include "cli/live/history.h"

enum view_id {
	VIEW_OVERVIEW,
	VIEW_DROPS,
	VIEW_LATENCY,
	VIEW_NAPI,
	VIEW_LEDGER,
	VIEW_COUNT,
};

/* The user's choices, and state that is kept from one frame to the next. */
struct view_state {
	enum view_id shown;
	size_t order[VIEW_COUNT]; /* index into the orders of each view */
	size_t scroll;		  /* rows of the view's table that are scrolled off the top */
	bool help;
	bool paused;
	int64_t interval_ms;
	struct frame frame;
	struct live_history history;
};

struct view {
	const char *name;
	const char *const *
		orders; /* names of the orders of its rows, ended by NULL; NULL if there is one only */
	/* Put the view on the page; set *rows to the length of the table that scrolls, or 0.  0 or -ENOMEM. */
	int (*put)(struct view_state *state, struct page *page, const struct live_reading *reading,
		   size_t *rows);
};

extern const struct view view_overview;
extern const struct view view_drops;
extern const struct view view_latency;
extern const struct view view_napi;
extern const struct view view_ledger;

void view_done(struct view_state *state);

/* Add a new reading to the history. */
void view_note(struct view_state *state, const struct live_reading *reading);

/* Switch to the next order of the rows. */
void view_sort(struct view_state *state);

/*
 * Put the names of the views, then the current view or the help.  `device` is the only device of the reading, or NULL.
 * 0 or -ENOMEM.
 */
int view_put(struct view_state *state, struct page *page, const struct live_reading *reading,
	     const char *device);

/* Put the list of keys, without ending the line. */
void view_put_keys(const struct view_state *state, struct page *page);

#endif
