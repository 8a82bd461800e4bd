/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/estimate.h"

#include <stdio.h>

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

struct estimate_sentences estimate_unfollowed(const json_t *followed)
{
	struct estimate_sentences text = {""};
	uint64_t unseen;
	int length;

	if (!followed)
		return text;
	length = snprintf(
		text.s, sizeof(text.s),
		"Journeys were followed for %s of this time; the longest time in which none began is %s.",
		field_units_percent(followed, "percent").s,
		field_units_duration(followed, "longest_gap_ns").s);
	if (field_count(followed, "unseen_packets", &unseen) && unseen)
		snprintf(
			text.s + length, sizeof(text.s) - (size_t)length,
			" This host received %s packets in the other %s. The margin of each count includes them.",
			units_count(unseen).s, field_units_duration(followed, "unseen_ns").s);
	return text;
}
