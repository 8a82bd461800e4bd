/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/cause_index.h"

#include <errno.h>
#include <stdlib.h>

#define SLOTS_MIN 64

struct slot {
	uint64_t location, evidence;
	uint32_t reason;
	uint32_t number; /* 0: free */
};

struct cause_index {
	struct slot *slot; /* by hash; a collision takes the next free one */
	size_t slots;	   /* a power of two, at least twice `count` */
	size_t count;
};

int cause_index_new(struct cause_index **index)
{
	OWN_CAUSE_INDEX struct cause_index *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->slots = SLOTS_MIN;
	fresh->slot = calloc(fresh->slots, sizeof(*fresh->slot));
	if (!fresh->slot)
		return -ENOMEM;
	*index = TAKE_PTR(fresh);
	return 0;
}

void cause_index_free(struct cause_index **index)
{
	if (!*index)
		return;
	free((*index)->slot);
	free(*index);
	*index = NULL;
}

/* The slot of a key, or the free one where it belongs. */
static struct slot *find(struct slot *slot, size_t slots, uint64_t location, uint32_t reason,
			 uint64_t evidence)
{
	uint64_t rest = ((uint64_t)reason << 32 ^ evidence) * UINT64_C(0xff51afd7ed558ccd);
	uint64_t h = (location ^ rest) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = h >> 32 & (slots - 1);

	while (slot[i].number && (slot[i].location != location || slot[i].reason != reason ||
				  slot[i].evidence != evidence))
		i = (i + 1) & (slots - 1);
	return &slot[i];
}

uint32_t cause_index_find(const struct cause_index *index, const struct nf_drop_key *key)
{
	return find(index->slot, index->slots, key->location, key->reason, key->evidence)->number;
}

static int grow(struct cause_index *index)
{
	size_t slots = 2 * index->slots;
	struct slot *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < index->slots; i++) {
		const struct slot *old = &index->slot[i];

		if (old->number)
			*find(slot, slots, old->location, old->reason, old->evidence) = *old;
	}
	free(index->slot);
	index->slot = slot;
	index->slots = slots;
	return 0;
}

int cause_index_add(struct cause_index *index, const struct nf_drop_key *key, uint32_t number)
{
	if (2 * index->count >= index->slots && grow(index) < 0)
		return -ENOMEM;
	*find(index->slot, index->slots, key->location, key->reason, key->evidence) =
		(struct slot){key->location, key->evidence, key->reason, number};
	index->count++;
	return 0;
}
