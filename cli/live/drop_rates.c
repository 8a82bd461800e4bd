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

static struct drop_rate *find(const struct drop_rates *rates, const char *reason, size_t rank,
			      const char *location)
{
	for (size_t i = 0; rates && i < rates->count; i++)
		if (rates->at[i].rank == rank && !strcmp(rates->at[i].reason, reason) &&
		    !strcmp(rates->at[i].location, location))
			return &rates->at[i];
	return NULL;
}

/* The mark of the reason at this location is the most urgent one of its rows. */
static const char *first_mark(const char *mark, const json_t *row)
{
	static const char *const marks[] = {"new", "grown", "recurring", "background"};
	const char *other = field_text_or(json_object_get(row, "baseline"), "mark", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (mark == marks[i] || (other && !strcmp(other, marks[i])))
			return marks[i];
	return NULL;
}

static int add_row(struct drop_rates *rates, const json_t *row)
{
	OWN_FREE char *reason = drop_lines_reason(row);
	OWN_FREE char *location = strdup(field_text(row, "location"));
	size_t rank = drop_lines_rank(row);
	struct drop_rate *drop, *more;

	if (!reason || !location)
		return -ENOMEM;
	drop = find(rates, reason, rank, location);
	if (!drop) {
		more = reallocarray(rates->at, rates->count + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		rates->at = more;
		drop = &more[rates->count++];
		*drop = (struct drop_rate){
			.reason = TAKE_PTR(reason),
			.location = TAKE_PTR(location),
			.class = classes_names[rank] ? classes_names[rank] : UNITS_UNKNOWN,
			.rank = rank,
		};
	}
	drop->mark = first_mark(drop->mark, row);
	drop->packets += field_count_or(row, "packets", 0);
	return 0;
}

static void compare(struct drop_rates *rates, const struct drop_rates *before, double seconds)
{
	for (size_t i = 0; i < rates->count; i++) {
		struct drop_rate *drop = &rates->at[i];
		const struct drop_rate *old =
			find(before, drop->reason, drop->rank, drop->location);

		drop->per_second =
			before ? rate_between(old ? old->packets : 0, drop->packets, seconds)
			       : RATE_UNKNOWN;
	}
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
	compare(rates, before, seconds);
	if (rates->count)
		qsort(rates->at, rates->count, sizeof(*rates->at), by_rate);
	return 0;
}

void drop_rates_free(struct drop_rates *rates)
{
	for (size_t i = 0; i < rates->count; i++) {
		free(rates->at[i].reason);
		free(rates->at[i].location);
	}
	free(rates->at);
	*rates = (struct drop_rates){};
}
