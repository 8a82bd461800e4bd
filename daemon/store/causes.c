/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/causes.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "daemon/core/drop.h"
#include "daemon/store/cause_index.h"
#include "daemon/store/records.h"

#define HEADS 1024 /* a power of two */

/* Keys of one reason and location whose evidence says the same share one of these. */
struct shared {
	uint64_t location;
	uint32_t next; /* of its hash, as in `head` */
	struct cause cause;
};

struct causes {
	struct records *records;
	bool has_reason;
	struct cause_index *index; /* the index in `shared` plus 1 */
	struct shared **shared;
	size_t count, room;
	uint32_t head[HEADS]; /* by what it says: the index in `shared` plus 1; 0: none */
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
	cause_index_free(&old->index);
	free(old);
	*causes = NULL;
}

static uint32_t *head_of(struct causes *causes, const struct nf_drop_key *key,
			 const struct verdict *verdict)
{
	uint64_t h = key->location ^ (uint64_t)key->reason << 40 ^ (uintptr_t)verdict->reason;

	for (size_t i = 0; i < verdict->candidates; i++)
		h = (h ^ (uintptr_t)verdict->candidate[i]) * UINT64_C(0xff51afd7ed558ccd);
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return &causes->head[h >> 32 & (HEADS - 1)];
}

/* Those that say the same; 0: none. */
static uint32_t find_shared(struct causes *causes, const struct nf_drop_key *key,
			    const struct cause *cause)
{
	uint32_t number = *head_of(causes, key, &cause->verdict);

	while (number) {
		const struct shared *one = causes->shared[number - 1];

		if (one->location == key->location && one->cause.reason == key->reason &&
		    verdict_compare(&one->cause.verdict, &cause->verdict) == 0)
			break;
		number = one->next;
	}
	return number;
}

/* Its number; -ENOMEM. */
static int64_t add_shared(struct causes *causes, const struct nf_drop_key *key,
			  const struct cause *cause)
{
	uint32_t *head = head_of(causes, key, &cause->verdict);
	struct shared *fresh;

	if (ARRAY_GROW(causes->shared, causes->count, causes->room) < 0)
		return -ENOMEM;
	fresh = malloc(sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	*fresh = (struct shared){.location = key->location, .next = *head, .cause = *cause};
	causes->shared[causes->count++] = fresh;
	*head = (uint32_t)causes->count;
	return *head;
}

const struct cause *causes_of(struct causes *causes, const struct nf_drop_key *key)
{
	int64_t number = cause_index_find(causes->index, key);

	if (!number) {
		struct cause cause;

		records_cause(causes->records, causes->has_reason, key, &cause);
		cause.location = NULL;
		cause.evidence = 0;
		number = find_shared(causes, key, &cause);
		if (!number)
			number = add_shared(causes, key, &cause);
		if (number < 0 || cause_index_add(causes->index, key, (uint32_t)number) < 0)
			return NULL;
	}
	return &causes->shared[number - 1]->cause;
}
