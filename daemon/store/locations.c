/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/locations.h"

#include <errno.h>
#include <string.h>

#include "common/hash.h"
#include "common/map.h"
#include "daemon/kernel/symbols.h"

/* Room for LOCATIONS_AT_ONCE texts of the greatest length, and for about 500 texts of usual length in addition. */
#define TEXT_BYTES ((size_t)(LOCATIONS_AT_ONCE + 40) * SYMBOLS_TEXT_MAX)
#define ENTRIES 1024

struct entry {
	uint64_t address;
	const char *text;
};

struct locations {
	const struct symbols *symbols;
	struct map map;
	size_t count, used; /* entries in use; bytes in use of text[] */
	struct entry entries[ENTRIES];
	char text[TEXT_BYTES];
};

int locations_new(struct locations **locations, const struct symbols *symbols)
{
	/* calloc(), because a page then takes memory only once texts fill it. */
	struct locations *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	if (map_reserve(&fresh->map, ENTRIES) < 0) {
		free(fresh);
		return -ENOMEM;
	}
	fresh->symbols = symbols;
	*locations = fresh;
	return 0;
}

void locations_free(struct locations **locations)
{
	if (!*locations)
		return;
	map_clear(&(*locations)->map);
	free(*locations);
	*locations = NULL;
}

void locations_forget(struct locations *locations)
{
	map_forget(&locations->map);
	locations->count = 0;
	locations->used = 0;
}

void locations_begin(struct locations *locations, size_t count)
{
	if (locations->count + count > ENTRIES ||
	    locations->used + count * SYMBOLS_TEXT_MAX > TEXT_BYTES)
		locations_forget(locations);
}

static bool is(const void *entries, size_t number, const void *address)
{
	return ((const struct entry *)entries)[number].address == *(const uint64_t *)address;
}

const char *locations_text(struct locations *locations, uint64_t address)
{
	uint64_t hash = hash_word(0, address);
	char *text = locations->text + locations->used;
	size_t number;

	if (map_find(&locations->map, hash, is, locations->entries, &address, &number))
		return locations->entries[number].text;
	symbols_format(locations->symbols, address, text, SYMBOLS_TEXT_MAX);
	locations->used += strlen(text) + 1;
	/* There is room, see locations_new(). */
	map_add(&locations->map, hash, locations->count);
	locations->entries[locations->count++] = (struct entry){.address = address, .text = text};
	return text;
}
