/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of an interval: all of them if there are few, otherwise a few of each cause. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/time.h"
#include "daemon/core/record.h"
#include "daemon/history/batch.h"
#include "daemon/history/collect.h"
#include "daemon/history/collect_internal.h"
#include "daemon/history/stored_record.h"

/* Causes with a counter of their own; others share one. */
#define CAUSES 256

struct candidate {
	size_t i; /* the i-th newest */
	uint8_t cause;
	bool taken;
};

static uint64_t hash_device(const struct device *device)
{
	return NF_DEVICE_KEY(device->netns, device->ifindex);
}

/* A number for why the record was made and where, as the store keeps records by it. */
static uint8_t cause_of(const struct record *any)
{
	const struct journey *journey = &any->journey;
	uint64_t hash;

	if (any->kind == RECORDS_DROPS)
		hash = (any->drop.cause.location ? hash_text(0, any->drop.cause.location) : 0) ^
		       any->drop.cause.reason ^ (uint64_t)any->drop.device.netns << 32 ^
		       any->drop.cause.evidence << 8;
	else if (any->kind == RECORDS_LATENCY)
		hash = journey->stages.stage[journey->stages.dominant].stage +
		       16 * (uint64_t)journey->slow +
		       32 * (journey->devices ? hash_device(&journey->device[0]) : 0);
	else
		hash = hash_device(&any->transmit.device) + any->transmit.outcome;
	return (uint8_t)(hash * 0x9e3779b97f4a7c15ULL >> 56);
}

/* Not a packet, and so not a drop. */
static bool is_message(const struct record *any)
{
	return any->kind == RECORDS_DROPS && any->drop.cause.verdict.message;
}

static int add_record(struct collect *run, enum record_kind kind, size_t i)
{
	uint8_t bytes[STORED_RECORD_MAX];
	struct record record;
	int64_t time_us;
	size_t size = 0;

	if (records_get(run->sources.records, kind, i, &record) == 0)
		size = stored_record_write(&record, &time_us, bytes);
	if (!size) {
		run->left_out++;
		return 0;
	}
	return batch_add_record(run->batch, (int)kind, time_us, bytes, size);
}

/* The records of the interval, and their causes. */
static size_t list(struct collect *run, enum record_kind kind, struct candidate *candidate)
{
	struct records *records = run->sources.records;
	uint64_t before = run->sources.base->records[kind], end = run->records[kind];
	uint64_t sequence, seen = 0;
	struct record any;
	size_t count = 0;

	for (size_t i = 0; (sequence = records_sequence(records, kind, i)) > before; i++) {
		if (sequence > end)
			continue;
		seen++;
		if (count == COLLECT_RECORDS) {
			run->left_out++;
			continue;
		}
		if (records_get(records, kind, i, &any) < 0)
			run->left_out++;
		else if (!is_message(&any))
			candidate[count++] = (struct candidate){i, cause_of(&any), false};
	}
	/* The store has given up the others for newer ones. */
	run->left_out += end - before - seen;
	return count;
}

/* A turn for each cause, until there is no more room: the newest of each first. */
static void take(struct candidate *candidate, size_t count, size_t room)
{
	for (unsigned int most = 1; room && most <= COLLECT_RECORDS; most *= 2) {
		unsigned int taken[CAUSES] = {0};

		for (size_t i = 0; i < count; i++)
			taken[candidate[i].cause] += candidate[i].taken;
		for (size_t i = 0; i < count && room; i++) {
			if (candidate[i].taken || taken[candidate[i].cause] >= most)
				continue;
			candidate[i].taken = true;
			taken[candidate[i].cause]++;
			room--;
		}
	}
}

int collect_records(struct collect *run, enum record_kind kind)
{
	OWN_FREE struct candidate *candidate = calloc(COLLECT_RECORDS, sizeof(*candidate));
	size_t count, room = run->sources.records_max;
	int r = 0;

	if (!candidate)
		return -ENOMEM;
	count = list(run, kind, candidate);
	take(candidate, count, room);
	/* Oldest first. */
	for (size_t i = count; i-- > 0 && r == 0;) {
		if (candidate[i].taken)
			r = add_record(run, kind, candidate[i].i);
		else
			run->left_out++;
	}
	return r;
}
