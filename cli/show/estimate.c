/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/estimate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask/field.h"

bool estimate_is(const json_t *latency)
{
	return json_object_get(latency, "count_margin") != NULL;
}

struct estimate_text estimate_count(const json_t *latency)
{
	uint64_t count = field_count_or(latency, "count", 0);
	uint64_t margin = field_count_or(latency, "count_margin", 0);
	struct units_text known = field_units_count(latency, "count");
	struct estimate_text text;

	if (!estimate_is(latency))
		snprintf(text.s, sizeof(text.s), "%s", known.s);
	else if (margin < count)
		snprintf(text.s, sizeof(text.s), "≈ %s ±%s", known.s, units_share(margin, count).s);
	else
		snprintf(text.s, sizeof(text.s), "≈ %s, up to %s", known.s,
			 units_count(count + margin).s);
	return text;
}

static void add(struct estimate_sentences *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(struct estimate_sentences *text, const char *format, ...)
{
	size_t length = strlen(text->s);
	va_list arguments;

	if (length && length < sizeof(text->s) - 1)
		text->s[length++] = ' ';
	va_start(arguments, format);
	vsnprintf(text->s + length, sizeof(text->s) - length, format, arguments);
	va_end(arguments);
}

struct estimate_sentences estimate_unfollowed(const json_t *followed)
{
	uint64_t unseen = field_count_or(followed, "unseen_packets", 0);
	struct estimate_sentences text = {""};

	if (field_count_or(followed, "unseen_ns", 0))
		add(&text,
		    "Journeys were followed for %s of this time; the longest time in which none began is %s.",
		    field_units_percent(followed, "percent").s,
		    field_units_duration(followed, "longest_gap_ns").s);
	if (unseen)
		add(&text,
		    "This host received %s packets in the other %s. The margin of each count includes them.",
		    units_count(unseen).s, field_units_duration(followed, "unseen_ns").s);
	if (field_count_or(followed, "detached_packets", 0))
		add(&text,
		    "About %s packets had not ended when netflowd detached its probes: at a pause, or 50 ms after a window at the latest. Long waits are missing, so percentiles can be too low.",
		    field_units_count(followed, "detached_packets").s);
	if (field_count_or(followed, "overwritten_packets", 0))
		add(&text,
		    "About %s packets lost their place in the in-flight table before they ended, and are missing in the segments that end later. Set a larger inflight.entries to make room for them.",
		    field_units_count(followed, "overwritten_packets").s);
	if (field_count_or(followed, "missed_packets", 0))
		add(&text,
		    "The kernel skipped %s runs of probes, because a task had preempted another one inside of them. Each skipped run may have left one packet out of a count, and the margins allow for that.",
		    field_units_count(followed, "missed_packets").s);
	return text;
}
