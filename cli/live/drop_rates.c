/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/live/drop_rates.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/classes.h"
#include "cli/ask/field.h"
#include "cli/live/rate.h"
#include "cli/show/drop_lines.h"
#include "common/array.h"
#include "common/cleanup.h"

static const struct drop_rate *find(const struct drop_rates *rates, const char *cause)
{
	for (size_t i = 0; rates && i < rates->count; i++)
		if (!strcmp(rates->at[i].cause, cause))
			return &rates->at[i];
	return NULL;
}

static int add_row(struct drop_rates *rates, const json_t *row)
{
	const char *mark = field_text_or(json_object_get(row, "baseline"), "mark", NULL);
	size_t rank = drop_lines_rank(row);
	struct drop_rate *drop;

	if (ARRAY_GROW(rates->at, rates->count, rates->room) < 0)
		return -ENOMEM;
	drop = &rates->at[rates->count++];
	*drop = (struct drop_rate){
		.cause = strdup(field_text(row, "cause")),
		.reason = drop_lines_reason(row),
		.location = strdup(field_text(row, "location")),
		.mark = mark ? strdup(mark) : NULL,
		.class = classes_names[rank] ? classes_names[rank] : UNITS_UNKNOWN,
		.rank = rank,
		.packets = field_count_or(row, "packets", 0),
	};
	return !drop->cause || !drop->reason || !drop->location || (mark && !drop->mark) ? -ENOMEM
											 : 0;
}

/* Behind the last row of a reply, others have been counted for long. */
static double rate_since(const struct drop_rates *before, const struct drop_rate *drop,
			 double seconds)
{
	const struct drop_rate *old = find(before, drop->cause);

	if (!before || (!old && !before->whole))
		return RATE_UNKNOWN;
	return rate_between(old ? old->packets : 0, drop->packets, seconds);
}

static int by_rate(const void *one, const void *other)
{
	const struct drop_rate *a = one, *b = other;

	if (a->rank != b->rank)
		return a->rank > b->rank ? 1 : -1;
	if (a->per_second != b->per_second)
		return a->per_second < b->per_second ? 1 : -1;
	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	return 0;
}

int drop_rates_read(struct drop_rates *rates, const json_t *reply, const struct drop_rates *before,
		    double seconds)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reply, "rows"), i, row)
	{
		int r = add_row(rates, row);

		if (r)
			return r;
	}
	rates->whole = rates->count >= field_count_or(reply, "matched", 0);
	for (i = 0; i < rates->count; i++)
		rates->at[i].per_second = rate_since(before, &rates->at[i], seconds);
	if (rates->count)
		qsort(rates->at, rates->count, sizeof(*rates->at), by_rate);
	return 0;
}

void drop_rates_free(struct drop_rates *rates)
{
	for (size_t i = 0; i < rates->count; i++) {
		free(rates->at[i].cause);
		free(rates->at[i].reason);
		free(rates->at[i].location);
		free(rates->at[i].mark);
	}
	free(rates->at);
	*rates = (struct drop_rates){};
}
