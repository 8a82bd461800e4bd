/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/cause_index.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"

struct entry {
	uint64_t location, evidence;
	uint32_t reason;
	uint32_t number;
};

struct cause_index {
	struct entry *entry;
	size_t count, room;
	struct map map;
};

int cause_index_new(struct cause_index **index)
{
	*index = calloc(1, sizeof(**index));
	return *index ? 0 : -ENOMEM;
}

void cause_index_free(struct cause_index **index)
{
	if (!*index)
		return;
	free((*index)->entry);
	map_clear(&(*index)->map);
	free(*index);
	*index = NULL;
}

static uint64_t hash_of(const struct nf_drop_key *key)
{
	return hash_word(hash_word(hash_word(0, key->evidence), key->reason), key->location);
}

static bool is(const void *entries, size_t i, const void *wanted)
{
	const struct entry *entry = (const struct entry *)entries + i;
	const struct nf_drop_key *key = wanted;

	return entry->location == key->location && entry->reason == key->reason &&
	       entry->evidence == key->evidence;
}

uint32_t cause_index_find(const struct cause_index *index, const struct nf_drop_key *key)
{
	size_t i;

	return map_find(&index->map, hash_of(key), is, index->entry, key, &i)
		       ? index->entry[i].number
		       : 0;
}

int cause_index_add(struct cause_index *index, const struct nf_drop_key *key, uint32_t number)
{
	if (ARRAY_GROW(index->entry, index->count, index->room) < 0 ||
	    map_add(&index->map, hash_of(key), index->count) < 0)
		return -ENOMEM;
	index->entry[index->count++] =
		(struct entry){key->location, key->evidence, key->reason, number};
	return 0;
}
