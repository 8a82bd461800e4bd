/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/merge.h"

#include <stdlib.h>

struct head {
	uint64_t time_ns;
	uint32_t source;
};

struct merge {
	uint32_t count;
	struct head heap[]; /* the earliest first */
};

struct merge *merge_new(uint32_t sources)
{
	return calloc(1, sizeof(struct merge) + sources * sizeof(struct head));
}

void merge_free(struct merge **merge)
{
	free(*merge);
	*merge = NULL;
}

static bool is_before(const struct head *a, const struct head *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->source < b->source);
}

/* Put the head where there is a gap, or below it. */
static void sift_down(struct merge *merge, uint32_t gap, struct head head)
{
	struct head *heap = merge->heap;

	for (;;) {
		uint32_t child = 2 * gap + 1;

		if (child >= merge->count)
			break;
		if (child + 1 < merge->count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &head))
			break;
		heap[gap] = heap[child];
		gap = child;
	}
	heap[gap] = head;
}

void merge_add(struct merge *merge, uint32_t source, uint64_t time_ns)
{
	const struct head head = {time_ns, source};
	struct head *heap = merge->heap;
	uint32_t gap = merge->count++;

	for (; gap && is_before(&head, &heap[(gap - 1) / 2]); gap = (gap - 1) / 2)
		heap[gap] = heap[(gap - 1) / 2];
	heap[gap] = head;
}

bool merge_first(const struct merge *merge, uint32_t *source, uint64_t *time_ns)
{
	if (!merge->count)
		return false;
	*source = merge->heap[0].source;
	*time_ns = merge->heap[0].time_ns;
	return true;
}

void merge_advance(struct merge *merge, uint64_t time_ns)
{
	sift_down(merge, 0, (struct head){time_ns, merge->heap[0].source});
}

void merge_drop(struct merge *merge)
{
	merge->count--;
	if (merge->count)
		sift_down(merge, 0, merge->heap[merge->count]);
}
