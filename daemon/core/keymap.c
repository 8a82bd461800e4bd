/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/keymap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64

void keymap_clear(struct keymap *map)
{
	free(map->key);
	free(map->head);
	*map = (struct keymap){0};
}

static size_t place(const struct keymap *map, const struct keymap_key *key)
{
	uint64_t hash = 0;
	size_t at;

	for (size_t i = 0; i < KEYMAP_WORDS; i++)
		hash = (hash ^ key->word[i]) * 0x9e3779b97f4a7c15ULL ^ hash >> 29;
	at = hash >> 32 & (map->heads - 1);
	while (map->head[at] && memcmp(&map->key[map->head[at] - 1], key, sizeof(*key)) != 0)
		at = (at + 1) & (map->heads - 1);
	return at;
}

static int grow(struct keymap *map)
{
	size_t room = map->room ? 2 * map->room : ROOM_MIN;
	uint32_t *head = calloc(2 * room, sizeof(*head));
	void *keys = head ? reallocarray(map->key, room, sizeof(*map->key)) : NULL;

	if (!keys) {
		free(head);
		return -ENOMEM;
	}
	map->key = keys;
	map->room = room;
	free(map->head);
	map->head = head;
	map->heads = 2 * room;
	for (size_t i = 0; i < map->count; i++)
		map->head[place(map, &map->key[i])] = (uint32_t)i + 1;
	return 0;
}

bool keymap_find(const struct keymap *map, const struct keymap_key *key, size_t *number)
{
	size_t at;

	if (!map->heads)
		return false;
	at = place(map, key);
	if (!map->head[at])
		return false;
	*number = map->head[at] - 1;
	return true;
}

int keymap_add(struct keymap *map, const struct keymap_key *key, size_t *number)
{
	size_t at;

	if (map->count == map->room) {
		int r = grow(map);

		if (r < 0)
			return r;
	}
	at = place(map, key);
	if (!map->head[at]) {
		map->key[map->count] = *key;
		map->head[at] = (uint32_t)++map->count;
	}
	*number = map->head[at] - 1;
	return 0;
}
