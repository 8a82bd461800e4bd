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

static int pack(struct reading_rows *rows, struct reading_packed *packed,
		const struct nf_hist *hist)
{
	unsigned int first = 0, end = NF_HIST_BUCKETS;

	*packed = (struct reading_packed){.sum_ns = hist->sum_ns,
					  .max_ns = hist->max_ns,
					  .journeys = hist->journeys,
					  .variance = hist->variance};
	while (first < end && !hist->bucket[first])
		first++;
	while (end > first && !hist->bucket[end - 1])
		end--;
	packed->at = rows->buckets;
	packed->first = (uint16_t)first;
	packed->count = (uint16_t)(end - first);
	for (unsigned int i = first; i < end; i++) {
		if (ARRAY_GROW(rows->bucket, rows->buckets, rows->buckets_room) < 0)
			return -ENOMEM;
		rows->bucket[rows->buckets++] = hist->bucket[i];
	}
	return 0;
}

static void find_worst(struct reading_device_row *row, const struct backend_device *device)
{
	static const enum nf_segment totals[] = {NF_SEGMENT_RX_TOTAL, NF_SEGMENT_FORWARD_TOTAL,
						 NF_SEGMENT_TX_TOTAL};

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		const struct nf_hist *hist = &device->segment[totals[i]];
		uint64_t p99_ns;

		if (!row->segment[totals[i]].count || histogram_quantile(hist, 0.99, &p99_ns) < 0 ||
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
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		int r = pack(rows, &row->segment[i], &device->segment[i]);

		if (r < 0)
			return r;
		if (row->segment[i].count)
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
	const struct reading_packed *packed = &rows->device[i].segment[segment];

	*hist = (struct nf_hist){.sum_ns = packed->sum_ns,
				 .max_ns = packed->max_ns,
				 .journeys = packed->journeys,
				 .variance = packed->variance};
	if (packed->count)
		memcpy(&hist->bucket[packed->first], &rows->bucket[packed->at],
		       packed->count * sizeof(hist->bucket[0]));
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

int reading_rows_step(struct reading_rows *rows, const struct backend *backend,
		      enum reading_part part, struct backend_cursor *cursor)
{
	int r = walk(rows, backend, part, cursor);

	if (r == 0)
		set_names(rows);
	return r;
}

void reading_rows_clear(struct reading_rows *rows)
{
	free(rows->table);
	free(rows->drops);
	free(rows->napi);
	free(rows->slots);
	free(rows->device);
	free(rows->bucket);
	free(rows->all);
	*rows = (struct reading_rows){0};
}
