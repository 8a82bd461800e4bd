/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records on their way from the thread that reads them out of a file to the one that visits them, in their order.  The
 * memory is bounded: a reader that is ahead waits.
 */
#ifndef DAEMON_PROBE_REPLAY_BATCHES_H
#define DAEMON_PROBE_REPLAY_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "daemon/probe/replay/recording.h"

struct batches;

struct batches_record {
	uint64_t time_ns;
	uint32_t cpu;
	bool after_loss;  /* events of this CPU were lost before it */
	uint64_t lost;	  /* how many; 0: not known */
	size_t size;	  /* bytes of data */
	const void *data; /* aligned for a number of 64 bits; valid during the visit */
};

/* -ENOMEM.  Free with batches_free, after both threads are done with it. */
int batches_new(struct batches **batches);
void batches_free(struct batches **batches);
#define OWN_BATCHES CLEANUP(batches_free)

/* Of the thread that reads: add a copy of a record.  -ECANCELED: the visits have ended; -EFBIG: it is larger than any
 * page of a trace. */
int batches_add(struct batches *batches, const struct batches_record *record);
/* Of the thread that reads: there are no more. */
void batches_end(struct batches *batches);

/* Of the thread that visits: visit all records up to the end.  What a visit returns that is not 0 ends it, and is
 * returned. */
int batches_visit(struct batches *batches, const struct recording_visitor *visitor);

#endif
