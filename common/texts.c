/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/texts.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"

struct wanted {
	const char *text;
	size_t length;
};

void texts_clear(struct texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->text[i]);
	free(texts->text);
	map_clear(&texts->map);
	*texts = (struct texts){0};
}

/* Strangers choose some texts: they do not know where these are kept. */
static uint64_t hash_of(const struct texts *texts, const struct wanted *wanted)
{
	uint64_t hash = hash_word(wanted->length, (uintptr_t)texts);

	for (size_t i = 0; i < wanted->length; i++)
		hash = hash_word(hash, (unsigned char)wanted->text[i]);
	return hash;
}

static bool is(const void *items, size_t number, const void *key)
{
	const char *text = ((char *const *)items)[number];
	const struct wanted *wanted = key;

	return !strncmp(text, wanted->text, wanted->length) && !text[wanted->length];
}

static const char *find(const struct texts *texts, const struct wanted *wanted, uint64_t hash)
{
	size_t number;

	return map_find(&texts->map, hash, is, texts->text, wanted, &number) ? texts->text[number]
									     : NULL;
}

bool texts_replace(const struct texts *texts, const char **text)
{
	struct wanted wanted = {*text, *text ? strlen(*text) : 0};

	if (*text)
		*text = find(texts, &wanted, hash_of(texts, &wanted));
	return *text || !wanted.text;
}

const char *texts_keep(struct texts *texts, const char *text, size_t max)
{
	struct wanted wanted = {text, text ? strnlen(text, max) : 0};
	const char *kept;
	uint64_t hash;
	char *copy;

	if (!text)
		return NULL;
	hash = hash_of(texts, &wanted);
	kept = find(texts, &wanted, hash);
	if (kept)
		return kept;
	copy = strndup(text, wanted.length);
	if (!copy || ARRAY_GROW(texts->text, texts->count, texts->room) < 0 ||
	    map_add(&texts->map, hash, texts->count) < 0) {
		free(copy);
		texts->failed = true;
		return NULL;
	}
	texts->text[texts->count++] = copy;
	return copy;
}
