/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The growth of a counter over the last seconds, from a ring of its earlier readings. */
#ifndef DAEMON_ALERT_WINDOW_H
#define DAEMON_ALERT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALERT_WINDOW_READINGS 64

/* Readings are kept at least span / 60 apart, so a window can be longer by that. */
struct alert_window {
	uint64_t span_ns;
	size_t count, next;
	uint64_t newest, newest_ns;
	struct {
		uint64_t time_ns, total;
	} reading[ALERT_WINDOW_READINGS];
};

void alert_window_init(struct alert_window *window, uint64_t span_ns);

/* Add a reading of the counter.  Times never go back.  Growth begins with the first reading. */
void alert_window_add(struct alert_window *window, uint64_t now, uint64_t total);

/*
 * The growth within the span before the newest reading, and the time over which to divide it: at least
 * the span, even if the readings do not reach back that far.  Returns whether they do.
 */
bool alert_window_growth(const struct alert_window *window, uint64_t *growth, uint64_t *over_ns);

/*
 * For callers that keep totals of their own at the same readings: the index from which growth is
 * measured, the index of the newest reading kept, and whether that is the one added last.
 */
size_t alert_window_base(const struct alert_window *window);
size_t alert_window_last(const struct alert_window *window);
bool alert_window_kept(const struct alert_window *window);

#endif
