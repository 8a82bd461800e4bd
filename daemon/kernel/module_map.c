/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/module_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"

struct module_map {
	struct module_place *place; /* sorted by base */
	size_t count, room;
};

static int by_base(const void *x, const void *y)
{
	const struct module_place *a = x, *b = y;

	return a->base < b->base ? -1 : a->base > b->base;
}

/* "nf_tables 360448 1234 nft_ct,nft_compat, Live 0xffffffffc0201000 (OE)"; "-" for no number and for no names. */
static int add_line(struct module_map *map, const char *line)
{
	struct module_place one;

	if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, one.name, &one.size,
		   &one.base) != 3 ||
	    !one.base)
		return 0;
	if (ARRAY_GROW(map->place, map->count, map->room) < 0)
		return -ENOMEM;
	map->place[map->count++] = one;
	return 0;
}

int module_map_read(struct module_map **map, const char *path)
{
	OWN_MODULE_MAP struct module_map *fresh = calloc(1, sizeof(*fresh));
	OWN_FILE FILE *file = fopen(path, "re");
	OWN_FREE char *line = NULL;
	size_t room = 0;

	if (!file)
		return -errno;
	if (!fresh)
		return -ENOMEM;
	errno = 0;
	while (getline(&line, &room, file) > 0) {
		if (add_line(fresh, line) < 0)
			return -ENOMEM;
		errno = 0;
	}
	if (errno || ferror(file))
		return errno ? -errno : -EIO;
	if (fresh->count)
		qsort(fresh->place, fresh->count, sizeof(fresh->place[0]), by_base);
	*map = TAKE_PTR(fresh);
	return 0;
}

void module_map_free(struct module_map **map)
{
	if (!*map)
		return;
	free((*map)->place);
	free(*map);
	*map = NULL;
}

const struct module_place *module_map_at(const struct module_map *map, uint64_t address)
{
	size_t above;

	if (!map)
		return NULL;
	above = LOWER_BOUND(one, map->place, map->count, one->base <= address);
	if (!above || address - map->place[above - 1].base >= map->place[above - 1].size)
		return NULL;
	return &map->place[above - 1];
}
