/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a reading, copied from the backend's walks.  Only reading.c uses this. */
#ifndef DAEMON_STORE_READING_ROWS_H
#define DAEMON_STORE_READING_ROWS_H

#include "daemon/store/reading.h"

struct reading_napi_row {
	struct backend_napi row;
	char name[NF_DEVICE_NAME + 1];
};

struct reading_slots_row {
	struct backend_slots row;
	char name[NF_DEVICE_NAME + 1];
};

/*
 * A histogram without its empty buckets: 1.1 KB for each segment would be 30 MB for 2,000 devices, and a reading has
 * 16,000 after others came and went.
 */
struct reading_packed {
	uint64_t sum_ns, max_ns, journeys, variance;
	size_t at; /* of its first bucket among all */
	uint16_t count;
};

struct reading_bucket {
	uint64_t count;
	uint16_t number;
} __attribute__((packed, aligned(2)));

struct reading_device_row {
	/* Bytes of struct backend_device before and after its histograms. */
	unsigned char before[offsetof(struct backend_device, segment)];
	unsigned char after[sizeof(struct backend_device) -
			    offsetof(struct backend_device, segment) -
			    sizeof(((struct backend_device *)NULL)->segment)];
	char name[NF_DEVICE_NAME + 1], kind[NF_DEVICE_KIND + 1];
	uint32_t segments; /* a bit for each that has a histogram */
	uint32_t packed;   /* the first of these among all */
	struct reading_worst worst;
};

/* One of these arrays, by the part.  A row whose name is not NULL has its name in the row. */
struct reading_rows {
	size_t count, room;
	struct backend_table *table;
	struct backend_drops *drops;
	struct reading_napi_row *napi;
	struct reading_slots_row *slots;
	struct reading_device_row *device;
	/* Of all devices: */
	struct reading_packed *packed;
	size_t packed_count, packed_room;
	struct reading_bucket *bucket;
	size_t buckets, buckets_room;
	struct nf_hist *all; /* NF_SEGMENT_COUNT sums over all devices; NULL: there are none */
	uint64_t deadline_ns;
};

/* Walk on until the deadline.  0: complete; 1: not yet; or a negative errno. */
int reading_rows_step(struct reading_rows *rows, const struct backend *backend,
		      enum reading_part part, struct backend_cursor *cursor);
void reading_rows_clear(struct reading_rows *rows);

void reading_rows_device(const struct reading_rows *rows, size_t i, struct backend_device *device);
void reading_rows_segment(const struct reading_rows *rows, size_t i, enum nf_segment segment,
			  struct nf_hist *hist);

#endif
