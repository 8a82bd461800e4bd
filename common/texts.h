/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that are kept once.  Equal ones have the same address, so that comparing two of them, or what contains them, is
 * comparing pointers.
 */
#ifndef COMMON_TEXTS_H
#define COMMON_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/map.h"

/* One that is all zeros is empty. */
struct texts {
	char **text;
	size_t count, room;
	struct map map;
	bool failed; /* memory ran out, and a text is NULL that was not */
};

void texts_clear(struct texts *texts);
#define OWN_TEXTS CLEANUP(texts_clear)

/*
 * The text, which ends at the first 0 or after `max` bytes, as long as the texts are not cleared.  NULL: `text` is
 * NULL, or memory ran out, which texts->failed says.
 */
const char *texts_keep(struct texts *texts, const char *text, size_t max);

/* Replace a text by the one that is kept; NULL stays.  False: it is not kept. */
bool texts_replace(const struct texts *texts, const char **text);

#endif
