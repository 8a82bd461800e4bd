/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/history/plan.h"
#include "daemon/history/series.h"
#include "daemon/history/vector.h"

#define US INT64_C(1000000)

int batch_new(struct batch **batch)
{
	struct batch *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	*batch = fresh;
	return 0;
}

void batch_free(struct batch **batch)
{
	struct batch *old = *batch;

	if (!old)
		return;
	for (size_t i = 0; i < old->rows; i++)
		series_release(&old->row[i].series);
	for (size_t i = 0; i < old->records; i++)
		free(old->record[i].incident);
	free(old->row);
	free(old->record);
	free(old->bytes);
	coverage_clear(&old->coverage);
	free(old);
	*batch = NULL;
}

static int reserve(struct batch *batch, size_t more)
{
	size_t room = batch->room ? batch->room : 4096;
	uint8_t *bytes;

	while (room - batch->size < more)
		room *= 2;
	if (room == batch->room)
		return 0;
	bytes = realloc(batch->bytes, room);
	if (!bytes)
		return -ENOMEM;
	batch->bytes = bytes;
	batch->room = room;
	return 0;
}

int batch_add(struct batch *batch, struct series *series, const uint64_t *value)
{
	uint8_t bytes[VECTOR_BYTES_MAX];
	size_t size = vector_encode(value, history_width(series->kind), bytes);
	int r;

	if (!size)
		return 0;
	r = reserve(batch, size);
	if (r == 0)
		r = ARRAY_GROW(batch->row, batch->rows, batch->rows_room);
	if (r < 0)
		return r;
	memcpy(batch->bytes + batch->size, bytes, size);
	batch->row[batch->rows++] = (struct batch_row){.series = series_hold(series),
						       .at = batch->size,
						       .size = (uint32_t)size,
						       .weight = 1};
	batch->size += size;
	return 0;
}

int batch_add_record(struct batch *batch, int kind, int64_t time_us, const void *body, size_t size)
{
	int r = reserve(batch, size);

	if (r == 0)
		r = ARRAY_GROW(batch->record, batch->records, batch->records_room);
	if (r < 0)
		return r;
	memcpy(batch->bytes + batch->size, body, size);
	batch->record[batch->records++] = (struct batch_record){
		.kind = kind, .time_us = time_us, .at = batch->size, .size = size};
	batch->size += size;
	return 0;
}

int batch_add_event(struct batch *batch, int64_t time_us, const char *text, const char *rule)
{
	char *incident = rule ? strdup(rule) : NULL;
	int r = rule && !incident ? -ENOMEM
				  : batch_add_record(batch, HISTORY_RECORD_ALERT, time_us, text,
						     strlen(text));

	if (r < 0)
		free(incident);
	else
		batch->record[batch->records - 1].incident = incident;
	return r;
}

void batch_add_gap(struct batch *batch, int64_t from_us, int64_t to_us)
{
	if (batch->gaps == BATCH_GAPS)
		batch->gap[BATCH_GAPS - 1].to_us = to_us;
	else
		batch->gap[batch->gaps++] = (struct batch_gap){from_us, to_us};
}

struct batch_buckets batch_buckets(const struct batch *batch)
{
	/* The middle, because an interval ends a little after its bucket does. */
	int64_t middle = plan_floor((batch->from_us / 2 + batch->to_us / 2) / US, 0);

	int64_t length = batch->to_us - batch->from_us, late = batch->first ? US / 10 : US;

	if (length <= 2 * late || (!batch->first && length <= plan_step[0] * US + late))
		return (struct batch_buckets){middle, middle, middle};
	return (struct batch_buckets){plan_floor((batch->from_us + late) / US, 0), middle,
				      plan_floor((batch->to_us - late) / US, 0)};
}

size_t batch_memory(const struct batch *batch)
{
	return sizeof(*batch) + batch->room + batch->rows_room * sizeof(*batch->row) +
	       batch->records_room * sizeof(*batch->record);
}
