/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/causes.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/core/drop.h"
#include "daemon/store/records.h"

#define SLOTS_MIN 64

struct place {
	uint64_t location;
	struct cause cause;
};

struct causes {
	struct records *records;
	bool has_reason;
	struct place **slot; /* by hash; NULL: free */
	size_t slots;	     /* a power of two, more than twice `count` */
	size_t count;
};

int causes_new(struct causes **causes, struct records *records, bool has_reason)
{
	OWN_CAUSES struct causes *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->records = records;
	fresh->has_reason = has_reason;
	fresh->slots = SLOTS_MIN;
	fresh->slot = calloc(fresh->slots, sizeof(struct place *));
	if (!fresh->slot)
		return -ENOMEM;
	*causes = TAKE_PTR(fresh);
	return 0;
}

void causes_free(struct causes **causes)
{
	struct causes *old = *causes;

	if (!old)
		return;
	for (size_t i = 0; old->slot && i < old->slots; i++)
		free(old->slot[i]);
	free(old->slot);
	free(old);
	*causes = NULL;
}

/* The slot of a cause, or the free one where it belongs. */
static size_t find(struct place *const *slot, size_t slots, uint64_t location, uint32_t reason,
		   uint64_t evidence)
{
	uint64_t h =
		(location ^ ((uint64_t)reason << 32 ^ evidence) * UINT64_C(0xff51afd7ed558ccd)) *
		UINT64_C(0x9e3779b97f4a7c15);
	size_t i = h >> 32 & (slots - 1);

	while (slot[i] && (slot[i]->location != location || slot[i]->cause.reason != reason ||
			   slot[i]->cause.evidence != evidence))
		i = (i + 1) & (slots - 1);
	return i;
}

static int grow(struct causes *causes)
{
	size_t slots = 2 * causes->slots;
	struct place **slot = calloc(slots, sizeof(struct place *));

	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < causes->slots; i++) {
		struct place *one = causes->slot[i];

		if (one)
			slot[find(slot, slots, one->location, one->cause.reason,
				  one->cause.evidence)] = one;
	}
	free(causes->slot);
	causes->slot = slot;
	causes->slots = slots;
	return 0;
}

const struct cause *causes_of(struct causes *causes, const struct nf_drop_key *key)
{
	size_t i = find(causes->slot, causes->slots, key->location, key->reason, key->evidence);
	struct place *place = causes->slot[i];

	if (place)
		return &place->cause;
	if (causes->count * 2 >= causes->slots) {
		if (grow(causes) < 0)
			return NULL;
		i = find(causes->slot, causes->slots, key->location, key->reason, key->evidence);
	}
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	place->location = key->location;
	records_cause(causes->records, causes->has_reason, key, &place->cause);
	place->cause.location = NULL;
	causes->slot[i] = place;
	causes->count++;
	return &place->cause;
}
