/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

/* A key is at the first slot from its hash on that was free.  At most half of the slots are in use. */
struct map_slot {
	uint32_t hash;
	uint32_t number; /* + 1; 0: free */
};

void map_clear(struct map *map)
{
	free(map->slot);
	*map = (struct map){0};
}

void map_forget(struct map *map)
{
	if (map->count)
		memset(map->slot, 0, map->slots * sizeof(*map->slot));
	map->count = 0;
}

static uint32_t short_hash(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static size_t next(const struct map *map, size_t at)
{
	return (at + 1) & (map->slots - 1);
}

/* The high bits of a hash choose, which depend on all bits of a key. */
static size_t home(const struct map *map, uint32_t hash)
{
	return (uint64_t)hash * map->slots >> 32;
}

static void put(struct map *map, struct map_slot slot)
{
	size_t at = home(map, slot.hash);

	while (map->slot[at].number)
		at = next(map, at);
	map->slot[at] = slot;
}

int map_reserve(struct map *map, size_t count)
{
	struct map larger = {.slots = map->slots ? map->slots : SLOTS_MIN, .count = map->count};

	while (larger.slots < 2 * count)
		larger.slots *= 2;
	if (larger.slots == map->slots)
		return 0;
	larger.slot = calloc(larger.slots, sizeof(*larger.slot));
	if (!larger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < map->slots; i++)
		if (map->slot[i].number)
			put(&larger, map->slot[i]);
	free(map->slot);
	*map = larger;
	return 0;
}

int map_add(struct map *map, uint64_t hash, size_t number)
{
	int r = map_reserve(map, map->count + 1);

	if (r < 0)
		return r;
	put(map, (struct map_slot){short_hash(hash), (uint32_t)number + 1});
	map->count++;
	return 0;
}

void map_remove(struct map *map, uint64_t hash, size_t number)
{
	size_t at = home(map, short_hash(hash)), mask = map->slots - 1;

	while (map->slot[at].number != number + 1)
		at = next(map, at);
	/* The slots that follow, up to a free one, move up, unless that would be before where they belong. */
	for (size_t i = next(map, at); map->slot[i].number; i = next(map, i)) {
		size_t way = (i - home(map, map->slot[i].hash)) & mask;

		if (way >= ((i - at) & mask)) {
			map->slot[at] = map->slot[i];
			at = i;
		}
	}
	map->slot[at] = (struct map_slot){0};
	map->count--;
}

bool map_find(const struct map *map, uint64_t hash, map_is is, const void *items, const void *key,
	      size_t *number)
{
	uint32_t wanted = short_hash(hash);

	if (!map->count)
		return false;
	for (size_t at = home(map, wanted); map->slot[at].number; at = next(map, at)) {
		const struct map_slot *slot = &map->slot[at];

		if (slot->hash == wanted && is(items, slot->number - 1, key)) {
			*number = slot->number - 1;
			return true;
		}
	}
	return false;
}
