/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds rows of a reading by what identifies them.  Pure arithmetic. */
#ifndef DAEMON_CORE_KEYMAP_H
#define DAEMON_CORE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/map.h"

#define KEYMAP_WORDS 7

struct keymap_key {
	uint64_t word[KEYMAP_WORDS];
};

/* Keys have the numbers 0, 1, 2 … in the order in which they were added. */
struct keymap {
	struct keymap_key *key;
	size_t count, room;
	struct map map;
};

void keymap_clear(struct keymap *keymap);
#define OWN_KEYMAP CLEANUP(keymap_clear)

/* The number of a key; false: it has none. */
bool keymap_find(const struct keymap *keymap, const struct keymap_key *key, size_t *number);
/* The number of a key, which is added if it is new.  -ENOMEM. */
int keymap_add(struct keymap *keymap, const struct keymap_key *key, size_t *number);

#endif
