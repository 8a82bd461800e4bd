/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/rockets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct held {
	struct rocket rocket;
	enum rocket_state state;
};

/* An overflow that has a record and to which no rocket has been matched yet. */
struct overflow {
	uint64_t time_ns;
	uint32_t slots, bytes;
	bool free;
};

struct rockets {
	uint64_t total, unseen;
	uint64_t records; /* of overflows */
	uint64_t excused; /* rockets that overflows without a record account for */
	size_t count, next, overflow_next;
	struct held held[ROCKETS_HELD];
	struct overflow overflow[ROCKETS_HELD];
};

int rockets_new(struct rockets **rockets)
{
	struct rockets *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	*rockets = fresh;
	return 0;
}

void rockets_free(struct rockets **rockets)
{
	free(*rockets);
	*rockets = NULL;
}

static struct held *newest(const struct rockets *rockets, size_t i)
{
	return (struct held *)&rockets->held[(rockets->next + ROCKETS_HELD - 1 - i) % ROCKETS_HELD];
}

void rockets_add(struct rockets *rockets, const struct rocket *rocket)
{
	struct held *oldest = &rockets->held[rockets->next];

	/*
	 * A rocket that is replaced before it was checked counts as seen: netflowd must not report a fault that may not
	 * exist.
	 */
	*oldest = (struct held){.rocket = *rocket, .state = ROCKET_PENDING};
	rockets->next = (rockets->next + 1) % ROCKETS_HELD;
	if (rockets->count < ROCKETS_HELD)
		rockets->count++;
	rockets->total++;
}

void rockets_record(struct rockets *rockets, const struct nf_slots_record *record)
{
	if (!(record->flags & NF_SLOTS_XEN) || record->flags & NF_SLOTS_TOO_BIG ||
	    record->slots <= record->limit)
		return;
	rockets->records++;
	rockets->overflow[rockets->overflow_next] = (struct overflow){
		.time_ns = record->header.time_ns,
		.slots = record->slots,
		.bytes = record->len,
		.free = true,
	};
	rockets->overflow_next = (rockets->overflow_next + 1) % ROCKETS_HELD;
}

static bool near_in_time(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= ROCKETS_WAIT_NS;
}

/* Each record matches one rocket. */
static bool find_record(struct rockets *rockets, const struct rocket *rocket)
{
	for (size_t i = 0; i < ROCKETS_HELD; i++) {
		struct overflow *overflow = &rockets->overflow[i];

		if (!overflow->free || overflow->slots != rocket->slots ||
		    overflow->bytes != rocket->bytes ||
		    !near_in_time(overflow->time_ns, rocket->time_ns))
			continue;
		overflow->free = false;
		return true;
	}
	return false;
}

static void decide(struct rockets *rockets, struct held *held, uint64_t overflows)
{
	held->state = ROCKET_SEEN;
	if (find_record(rockets, &held->rocket))
		return;
	if (overflows > rockets->records + rockets->excused) {
		rockets->excused++;
		return;
	}
	held->state = ROCKET_UNSEEN;
	rockets->unseen++;
}

void rockets_check(struct rockets *rockets, uint64_t now_ns, uint64_t overflows)
{
	for (size_t i = rockets->count; i-- > 0;) {
		struct held *held = newest(rockets, i);

		if (held->state == ROCKET_PENDING &&
		    now_ns - held->rocket.time_ns >= ROCKETS_WAIT_NS)
			decide(rockets, held, overflows);
	}
}

uint64_t rockets_total(const struct rockets *rockets)
{
	return rockets->total;
}

uint64_t rockets_unseen(const struct rockets *rockets)
{
	return rockets->unseen;
}

const struct rocket *rockets_newest(const struct rockets *rockets, size_t i,
				    enum rocket_state *state)
{
	if (i >= rockets->count)
		return NULL;
	*state = newest(rockets, i)->state;
	return &newest(rockets, i)->rocket;
}
