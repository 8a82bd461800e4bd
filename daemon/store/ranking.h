/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Items in the order of their ranks.  Each call takes O(log n) of the items that have a rank, and none allocates
 * memory.
 *
 * The ranking is a treap: a search tree by rank whose nodes have random priorities and are a heap by them.  This keeps
 * it flat whatever the order in which ranks come.
 */
#ifndef DAEMON_STORE_RANKING_H
#define DAEMON_STORE_RANKING_H

#include <stdint.h>

#include "common/cleanup.h"

struct ranking;

/* Compared first by `high`, then by `low`. */
struct rank {
	uint64_t high, low;
};

/* For the items 1 to `items`, none of which has a rank at first.  -ENOMEM. */
int ranking_new(struct ranking **ranking, uint32_t items);
void ranking_free(struct ranking **ranking);
#define OWN_RANKING CLEANUP(ranking_free)

/* Give a rank to an item, in place of the one that it has; take its rank from it. */
void ranking_set(struct ranking *ranking, uint32_t item, struct rank rank);
void ranking_remove(struct ranking *ranking, uint32_t item);

/* The item of the highest rank whose `high` is below `limit`; 0: there is none. */
uint32_t ranking_below(const struct ranking *ranking, uint64_t limit);

#endif
