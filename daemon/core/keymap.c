/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/keymap.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"

void keymap_clear(struct keymap *keymap)
{
	free(keymap->key);
	map_clear(&keymap->map);
	*keymap = (struct keymap){0};
}

static uint64_t hash_of(const struct keymap_key *key)
{
	return hash_words(0, key, sizeof(*key));
}

static bool is(const void *keys, size_t number, const void *key)
{
	return !memcmp((const struct keymap_key *)keys + number, key, sizeof(struct keymap_key));
}

bool keymap_find(const struct keymap *keymap, const struct keymap_key *key, size_t *number)
{
	return map_find(&keymap->map, hash_of(key), is, keymap->key, key, number);
}

int keymap_add(struct keymap *keymap, const struct keymap_key *key, size_t *number)
{
	int r;

	if (keymap_find(keymap, key, number))
		return 0;
	r = ARRAY_GROW(keymap->key, keymap->count, keymap->room);
	if (r == 0)
		r = map_add(&keymap->map, hash_of(key), keymap->count);
	if (r < 0)
		return r;
	*number = keymap->count++;
	keymap->key[*number] = *key;
	return 0;
}
