/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
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
	map_clear(&sums->map);
	sums_init(sums, sums->width);
}

static uint64_t hash_of(int64_t row)
{
	return hash_word(0, (uint64_t)row);
}

static bool is(const void *rows, size_t number, const void *row)
{
	return ((const int64_t *)rows)[number] == *(const int64_t *)row;
}

/* Each array keeps its old size if a later one cannot grow. */
static int grow(struct sums *sums)
{
	size_t room = sums->room ? 2 * sums->room : ROOM_MIN;
	void *row = reallocarray(sums->row, room, sizeof(*sums->row)), *value, *weight;

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
	sums->room = room;
	return 0;
}

int sums_find(struct sums *sums, int64_t row, size_t *index)
{
	int r = 0;

	if (map_find(&sums->map, hash_of(row), is, sums->row, &row, index))
		return 0;
	if (sums->count == sums->room)
		r = grow(sums);
	if (r == 0)
		r = map_add(&sums->map, hash_of(row), sums->count);
	if (r < 0)
		return r;
	*index = sums->count++;
	sums->row[*index] = row;
	sums->weight[*index] = 0;
	memset(sums_value(sums, *index), 0, sums->width * sizeof(*sums->value));
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
