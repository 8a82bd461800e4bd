/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/reading_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/core/histogram.h"

/* The end of each visit: 1 stops the walk for this time. */
static int go_on(const struct reading_rows *rows)
{
	return time_monotonic() >= rows->deadline_ns;
}

static void copy_kind(char to[static NF_DEVICE_KIND + 1], const char *kind)
{
	if (kind)
		strncpy(to, kind, NF_DEVICE_KIND);
}

static void copy_name(char to[static NF_DEVICE_NAME + 1], const char *name)
{
	if (name)
		strncpy(to, name, NF_DEVICE_NAME);
}

static int add_table(const struct backend_table *table, void *userdata)
{
	struct reading_rows *rows = userdata;

	if (ARRAY_GROW(rows->table, rows->count, rows->room) < 0)
		return -ENOMEM;
	rows->table[rows->count++] = *table;
	return go_on(rows);
}

static int add_drops(const struct backend_drops *drops, void *userdata)
{
	struct reading_rows *rows = userdata;

	if (ARRAY_GROW(rows->drops, rows->count, rows->room) < 0)
		return -ENOMEM;
	rows->drops[rows->count++] = *drops;
	return go_on(rows);
}

static int add_napi(const struct backend_napi *napi, void *userdata)
{
	struct reading_rows *rows = userdata;
	struct reading_napi_row *row;

	if (ARRAY_GROW(rows->napi, rows->count, rows->room) < 0)
		return -ENOMEM;
	row = &rows->napi[rows->count++];
	*row = (struct reading_napi_row){.row = *napi};
	copy_name(row->name, napi->name);
	return go_on(rows);
}

static int add_slots(const struct backend_slots *slots, void *userdata)
{
	struct reading_rows *rows = userdata;
	struct reading_slots_row *row;

	if (ARRAY_GROW(rows->slots, rows->count, rows->room) < 0)
		return -ENOMEM;
	row = &rows->slots[rows->count++];
	*row = (struct reading_slots_row){.row = *slots};
	copy_name(row->name, slots->name);
	return go_on(rows);
}

/* ---- devices -------------------------------------------------------------- */

static int pack(struct reading_rows *rows, const struct nf_hist *hist)
{
	struct reading_packed *packed;

	if (ARRAY_GROW(rows->packed, rows->packed_count, rows->packed_room) < 0)
		return -ENOMEM;
	packed = &rows->packed[rows->packed_count++];
	*packed = (struct reading_packed){.sum_ns = hist->sum_ns,
					  .max_ns = hist->max_ns,
					  .journeys = hist->journeys,
					  .variance = hist->variance,
					  .at = rows->buckets};
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		if (!hist->bucket[i])
			continue;
		if (ARRAY_GROW(rows->bucket, rows->buckets, rows->buckets_room) < 0)
			return -ENOMEM;
		rows->bucket[rows->buckets++] =
			(struct reading_bucket){hist->bucket[i], (uint16_t)i};
	}
	packed->count = (uint16_t)(rows->buckets - packed->at);
	return 0;
}

static void find_worst(struct reading_device_row *row, const struct backend_device *device)
{
	static const enum nf_segment totals[] = {NF_SEGMENT_RX_TOTAL, NF_SEGMENT_FORWARD_TOTAL,
						 NF_SEGMENT_TX_TOTAL};

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		const struct nf_hist *hist = &device->segment[totals[i]];
		uint64_t p99_ns;

		if (!(row->segments & UINT32_C(1) << totals[i]) ||
		    histogram_quantile(hist, 0.99, &p99_ns) < 0 ||
		    (row->worst.count && p99_ns <= row->worst.p99_ns))
			continue;
		row->worst = (struct reading_worst){
			.segment = totals[i], .p99_ns = p99_ns, .count = histogram_count(hist)};
	}
}

static int add_device(const struct backend_device *device, void *userdata)
{
	struct reading_rows *rows = userdata;
	struct reading_device_row *row;

	if (!rows->all)
		rows->all = calloc(NF_SEGMENT_COUNT, sizeof(*rows->all));
	if (!rows->all || ARRAY_GROW(rows->device, rows->count, rows->room) < 0)
		return -ENOMEM;
	row = &rows->device[rows->count++];
	*row = (struct reading_device_row){0};
	memcpy(row->before, device, sizeof(row->before));
	memcpy(row->after, (const unsigned char *)(device->segment + NF_SEGMENT_COUNT),
	       sizeof(row->after));
	copy_name(row->name, device->name);
	copy_kind(row->kind, device->kind);
	row->segments = device->used;
	row->packed = (uint32_t)rows->packed_count;
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		if (!(device->used & UINT32_C(1) << i))
			continue;
		if (pack(rows, &device->segment[i]) < 0)
			return -ENOMEM;
		histogram_merge(&rows->all[i], &device->segment[i]);
	}
	find_worst(row, device);
	return go_on(rows);
}

void reading_rows_device(const struct reading_rows *rows, size_t i, struct backend_device *device)
{
	const struct reading_device_row *row = &rows->device[i];

	memcpy(device, row->before, sizeof(row->before));
	memcpy(device->segment + NF_SEGMENT_COUNT, row->after, sizeof(row->after));
	if (device->name)
		device->name = row->name;
	if (device->kind)
		device->kind = row->kind;
}

void reading_rows_segment(const struct reading_rows *rows, size_t i, enum nf_segment segment,
			  struct nf_hist *hist)
{
	const struct reading_device_row *row = &rows->device[i];
	uint32_t bit = UINT32_C(1) << segment;
	const struct reading_packed *packed =
		&rows->packed[row->packed + __builtin_popcount(row->segments & (bit - 1))];

	*hist = (struct nf_hist){0};
	if (!(row->segments & bit))
		return;
	*hist = (struct nf_hist){.sum_ns = packed->sum_ns,
				 .max_ns = packed->max_ns,
				 .journeys = packed->journeys,
				 .variance = packed->variance};
	for (const struct reading_bucket *bucket = &rows->bucket[packed->at];
	     bucket < &rows->bucket[packed->at + packed->count]; bucket++)
		hist->bucket[bucket->number] = bucket->count;
}

/* ---- all parts ------------------------------------------------------------ */

/* The arrays have moved while they grew. */
static void set_names(struct reading_rows *rows)
{
	for (size_t i = 0; rows->napi && i < rows->count; i++)
		if (rows->napi[i].row.name)
			rows->napi[i].row.name = rows->napi[i].name;
	for (size_t i = 0; rows->slots && i < rows->count; i++)
		if (rows->slots[i].row.name)
			rows->slots[i].row.name = rows->slots[i].name;
}

static int walk(struct reading_rows *rows, const struct backend *backend, enum reading_part part,
		struct backend_cursor *cursor)
{
	switch (part) {
	case READING_TABLES:
		return backend->ops->tables(backend, cursor, add_table, rows);
	case READING_DROPS:
		return backend->ops->drops(backend, cursor, add_drops, rows);
	case READING_DEVICES:
		return backend->ops->devices(backend, cursor, add_device, rows);
	case READING_NAPI:
		return backend->ops->napi(backend, cursor, add_napi, rows);
	case READING_SLOTS:
		return backend->ops->slots(backend, cursor, add_slots, rows);
	default:
		return -EINVAL;
	}
}

/* The array with room for `count` elements only, if there are any. */
static void *fit(void *array, size_t count, size_t size)
{
	void *smaller = count ? reallocarray(array, count, size) : NULL;

	return smaller ? smaller : array;
}

/* The arrays of devices doubled their room, and a reading is kept for long. */
static void shrink(struct reading_rows *rows)
{
	if (!rows->device)
		return;
	rows->device = fit(rows->device, rows->count, sizeof(*rows->device));
	rows->packed = fit(rows->packed, rows->packed_count, sizeof(*rows->packed));
	rows->bucket = fit(rows->bucket, rows->buckets, sizeof(*rows->bucket));
}

int reading_rows_step(struct reading_rows *rows, const struct backend *backend,
		      enum reading_part part, struct backend_cursor *cursor)
{
	int r = walk(rows, backend, part, cursor);

	if (r == 0) {
		shrink(rows);
		set_names(rows);
	}
	return r;
}

void reading_rows_clear(struct reading_rows *rows)
{
	free(rows->table);
	free(rows->drops);
	free(rows->napi);
	free(rows->slots);
	free(rows->device);
	free(rows->packed);
	free(rows->bucket);
	free(rows->all);
	*rows = (struct reading_rows){0};
}
