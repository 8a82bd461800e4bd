/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/window.h"

#include <string.h>

void alert_window_init(struct alert_window *window, uint64_t span_ns)
{
	memset(window, 0, sizeof(*window));
	window->span_ns = span_ns;
}

static size_t last(const struct alert_window *window, size_t back)
{
	return (window->next + ALERT_WINDOW_READINGS - 1 - back) % ALERT_WINDOW_READINGS;
}

void alert_window_add(struct alert_window *window, uint64_t now, uint64_t total)
{
	uint64_t apart = window->span_ns / (ALERT_WINDOW_READINGS - 4);

	window->newest = total;
	window->newest_ns = now;
	if (window->count && now - window->reading[last(window, 0)].time_ns < apart)
		return;
	window->reading[window->next].time_ns = now;
	window->reading[window->next].total = total;
	window->next = (window->next + 1) % ALERT_WINDOW_READINGS;
	if (window->count < ALERT_WINDOW_READINGS)
		window->count++;
}

bool alert_window_growth(const struct alert_window *window, uint64_t *growth, uint64_t *over_ns)
{
	uint64_t base = window->newest, base_ns = window->newest_ns;

	for (size_t i = 0; i < window->count; i++) {
		size_t at = last(window, i);

		base = window->reading[at].total;
		base_ns = window->reading[at].time_ns;
		if (window->newest_ns - base_ns >= window->span_ns)
			break;
	}
	*growth = window->newest > base ? window->newest - base : 0;
	*over_ns = window->newest_ns - base_ns;
	if (*over_ns >= window->span_ns)
		return true;
	*over_ns = window->span_ns;
	return false;
}
