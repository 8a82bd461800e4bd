/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened since the last interval was collected: the differences of two readings, as a batch.  A reading only
 * grows, except where keys fold and devices lose their slot; sums by reason, location and segment stay exact there too.
 *
 * It runs in the loop, in slices of COLLECT_SLICE_NS, between which records are taken from the ring buffer.
 */
#ifndef DAEMON_HISTORY_COLLECT_H
#define DAEMON_HISTORY_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/coverage.h"
#include "daemon/history/names.h"

struct batch;
struct collector;
struct loop;
struct readings;

#define COLLECT_SLICE_NS UINT64_C(1000000)

/* Devices with rows of their own in one interval, the busiest; all others have one together. */
#define COLLECT_DEVICES 256

/* The same for packets and bytes as the kernel counts them. */
#define COLLECT_TRAFFIC 1024

/* Newest records of a kind that are looked at in one interval. */
#define COLLECT_RECORDS 1024

struct collect_unseen {
	uint64_t all_ns, longest_ns;
};

struct collector_parts {
	struct loop *loop;
	struct readings *readings;
	struct series_sources sources;
	uint64_t records; /* of a kind that an interval keeps */
	/* What can be seen now, which the collector clears.  -ENOMEM, and it is empty. */
	int (*coverage)(struct coverage *coverage, void *userdata);
	/* Whether the host's clock was stepped since the last call. */
	bool (*stepped)(void *userdata);
	/* For how much of the time since then, CLOCK_MONOTONIC, no journey began to be followed. */
	struct collect_unseen (*unseen)(uint64_t from_ns, void *userdata);
	void *userdata;
};

/* All parts must outlive the collector.  -ENOMEM or another negative errno. */
int collector_new(struct collector **collector, const struct collector_parts *parts);
/* Jobs that were not answered are dropped. */
void collector_free(struct collector **collector);

/*
 * Collect what came since the last interval.  `keep`: begin the next interval here; otherwise the interval goes on, and
 * the batch has more records.  `done` gets a batch, which is its own then, or NULL and a negative errno.  -EBUSY: as
 * many jobs wait as can.
 */
typedef void (*collected)(int result, struct batch *batch, void *userdata);
int collector_start(struct collector *collector, bool keep, collected done, void *userdata);
/* The answer is no longer wanted; does nothing if there is no such job. */
void collector_forget(struct collector *collector, const void *userdata);

/* The same at once, for the end of the daemon.  NULL: no memory, or a job is under way. */
struct batch *collector_finish(struct collector *collector);

/*
 * What can be seen has changed at `time_ns`, CLOCK_MONOTONIC: the interval has the coverage of now, too.  `blind`: from
 * then on no probe runs; otherwise they run again.
 */
void collector_note(struct collector *collector, bool blind, uint64_t time_ns);

/* A record of an alert, JSON text, which the collector takes; `rule` is set if it fired. */
void collector_add_alert(struct collector *collector, int64_t time_us, char *text, char *rule);

void collector_set_records(struct collector *collector, uint64_t records);

/* Records and events that were not put into a batch, because there were more than it keeps. */
uint64_t collector_left_out(const struct collector *collector);

#endif
