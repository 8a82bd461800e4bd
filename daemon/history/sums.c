/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/history/vector.h"

#define ROOM_MIN 64

void sums_init(struct sums *sums, size_t width)
{
	*sums = (struct sums){.width = width};
}

void sums_clear(struct sums *sums)
{
	free(sums->row);
	free(sums->value);
	free(sums->weight);
	free(sums->head);
	sums_init(sums, sums->width);
}

static size_t place(const struct sums *sums, int64_t row)
{
	size_t at = (uint64_t)row * 0x9e3779b97f4a7c15ULL >> 32 & (sums->heads - 1);

	while (sums->head[at] && sums->row[sums->head[at] - 1] != row)
		at = (at + 1) & (sums->heads - 1);
	return at;
}

/* Each array keeps its old size if a later one cannot grow. */
static int grow(struct sums *sums)
{
	size_t room = sums->room ? 2 * sums->room : ROOM_MIN;
	void *row = reallocarray(sums->row, room, sizeof(*sums->row)), *value, *weight;
	uint32_t *head;

	if (!row)
		return -ENOMEM;
	sums->row = row;
	value = reallocarray(sums->value, room, sums->width * sizeof(*sums->value));
	if (!value)
		return -ENOMEM;
	sums->value = value;
	weight = reallocarray(sums->weight, room, sizeof(*sums->weight));
	if (!weight)
		return -ENOMEM;
	sums->weight = weight;
	head = calloc(2 * room, sizeof(*head));
	if (!head)
		return -ENOMEM;
	free(sums->head);
	sums->head = head;
	sums->heads = 2 * room;
	sums->room = room;
	for (size_t i = 0; i < sums->count; i++)
		sums->head[place(sums, sums->row[i])] = (uint32_t)i + 1;
	return 0;
}

int sums_find(struct sums *sums, int64_t row, size_t *index)
{
	size_t at;

	if (sums->count == sums->room) {
		int r = grow(sums);

		if (r < 0)
			return r;
	}
	at = place(sums, row);
	if (!sums->head[at]) {
		sums->row[sums->count] = row;
		sums->weight[sums->count] = 0;
		memset(sums_value(sums, sums->count), 0, sums->width * sizeof(*sums->value));
		sums->head[at] = (uint32_t)++sums->count;
	}
	*index = sums->head[at] - 1;
	return 0;
}

int sums_add(struct sums *sums, int64_t row, uint32_t weight, const uint8_t *bytes, size_t size)
{
	size_t index;
	int r = sums_find(sums, row, &index);

	if (r < 0)
		return r;
	if (weight > sums->weight[index])
		sums->weight[index] = weight;
	return vector_add(sums_value(sums, index), sums->width, bytes, size);
}
