/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one interval brought, on its way from the loop to the writer or to a query. */
#ifndef DAEMON_HISTORY_BATCH_H
#define DAEMON_HISTORY_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/core/coverage.h"

struct series;

/* Kinds of records.  The numbers are part of the file's format; the first three are those of enum record_kind. */
enum history_record_kind {
	HISTORY_RECORD_DROP,
	HISTORY_RECORD_LATENCY,
	HISTORY_RECORD_SLOTS,
	HISTORY_RECORD_ALERT,
	HISTORY_RECORD_KINDS,
};

struct batch_row {
	struct series *series;
	size_t at;     /* of its vector in `bytes` */
	uint32_t size; /* bytes */
	uint32_t weight;
};

struct batch_record {
	int kind;
	int64_t time_us; /* since 1970 */
	size_t at; /* in `bytes`: see stored_record.h; of an event of an alert a JSON object */
	size_t size;
	char *incident; /* of an alert that fired the name of its rule; NULL otherwise */
};

struct batch_gap {
	int64_t from_us, to_us;
};

/* Pauses of one interval; more are joined to the last one. */
#define BATCH_GAPS 16

struct batch {
	struct batch *next;	/* in a queue */
	uint64_t number;	/* of the daemon's batches, from 1 */
	int64_t from_us, to_us; /* the interval, since 1970 */
	bool first; /* it begins when netflowd began, and not where another interval ended */
	/*
	 * The boot of the host, 0: not known; the clock of these times less CLOCK_BOOTTIME; and by how much it was set
	 * at their end, because of which the next interval begins elsewhere.
	 */
	int64_t boot, clock_us, step_us;
	struct batch_gap gap[BATCH_GAPS]; /* in which no probe ran, in their order */
	size_t gaps;
	int64_t seen_us;  /* the batch has everything that was counted before; 0: before to_us */
	uint64_t seen_ns; /* the same, CLOCK_MONOTONIC; 0: not known */
	struct coverage coverage; /* what could not be seen */
	struct batch_row *row;
	size_t rows, rows_room;
	uint8_t *bytes;
	size_t size, room;
	struct batch_record *record;
	size_t records, records_room;
};

/* -ENOMEM.  Free with batch_free(). */
int batch_new(struct batch **batch);
void batch_free(struct batch **batch);
#define OWN_BATCH CLEANUP(batch_free)

/* Add the values of a series, which the batch holds then; all zero: nothing.  -ENOMEM. */
int batch_add(struct batch *batch, struct series *series, const uint64_t *value);
/* Add a record.  -ENOMEM. */
int batch_add_record(struct batch *batch, int kind, int64_t time_us, const void *body, size_t size);
/* Add an event of an alert, JSON text; `rule`: it fired, and begins an incident; or NULL.  -ENOMEM. */
int batch_add_event(struct batch *batch, int64_t time_us, const char *text, const char *rule);

/* A time in which no probe ran; the next one begins later. */
void batch_add_gap(struct batch *batch, int64_t from_us, int64_t to_us);

/*
 * The first seconds of the first and the last bucket that an interval is in, and of the one between them that gets its
 * numbers: all the same, unless it is longer than a bucket and the second by which readings may be late; or the first
 * one, which can begin anywhere.
 */
struct batch_buckets {
	int64_t first, middle, last;
};
struct batch_buckets batch_buckets(const struct batch *batch);

/* The memory of a batch, in bytes. */
size_t batch_memory(const struct batch *batch);

#endif
