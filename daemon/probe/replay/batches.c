/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/replay/batches.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that the threads rarely wait for each other, and small enough for a CPU's cache. */
#define BATCHES 4
#define BATCH_BYTES ((size_t)256 << 10)
#define ALIGNMENT sizeof(uint64_t)

struct batch {
	size_t used;
	_Alignas(uint64_t) unsigned char bytes[BATCH_BYTES];
};

struct batches {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* How many were filled and visited since the beginning; batch[filled % BATCHES] is the reader's. */
	unsigned int filled, visited;
	bool ended, cancelled;
	struct batch batch[BATCHES];
};

int batches_new(struct batches **batches)
{
	struct batches *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	pthread_mutex_init(&fresh->lock, NULL);
	pthread_cond_init(&fresh->changed, NULL);
	*batches = fresh;
	return 0;
}

void batches_free(struct batches **batches)
{
	struct batches *old = *batches;

	if (!old)
		return;
	pthread_cond_destroy(&old->changed);
	pthread_mutex_destroy(&old->lock);
	free(old);
	*batches = NULL;
}

/* In a batch, with its data. */
static size_t bytes_of(const struct batches_record *record)
{
	return (sizeof(*record) + record->size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

/* ---- the thread that reads ---------------------------------------------------------------- */

/* Hand the filled batch over, and wait for an empty one. */
static int hand_over(struct batches *batches)
{
	int r;

	pthread_mutex_lock(&batches->lock);
	batches->filled++;
	pthread_cond_signal(&batches->changed);
	while (batches->filled - batches->visited == BATCHES && !batches->cancelled)
		pthread_cond_wait(&batches->changed, &batches->lock);
	r = batches->cancelled ? -ECANCELED : 0;
	pthread_mutex_unlock(&batches->lock);
	if (r == 0)
		batches->batch[batches->filled % BATCHES].used = 0;
	return r;
}

int batches_add(struct batches *batches, const struct batches_record *record)
{
	size_t need = bytes_of(record);
	struct batch *batch = &batches->batch[batches->filled % BATCHES];

	if (record->size > BATCH_BYTES / 2)
		return -EFBIG;
	if (need > BATCH_BYTES - batch->used) {
		int r = hand_over(batches);

		if (r < 0)
			return r;
		batch = &batches->batch[batches->filled % BATCHES];
	}
	memcpy(batch->bytes + batch->used, record, sizeof(*record));
	memcpy(batch->bytes + batch->used + sizeof(*record), record->data, record->size);
	batch->used += need;
	return 0;
}

void batches_end(struct batches *batches)
{
	(void)hand_over(batches);
	pthread_mutex_lock(&batches->lock);
	batches->ended = true;
	pthread_cond_signal(&batches->changed);
	pthread_mutex_unlock(&batches->lock);
}

/* ---- the thread that visits --------------------------------------------------------------- */

/* The next filled batch; NULL: there are no more. */
static const struct batch *wait_filled(struct batches *batches)
{
	const struct batch *batch = NULL;

	pthread_mutex_lock(&batches->lock);
	while (batches->filled == batches->visited && !batches->ended)
		pthread_cond_wait(&batches->changed, &batches->lock);
	if (batches->filled != batches->visited)
		batch = &batches->batch[batches->visited % BATCHES];
	pthread_mutex_unlock(&batches->lock);
	return batch;
}

static void hand_back(struct batches *batches, bool cancel)
{
	pthread_mutex_lock(&batches->lock);
	batches->visited++;
	batches->cancelled = cancel;
	pthread_cond_signal(&batches->changed);
	pthread_mutex_unlock(&batches->lock);
}

static int visit_record(const struct batches_record *record,
			const struct recording_visitor *visitor)
{
	if (record->after_loss)
		visitor->lost(visitor->userdata, record->cpu, record->lost);
	return visitor->record(visitor->userdata, record->cpu, record->time_ns, record->data,
			       record->size);
}

static int visit_batch(const struct batch *batch, const struct recording_visitor *visitor)
{
	int r = 0;

	for (size_t at = 0; at < batch->used && r == 0;) {
		struct batches_record record;

		memcpy(&record, batch->bytes + at, sizeof(record));
		record.data = batch->bytes + at + sizeof(record);
		r = visit_record(&record, visitor);
		at += bytes_of(&record);
	}
	return r;
}

int batches_visit(struct batches *batches, const struct recording_visitor *visitor)
{
	const struct batch *batch;
	int r = 0;

	while (r == 0 && (batch = wait_filled(batches))) {
		r = visit_batch(batch, visitor);
		hand_back(batches, r != 0);
	}
	return r;
}
