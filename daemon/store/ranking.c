/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/ranking.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct node {
	struct rank rank;
	uint32_t left, right; /* items; 0: none */
	uint32_t priority;    /* 0: the item has no rank */
};

struct ranking {
	uint32_t root;
	uint32_t random;
	struct node nodes[]; /* by item; the first is unused */
};

int ranking_new(struct ranking **ranking, uint32_t items)
{
	size_t bytes = sizeof(struct ranking) + ((size_t)items + 1) * sizeof(struct node);
	/* calloc(), because a page then takes memory only once an item on it has a rank. */
	struct ranking *fresh = calloc(1, bytes);

	if (!fresh)
		return -ENOMEM;
	fresh->random = 1;
	*ranking = fresh;
	return 0;
}

void ranking_free(struct ranking **ranking)
{
	free(*ranking);
	*ranking = NULL;
}

/* Marsaglia's xorshift; never 0. */
static uint32_t draw(struct ranking *ranking)
{
	uint32_t x = ranking->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return ranking->random = x;
}

/* Items of equal rank have the order of their numbers. */
static bool is_before(const struct ranking *ranking, uint32_t a, uint32_t b)
{
	const struct rank *x = &ranking->nodes[a].rank, *y = &ranking->nodes[b].rank;

	if (x->high != y->high)
		return x->high < y->high;
	return x->low != y->low ? x->low < y->low : a < b;
}

/* Split the tree below `root` into the items before `item` and those after it. */
static void split(struct ranking *ranking, uint32_t root, uint32_t item, uint32_t *before,
		  uint32_t *after)
{
	while (root) {
		if (is_before(ranking, root, item)) {
			*before = root;
			before = &ranking->nodes[root].right;
			root = *before;
		} else {
			*after = root;
			after = &ranking->nodes[root].left;
			root = *after;
		}
	}
	*before = *after = 0;
}

/* Where the tree has a link to the item, or has room for it. */
static uint32_t *link_of(struct ranking *ranking, uint32_t item)
{
	const struct node *nodes = ranking->nodes;
	uint32_t *link = &ranking->root;

	while (*link && *link != item && nodes[*link].priority >= nodes[item].priority)
		link = is_before(ranking, item, *link) ? &ranking->nodes[*link].left
						       : &ranking->nodes[*link].right;
	return link;
}

void ranking_set(struct ranking *ranking, uint32_t item, struct rank rank)
{
	struct node *node = ranking->nodes + item;
	uint32_t *link, below;

	ranking_remove(ranking, item);
	node->rank = rank;
	node->priority = draw(ranking);
	link = link_of(ranking, item);
	below = *link;
	*link = item;
	split(ranking, below, item, &node->left, &node->right);
}

void ranking_remove(struct ranking *ranking, uint32_t item)
{
	struct node *nodes = ranking->nodes;
	uint32_t left, right, *link;

	if (!nodes[item].priority)
		return;
	link = link_of(ranking, item);
	left = nodes[item].left;
	right = nodes[item].right;
	while (left && right) {
		if (nodes[left].priority > nodes[right].priority) {
			*link = left;
			link = &nodes[left].right;
			left = *link;
		} else {
			*link = right;
			link = &nodes[right].left;
			right = *link;
		}
	}
	*link = left ? left : right;
	nodes[item] = (struct node){0};
}

uint32_t ranking_below(const struct ranking *ranking, uint64_t limit)
{
	const struct node *nodes = ranking->nodes;
	uint32_t best = 0;

	for (uint32_t at = ranking->root; at;) {
		bool below = nodes[at].rank.high < limit;

		if (below)
			best = at;
		at = below ? nodes[at].right : nodes[at].left;
	}
	return best;
}
