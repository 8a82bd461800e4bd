/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One collection: collect.c starts and ends it; collect_run.c, collect_drops.c and collect_records.c do it. */
#ifndef DAEMON_HISTORY_COLLECT_INTERNAL_H
#define DAEMON_HISTORY_COLLECT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/core/keymap.h"
#include "daemon/history/collect.h"
#include "daemon/history/names.h"
#include "daemon/history/vector.h"
#include "daemon/store/reading.h"
#include "daemon/store/readings.h"
#include "daemon/store/records.h"

/* Where the interval began. */
/* What an interval is made of. */
#define COLLECT_PARTS                                                                            \
	(READING_BIT(COUNTERS) | READING_BIT(DROPS) | READING_BIT(DEVICES) | READING_BIT(NAPI) | \
	 READING_BIT(SLOTS) | READING_BIT(TRAFFIC))

struct collect_base {
	const struct reading *reading[READING_PARTS]; /* NULL: zeros */
	int64_t time_us;			      /* since 1970 */
	int64_t clock_us;			      /* the same clock less CLOCK_BOOTTIME */
	uint64_t time_ns;			      /* CLOCK_MONOTONIC */
	uint64_t records[RECORDS_KINDS];	      /* that came before, see records_added() */
};

/* All must outlive the collection. */
struct collect_sources {
	const struct collect_base *base;
	struct readings *readings;
	struct series_names *names;
	struct records *records;
	uint64_t records_max; /* of each kind */
	bool stepped; /* the host's clock was stepped since the base, or the host was suspended */
	int64_t boot; /* of the host */
	struct collect_unseen unseen;
};

/* The drops of a reason and location, of whatever key. */
struct collect_total {
	uint64_t before[3], now[3], own[3]; /* packets, segments, bytes */
	uint64_t last_ns;
};

struct collect {
	struct collect_sources sources;
	const struct reading *reading[READING_PARTS];
	struct batch *batch;
	uint64_t time_ns;
	int64_t time_us;  /* since 1970, where the next interval begins */
	int64_t clock_us; /* this clock less CLOCK_BOOTTIME */
	uint64_t records[RECORDS_KINDS];
	int step;  /* which part is at work */
	size_t at; /* its next row */
	uint64_t left_out;
	struct keymap base_rows;     /* of the part at work: its rows in the base */
	struct keymap totals;	     /* drops: reason and location */
	struct collect_total *total; /* by number in `totals` */
	size_t totals_room;
	size_t *device; /* devices: the rows of the busiest */
	size_t devices;
	uint64_t (*own)[VECTOR_MAX]; /* devices: by segment, what has rows of its own, as drawn */
	int64_t (*tied)[VECTOR_MAX]; /* and what these rows have more, see tie.h */
};

/* -ENOMEM.  The readings are the newest ones.  Free with collect_free(). */
int collect_new(struct collect **run, const struct collect_sources *sources);
void collect_free(struct collect **run);

/* Go on until the deadline.  0: it is complete; 1: call this again; or a negative errno. */
int collect_step(struct collect *run, uint64_t deadline_ns);

struct batch *collect_batch(const struct collect *run);
struct batch *collect_take(struct collect *run);
const struct reading *collect_reading(const struct collect *run, int part);
uint64_t collect_time(const struct collect *run);
/* The records that came before the end. */
uint64_t collect_records_end(const struct collect *run, enum record_kind kind);
/* Where the next interval begins: in us since 1970. */
int64_t collect_end(const struct collect *run);
/* The clock that says so less CLOCK_BOOTTIME. */
int64_t collect_clock(const struct collect *run);
uint64_t collect_left_out(const struct collect *run);

/* ---- the parts: as collect_step() ------------------------------------------------ */

int collect_drops(struct collect *run, uint64_t deadline_ns);
int collect_devices(struct collect *run, uint64_t deadline_ns);
int collect_traffic(struct collect *run);
int collect_segments(struct collect *run);
int collect_records(struct collect *run, enum record_kind kind);

/* The growth of a counter that only grows, unless its row was given to another. */
static inline uint64_t collect_growth(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

/* The difference of two histograms as a vector. */
void collect_hist(const struct nf_hist *before, const struct nf_hist *now, uint64_t *value);

/*
 * The packets that the kernel counted as received by a device, in the interval, and since it is counted; false: it is
 * not known.
 */
bool collect_received(const struct collect *run, const struct backend_device *device,
		      uint64_t *packets, uint64_t *all);

/* Note the key of the next row of the base; of rows with one key, the first one counts.  -ENOMEM. */
int collect_note(struct collect *run, const struct keymap_key *key, size_t row);

/* The number of a row of the base with this key; false: it is new. */
bool collect_find(const struct collect *run, const struct keymap_key *key, size_t *row);

#endif
