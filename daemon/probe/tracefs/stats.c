/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/stats.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The number behind "NAME: " at the beginning of a line. */
static bool find(const char *text, const char *name, uint64_t *value)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;

		line += *line == '\n';
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		*value = strtoull(line + len + 1, &end, 10);
		return end > line + len + 1 && (*end == '\n' || !*end);
	}
	return false;
}

int stats_parse(const char *text, struct stats *stats)
{
	uint64_t entries, read, overrun, commit, dropped;

	/*
	 * Of ring_buffer_entries_cpu() and so on.  A commit overrun is an event that interrupts nested in each other
	 * left no room for; "dropped events" counts those that a full buffer without overwriting refused.
	 */
	if (!find(text, "entries", &entries) || !find(text, "read events", &read) ||
	    !find(text, "overrun", &overrun) || !find(text, "commit overrun", &commit) ||
	    !find(text, "dropped events", &dropped))
		return -EINVAL;
	*stats = (struct stats){.events = entries + read, .lost = overrun + commit + dropped};
	return 0;
}
