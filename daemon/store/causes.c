/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/causes.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"
#include "daemon/core/drop.h"
#include "daemon/store/cause_index.h"
#include "daemon/store/records.h"

/* Keys of one reason and location whose evidence says the same share one of these. */
struct shared {
	uint64_t location;
	struct cause cause;
};

struct causes {
	struct records *records;
	bool has_reason;
	struct cause_index *index; /* the index in `shared` plus 1 */
	struct shared **shared;
	size_t count, room;
	struct map map; /* by what they say */
};

int causes_new(struct causes **causes, struct records *records, bool has_reason)
{
	OWN_CAUSES struct causes *fresh = calloc(1, sizeof(*fresh));

	if (!fresh || cause_index_new(&fresh->index) < 0)
		return -ENOMEM;
	fresh->records = records;
	fresh->has_reason = has_reason;
	*causes = TAKE_PTR(fresh);
	return 0;
}

void causes_free(struct causes **causes)
{
	struct causes *old = *causes;

	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		free(old->shared[i]);
	free(old->shared);
	map_clear(&old->map);
	cause_index_free(&old->index);
	free(old);
	*causes = NULL;
}

static uint64_t hash_of(const struct shared *one)
{
	const struct verdict *verdict = &one->cause.verdict;
	uint64_t hash = hash_word(one->cause.reason, (uintptr_t)verdict->reason);

	for (size_t i = 0; i < verdict->candidates; i++)
		hash = hash_word(hash, (uintptr_t)verdict->candidate[i]);
	return hash_word(hash, one->location);
}

static bool says_the_same(const void *causes, size_t number, const void *wanted)
{
	const struct shared *one = ((struct shared *const *)causes)[number], *other = wanted;

	return one->location == other->location && one->cause.reason == other->cause.reason &&
	       verdict_compare(&one->cause.verdict, &other->cause.verdict) == 0;
}

/* The number of a cause that says the same, which is added if there is none.  -ENOMEM. */
static int find_shared(struct causes *causes, const struct shared *wanted, size_t *number)
{
	uint64_t hash = hash_of(wanted);
	struct shared *fresh;

	if (map_find(&causes->map, hash, says_the_same, causes->shared, wanted, number))
		return 0;
	if (ARRAY_GROW(causes->shared, causes->count, causes->room) < 0 ||
	    map_reserve(&causes->map, causes->count + 1) < 0)
		return -ENOMEM;
	fresh = malloc(sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	*fresh = *wanted;
	map_add(&causes->map, hash, causes->count);
	*number = causes->count++;
	causes->shared[*number] = fresh;
	return 0;
}

const struct cause *causes_of(struct causes *causes, const struct nf_drop_key *key)
{
	uint32_t number = cause_index_find(causes->index, key);

	if (!number) {
		struct shared wanted = {.location = key->location};
		size_t index;

		records_cause(causes->records, causes->has_reason, key, &wanted.cause);
		wanted.cause.location = NULL;
		wanted.cause.evidence = 0;
		if (find_shared(causes, &wanted, &index) < 0)
			return NULL;
		number = (uint32_t)index + 1;
		if (cause_index_add(causes->index, key, number) < 0)
			return NULL;
	}
	return &causes->shared[number - 1]->cause;
}
