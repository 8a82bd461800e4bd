/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/window.h"

#include <string.h>

void alert_window_init(struct alert_window *window, uint64_t span_ns)
{
	memset(window, 0, sizeof(*window));
	window->span_ns = span_ns;
}

static size_t back(const struct alert_window *window, size_t by)
{
	return (window->next + ALERT_WINDOW_READINGS - 1 - by) % ALERT_WINDOW_READINGS;
}

size_t alert_window_last(const struct alert_window *window)
{
	return back(window, 0);
}

bool alert_window_kept(const struct alert_window *window)
{
	return window->reading[alert_window_last(window)].time_ns == window->newest_ns;
}

void alert_window_add(struct alert_window *window, uint64_t now, uint64_t total)
{
	uint64_t apart = window->span_ns / (ALERT_WINDOW_READINGS - 4);

	window->newest = total;
	window->newest_ns = now;
	if (window->count && now - window->reading[alert_window_last(window)].time_ns < apart)
		return;
	window->reading[window->next].time_ns = now;
	window->reading[window->next].total = total;
	window->next = (window->next + 1) % ALERT_WINDOW_READINGS;
	if (window->count < ALERT_WINDOW_READINGS)
		window->count++;
}

/* The newest reading that is at least a span old, or the oldest if none is. */
size_t alert_window_base(const struct alert_window *window)
{
	size_t at = alert_window_last(window);

	for (size_t i = 1; i < window->count; i++) {
		if (window->newest_ns - window->reading[at].time_ns >= window->span_ns)
			break;
		at = back(window, i);
	}
	return at;
}

bool alert_window_growth(const struct alert_window *window, uint64_t *growth, uint64_t *over_ns)
{
	size_t base = alert_window_base(window);
	uint64_t total = window->reading[base].total;

	*growth = window->newest > total ? window->newest - total : 0;
	*over_ns = window->newest_ns - window->reading[base].time_ns;
	if (*over_ns >= window->span_ns)
		return true;
	*over_ns = window->span_ns;
	return false;
}
