/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pausing.h"

#include "common/time.h"
#include "daemon/messages.h"
#include "daemon/process/journal.h"

static void report_fault(const char *text)
{
	OWN_ENTRY struct journal_entry entry = {0};

	journal_add(&entry, "NETFLOWD_ERROR=%s", text);
	journal_report(&entry, LOG_LEVEL_WARNING, MESSAGE_PAUSE_FAULT, "%s", text);
}

static void add_time(struct journal_entry *entry, const char *field, int64_t realtime_ns)
{
	char text[TIME_TEXT_MAX];

	if (!realtime_ns)
		return;
	time_format_realtime(realtime_ns, text);
	journal_add(entry, "%s=%s", field, text);
}

void pausing_report(enum pause_event event, const struct pause_state *state, const char *text)
{
	OWN_ENTRY struct journal_entry entry = {0};

	if (event == PAUSE_FAULT) {
		report_fault(text);
		return;
	}
	journal_add(&entry, "NETFLOWD_PAUSED=%s", pause_level_name(state->level));
	add_time(&entry, "NETFLOWD_SINCE", state->since_ns);
	add_time(&entry, "NETFLOWD_UNTIL", state->until_ns);
	if (state->level)
		journal_report(&entry, LOG_LEVEL_NOTICE, MESSAGE_PAUSED, "%s: %s",
			       state->level == PAUSE_ALL ? "all probes are detached"
							 : "the stage probes are detached",
			       text);
	else
		journal_report(&entry, LOG_LEVEL_NOTICE, MESSAGE_RESUMED, "%s: probes run again",
			       event == PAUSE_EXPIRED ? "the time of the pause is over"
						      : "resumed");
}
