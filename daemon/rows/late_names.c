/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rows/late_names.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "daemon/core/device.h"

struct late_name {
	uint64_t netns_id;
	const char *name; /* NULL: it had several */
};

void late_names_clear(struct late_names *names)
{
	free(names->at);
	map_clear(&names->map);
	*names = (struct late_names){0};
}

static bool is(const void *items, size_t number, const void *key)
{
	const struct late_name *at = items;

	return at[number].netns_id == *(const uint64_t *)key;
}

static struct late_name *find(const struct late_names *names, uint64_t netns_id)
{
	uint64_t hash = hash_word((uintptr_t)names, netns_id);
	size_t number;

	return map_find(&names->map, hash, is, names->at, &netns_id, &number) ? &names->at[number]
									      : NULL;
}

int late_names_learn(struct late_names *names, const struct device *device)
{
	struct late_name *known;

	if (!device->netns_name || !device->netns_id)
		return 0;
	known = find(names, device->netns_id);
	if (known) {
		if (known->name != device->netns_name)
			known->name = NULL;
		return 0;
	}
	if (ARRAY_GROW(names->at, names->count, names->room) < 0 ||
	    map_add(&names->map, hash_word((uintptr_t)names, device->netns_id), names->count) < 0)
		return -ENOMEM;
	names->at[names->count++] = (struct late_name){device->netns_id, device->netns_name};
	return 0;
}

void late_names_give(const struct late_names *names, struct device *device)
{
	const struct late_name *known = device->netns_id ? find(names, device->netns_id) : NULL;

	if (known && known->name)
		device->netns_name = known->name;
}
