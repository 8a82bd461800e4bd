/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/locations.h"

#include <errno.h>
#include <string.h>

#include "daemon/kernel/symbols.h"

/* Room for LOCATIONS_AT_ONCE texts of the greatest length, and for about 500 texts of usual length in addition. */
#define TEXT_BYTES ((size_t)(LOCATIONS_AT_ONCE + 40) * SYMBOLS_TEXT_MAX)
/* A power of two; at most half of the entries are in use. */
#define ENTRIES 2048

struct entry {
	uint64_t address;
	const char *text; /* NULL: free */
};

struct locations {
	const struct symbols *symbols;
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
	fresh->symbols = symbols;
	*locations = fresh;
	return 0;
}

void locations_free(struct locations **locations)
{
	free(*locations);
	*locations = NULL;
}

void locations_forget(struct locations *locations)
{
	memset(locations->entries, 0, sizeof(locations->entries));
	locations->count = 0;
	locations->used = 0;
}

void locations_begin(struct locations *locations, size_t count)
{
	if (locations->count + count > ENTRIES / 2 ||
	    locations->used + count * SYMBOLS_TEXT_MAX > TEXT_BYTES)
		locations_forget(locations);
}

static struct entry *find(struct locations *locations, uint64_t address)
{
	size_t at = address * 0x9e3779b97f4a7c15ULL >> 32;
	struct entry *entry = &locations->entries[at % ENTRIES];

	while (entry->text && entry->address != address)
		entry = &locations->entries[++at % ENTRIES];
	return entry;
}

const char *locations_text(struct locations *locations, uint64_t address)
{
	struct entry *entry = find(locations, address);
	char *text = locations->text + locations->used;

	if (entry->text)
		return entry->text;
	symbols_format(locations->symbols, address, text, SYMBOLS_TEXT_MAX);
	locations->used += strlen(text) + 1;
	locations->count++;
	*entry = (struct entry){.address = address, .text = text};
	return text;
}
