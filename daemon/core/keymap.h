/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds rows of a reading by what identifies them.  Pure arithmetic. */
#ifndef DAEMON_CORE_KEYMAP_H
#define DAEMON_CORE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"

#define KEYMAP_WORDS 7

struct keymap_key {
	uint64_t word[KEYMAP_WORDS];
};

/* Keys have the numbers 0, 1, 2 … in the order in which they were added. */
struct keymap {
	struct keymap_key *key;
	size_t count, room;
	uint32_t *head; /* by hash: a number + 1; 0: none */
	size_t heads;	/* a power of two, or 0 */
};

void keymap_clear(struct keymap *map);
#define OWN_KEYMAP CLEANUP(keymap_clear)

/* The number of a key; false: it has none. */
bool keymap_find(const struct keymap *map, const struct keymap_key *key, size_t *number);
/* The number of a key, which is added if it is new.  -ENOMEM. */
int keymap_add(struct keymap *map, const struct keymap_key *key, size_t *number);

#endif
