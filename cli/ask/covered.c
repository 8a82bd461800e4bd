/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/ask/covered.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask/field.h"
#include "common/time.h"

__attribute__((format(printf, 2, 3))) static void put(struct covered_text *text, const char *format,
						      ...)
{
	size_t used = strlen(text->s);
	va_list list;

	va_start(list, format);
	vsnprintf(text->s + used, sizeof(text->s) - used, format, list);
	va_end(list);
}

static uint64_t epoch(const json_t *object, const char *name)
{
	uint64_t ns = 0;

	field_epoch(object, name, &ns);
	return ns;
}

/* Whether a part of the time was still to come: all other time until the end is counted. */
static bool is_to_come(const json_t *period)
{
	return epoch(period, "until") > epoch(period, "to") + TIME_NS_PER_SECOND;
}

/* Whether the history begins after the begin of the time that was asked for. */
static bool begins_later(const json_t *period)
{
	const json_t *gaps = json_object_get(period, "gaps");
	uint64_t begins = epoch(period, "begins");

	return json_array_size(gaps) && begins > epoch(period, "since");
}

/* Whether netflowd recorded all of the time that was asked for. */
static bool is_recorded(const json_t *period)
{
	return !field_count_or(period, "gap_count", 0) && !is_to_come(period);
}

static bool is_damaged(const json_t *period)
{
	return json_is_true(json_object_get(period, "damaged"));
}

bool covered_whole(const json_t *period)
{
	return is_recorded(period) && !is_damaged(period);
}

struct covered_text covered_sentence(const json_t *period)
{
	uint64_t asked = field_count_or(period, "asked_ns", 0);
	uint64_t covered = field_count_or(period, "asked_covered_ns", 0);
	struct covered_text text = {"covers "};

	if (is_recorded(period))
		put(&text, "all of %s", units_duration(asked).s);
	else
		put(&text, "%s of %s", units_duration(covered).s, units_duration(asked).s);
	put(&text, ", in buckets of up to %s", field_units_duration(period, "resolution_ns").s);
	if (begins_later(period))
		put(&text, "; it begins at %s", field_date(period, "begins").s);
	if (is_to_come(period))
		put(&text, "; the time after %s is still to come", field_date(period, "to").s);
	if (is_damaged(period))
		put(&text, "; parts of its file are damaged and left out");
	return text;
}

struct covered_text covered_nothing(const json_t *parameters)
{
	struct covered_text text = {"no history"};
	bool before = json_object_get(parameters, "before");
	bool after = json_object_get(parameters, "after");
	const char *failing = field_text_or(parameters, "failing", NULL);

	if (json_object_get(parameters, "since"))
		put(&text, " from %s", field_date(parameters, "since").s);
	put(&text, " to %s: ", field_date(parameters, "until").s);
	if (before && after)
		put(&text, "netflowd recorded nothing from %s to %s",
		    field_date(parameters, "before").s, field_date(parameters, "after").s);
	else if (before)
		put(&text, "netflowd recorded nothing after %s",
		    field_date(parameters, "before").s);
	else if (after)
		put(&text, "it begins at %s", field_date(parameters, "after").s);
	else
		put(&text, "%s", field_text(parameters, "reason"));
	if (failing)
		put(&text, "; it cannot be written now: %s", failing);
	return text;
}

const json_t *covered_next_gap(const json_t *period, size_t most, size_t *at)
{
	const json_t *gaps = json_object_get(period, "gaps"), *gap;

	if (*at >= most)
		return NULL;
	gap = json_array_get(gaps, *at);
	++*at;
	if (gap && begins_later(period) && epoch(gap, "to") <= epoch(period, "begins"))
		return NULL;
	return gap;
}

struct covered_text covered_gap_text(const json_t *gap)
{
	struct covered_text text = {""};

	put(&text, "from %s to %s%s", field_date(gap, "from").s, field_date(gap, "to").s,
	    strcmp(field_text_or(gap, "reason", ""), "paused") ? "" : ": netflowd was paused");
	return text;
}

struct covered_text covered_step(const json_t *period, size_t index)
{
	const json_t *step = json_array_get(json_object_get(period, "clock_steps"), index);
	json_int_t by_ns = json_integer_value(json_object_get(step, "by_ns"));
	struct covered_text text = {""};

	if (step)
		put(&text, "the clock was set %s by %s at %s", by_ns < 0 ? "back" : "forward",
		    units_duration((uint64_t)(by_ns < 0 ? -by_ns : by_ns)).s,
		    field_date(step, "at").s);
	return text;
}

uint64_t covered_gaps_left(const json_t *period, size_t most)
{
	uint64_t count = field_count_or(period, "gap_count", 0);

	if (begins_later(period))
		count--;
	return count > most ? count - most : 0;
}

struct covered_text covered_failing(const json_t *period)
{
	const char *reason = field_text_or(period, "failing", NULL);
	struct covered_text text = {""};

	if (reason)
		put(&text,
		    "The history cannot be written now: %s; what happens until it can is missing",
		    reason);
	return text;
}
