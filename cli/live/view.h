/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pictures that the live view can show on a screen, each in a file of its
 * own: what they put on a page out of a reading.  Keys are cli/live/controls.c's.
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

/* What was chosen, and what stays from one picture to the next. */
struct view_state {
	enum view_id shown;
	size_t order[VIEW_COUNT]; /* index into the view's orders */
	size_t scroll;		  /* rows of its table that are above the screen */
	bool help;
	bool paused;
	int64_t interval_ms;
	struct frame frame;
	struct history history;
};

struct view {
	const char *name;
	const char *const *orders; /* what its rows can be sorted by, NULL at the end; NULL: not */
	/* `rows` is the length of its table, which can be scrolled.  0 or -ENOMEM. */
	int (*put)(struct view_state *state, struct page *page, const struct reading *reading,
		   size_t *rows);
};

extern const struct view view_overview;
extern const struct view view_drops;
extern const struct view view_latency;
extern const struct view view_napi;
extern const struct view view_ledger;

void view_done(struct view_state *state);

/* Take note of a new reading. */
void view_note(struct view_state *state, const struct reading *reading);

/* Another order of the rows, the one after the current one. */
void view_sort(struct view_state *state);

/*
 * Put the names of the views and the one that is shown (or the help);
 * `device` is the only one that it is about, or NULL.  0 or -ENOMEM.
 */
int view_put(struct view_state *state, struct page *page, const struct reading *reading,
	     const char *device);

/* One line: the keys. */
void view_put_keys(const struct view_state *state, struct page *page);

#endif
