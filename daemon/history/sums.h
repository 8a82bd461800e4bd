/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vectors of one kind, added up by series.  Pure arithmetic. */
#ifndef DAEMON_HISTORY_SUMS_H
#define DAEMON_HISTORY_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/map.h"

struct sums {
	size_t width; /* values of a vector */
	size_t count, room;
	int64_t *row;	  /* the series */
	uint64_t *value;  /* `width` for each */
	uint32_t *weight; /* the largest that was added */
	struct map map;
};

/* Begin with no series. */
void sums_init(struct sums *sums, size_t width);
void sums_clear(struct sums *sums);
#define OWN_SUMS CLEANUP(sums_clear)

/* The index of a series, which is added with zeros if it is new.  -ENOMEM. */
int sums_find(struct sums *sums, int64_t row, size_t *index);
/* Add an encoded vector.  -ENOMEM; -EBADMSG: it is not valid. */
int sums_add(struct sums *sums, int64_t row, uint32_t weight, const uint8_t *bytes, size_t size);

static inline uint64_t *sums_value(const struct sums *sums, size_t index)
{
	return sums->value + index * sums->width;
}

#endif
