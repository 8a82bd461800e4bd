/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A counter's growth over the last so many seconds: a ring of its earlier readings. */
#ifndef DAEMON_ALERT_WINDOW_H
#define DAEMON_ALERT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALERT_WINDOW_READINGS 64

/* Readings are kept at least span / 60 apart, so a window may be longer by that. */
struct alert_window {
	uint64_t span_ns;
	size_t count, next;
	uint64_t newest, newest_ns;
	struct {
		uint64_t time_ns, total;
	} reading[ALERT_WINDOW_READINGS];
};

void alert_window_init(struct alert_window *window, uint64_t span_ns);

/* The counter stands at `total`; times never go back.  The first reading is where growth begins. */
void alert_window_add(struct alert_window *window, uint64_t now, uint64_t total);

/*
 * What came within the span before the newest reading, and the time that it is
 * of: at least the span, also while there are no readings that far back.
 * Returns whether there are.
 */
bool alert_window_growth(const struct alert_window *window, uint64_t *growth, uint64_t *over_ns);

/* For what keeps totals of its own at the same readings: where growth is measured from, where the
 * newest that is kept stands, and whether that is the one that was added last. */
size_t alert_window_base(const struct alert_window *window);
size_t alert_window_last(const struct alert_window *window);
bool alert_window_kept(const struct alert_window *window);

#endif
