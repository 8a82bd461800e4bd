/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From keys to numbers: a hash table with open addressing.  The caller keeps the keys, mostly in an array whose indices
 * are the numbers, and hashes them with common/hash.h.
 */
#ifndef COMMON_MAP_H
#define COMMON_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

struct map {
	struct map_slot *slot;
	size_t slots; /* a power of two, or 0 */
	size_t count;
};

/* Whether the item of this number has the key; `items` and `key` are what the caller gave. */
typedef bool (*map_is)(const void *items, size_t number, const void *key);

/* A map that is all zeros is empty, and has no memory. */
void map_clear(struct map *map);
#define OWN_MAP CLEANUP(map_clear)
/* Remove all keys, and keep the memory. */
void map_forget(struct map *map);

/* Make room for `count` keys, which are then added without a failure.  -ENOMEM, and the map is as it was. */
int map_reserve(struct map *map, size_t count);
/* Add a key that the map does not have; numbers are below UINT32_MAX.  -ENOMEM. */
int map_add(struct map *map, uint64_t hash, size_t number);
/* Remove a key, by its hash and its number, which it has. */
void map_remove(struct map *map, uint64_t hash, size_t number);
/* The number of the key; false: the map does not have it. */
bool map_find(const struct map *map, uint64_t hash, map_is is, const void *items, const void *key,
	      size_t *number);

#endif
