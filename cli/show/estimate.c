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
	struct units_text count = field_units_count(latency, "count");
	struct estimate_text text;

	if (!estimate_is(latency))
		snprintf(text.s, sizeof(text.s), "%s", count.s);
	else
		snprintf(text.s, sizeof(text.s), "≈ %s ±%s", count.s,
			 units_share(field_count_or(latency, "count_margin", 0),
				     field_count_or(latency, "count", 0))
				 .s);
	return text;
}
