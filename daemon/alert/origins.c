/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/alert/window.h"
#include "daemon/core/drop.h"

struct origin {
	uintptr_t reason; /* see reason_of() */
	bool inferred;
	uint64_t identity;
	uint32_t netns, ifindex;
	uint32_t number;   /* of the key that was added last */
	uint64_t evidence; /* of the same key */
	char device[NF_DEVICE_NAME + 1];
	uint64_t location;
	uint64_t before, total; /* at the previous reading, and at this one */
	/* Totals at the readings of the window; NULL: `total` at each. */
	uint64_t *reading;
};

struct alert_origins {
	struct origin *origin; /* sorted */
	size_t count, room;
	bool begun; /* there was a reading: drops before the first are not of the window */
};

int alert_origins_new(struct alert_origins **origins)
{
	struct alert_origins *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	*origins = fresh;
	return 0;
}

void alert_origins_free(struct alert_origins **origins)
{
	if (!*origins)
		return;
	for (size_t i = 0; i < (*origins)->count; i++)
		free((*origins)->origin[i].reading);
	free((*origins)->origin);
	free(*origins);
	*origins = NULL;
}

void alert_origins_begin(struct alert_origins *origins)
{
	for (size_t i = 0; i < origins->count; i++)
		origins->origin[i].total = 0;
}

/* ---- one reading ---------------------------------------------------------- */

/* What a reason is, whatever its number: its knowledge, otherwise its name, which both stay where they are. */
static uintptr_t reason_of(const struct cause *cause)
{
	const struct verdict *verdict = &cause->verdict;

	if (verdict->knowledge)
		return (uintptr_t)verdict->knowledge;
	return verdict->reason ? (uintptr_t)verdict->reason : cause->reason;
}

/* By reason first, so that the origins of one reason are next to each other. */
static int compare(const struct origin *a, const struct alert_drops *b)
{
	int order = ORDER(a->reason, reason_of(b->cause));

	if (!order)
		order = ORDER(a->inferred, b->cause->verdict.inferred);
	if (!order)
		order = ORDER(a->location, b->location);
	if (!order)
		order = ORDER(a->netns, b->netns);
	if (!order)
		order = ORDER(a->ifindex, b->ifindex);
	return order ? order : ORDER(a->identity, b->identity);
}

/* Where the origin of such drops is, or belongs. */
static size_t find(const struct alert_origins *origins, const struct alert_drops *drops)
{
	return LOWER_BOUND(origin, origins->origin, origins->count, compare(origin, drops) < 0);
}

static int insert(struct alert_origins *origins, size_t at, const struct alert_drops *drops)
{
	struct origin *origin;

	if (origins->count == origins->room) {
		size_t room = origins->room ? 2 * origins->room : 16;
		void *more = reallocarray(origins->origin, room, sizeof(*origin));

		if (!more)
			return -ENOMEM;
		origins->origin = more;
		origins->room = room;
	}
	origin = &origins->origin[at];
	memmove(origin + 1, origin, (origins->count++ - at) * sizeof(*origin));
	*origin = (struct origin){.reason = reason_of(drops->cause),
				  .inferred = drops->cause->verdict.inferred,
				  .identity = drops->identity,
				  .netns = drops->netns,
				  .ifindex = drops->ifindex,
				  .location = drops->location};
	return 0;
}

int alert_origins_add(struct alert_origins *origins, const struct alert_drops *drops, bool moved)
{
	size_t at = find(origins, drops);

	if (at == origins->count || compare(&origins->origin[at], drops)) {
		int r = insert(origins, at, drops);

		if (r < 0)
			return r;
	}
	/* A device can be renamed. */
	strncpy(origins->origin[at].device, drops->device, NF_DEVICE_NAME);
	origins->origin[at].total += drops->packets;
	if (moved)
		origins->origin[at].before += drops->packets;
	origins->origin[at].number = drops->cause->reason;
	origins->origin[at].evidence = drops->evidence;
	return 0;
}

/* ---- the window ----------------------------------------------------------- */

static uint64_t growth(const struct origin *origin, const struct alert_window *window)
{
	uint64_t base;

	if (!origin->reading)
		return 0;
	base = origin->reading[alert_window_base(window)];
	return origin->total > base ? origin->total - base : 0;
}

/* Allocate the readings of an origin, all with the total before it grew. */
static int begin_readings(struct origin *origin)
{
	origin->reading = calloc(ALERT_WINDOW_READINGS, sizeof(*origin->reading));
	if (!origin->reading)
		return -ENOMEM;
	for (size_t i = 0; i < ALERT_WINDOW_READINGS; i++)
		origin->reading[i] = origin->before;
	return 0;
}

uint64_t alert_origins_grown(const struct alert_origins *origins)
{
	uint64_t sum = 0;

	for (size_t i = 0; origins->begun && i < origins->count; i++) {
		const struct origin *origin = &origins->origin[i];

		sum += origin->total > origin->before ? origin->total - origin->before : 0;
	}
	return sum;
}

/* Keys of the origin folded: its total fell.  Their part of the earlier readings is not known, so all of them fall. */
static void fall(struct origin *origin)
{
	uint64_t by = origin->before - origin->total;

	for (size_t i = 0; i < ALERT_WINDOW_READINGS; i++)
		origin->reading[i] -= origin->reading[i] < by ? origin->reading[i] : by;
}

/* Forget the origins whose keys have all folded, and which the window no longer needs. */
static void forget_folded(struct alert_origins *origins)
{
	size_t kept = 0;

	for (size_t i = 0; i < origins->count; i++)
		if (origins->origin[i].total || origins->origin[i].reading)
			origins->origin[kept++] = origins->origin[i];
	origins->count = kept;
}

int alert_origins_end(struct alert_origins *origins, const struct alert_window *window)
{
	for (size_t i = 0; i < origins->count; i++) {
		struct origin *origin = &origins->origin[i];

		if (origins->begun && !origin->reading && origin->total > origin->before &&
		    begin_readings(origin) < 0)
			return -ENOMEM;
		if (origin->reading && origin->total < origin->before)
			fall(origin);
		origin->before = origin->total;
		if (!origin->reading)
			continue;
		if (alert_window_kept(window))
			origin->reading[alert_window_last(window)] = origin->total;
		if (growth(origin, window))
			continue;
		free(origin->reading);
		origin->reading = NULL;
	}
	forget_folded(origins);
	origins->begun = true;
	return 0;
}

static bool is_reason(const struct origin *a, const struct origin *b)
{
	return a->reason == b->reason && a->inferred == b->inferred;
}

bool alert_origins_main(const struct alert_origins *origins, const struct alert_window *window,
			struct alert_main_origin *main)
{
	uint64_t most = 0;

	for (size_t i = 0; i < origins->count;) {
		const struct origin *top = &origins->origin[i];
		const struct origin *first = top;
		uint64_t sum = 0;

		for (; i < origins->count && is_reason(&origins->origin[i], first); i++) {
			sum += growth(&origins->origin[i], window);
			if (growth(&origins->origin[i], window) > growth(top, window))
				top = &origins->origin[i];
		}
		if (sum <= most)
			continue;
		most = sum;
		*main = (struct alert_main_origin){.reason_packets = sum,
						   .key = {.location = top->location,
							   .reason = top->number,
							   .evidence = top->evidence},
						   .netns = top->netns,
						   .packets = growth(top, window)};
		memcpy(main->device, top->device, sizeof(main->device));
	}
	return most > 0;
}
