/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What numbers are about.  A series has a kind and a name: the fields that identify it, as they were when it was
 * captured (device, location, unit, container), see series_name.h.  The file has each name once.
 *
 * The loop makes series and keeps them for as long as their keys are in use; batches hold them on their way to the
 * writer, which alone uses `row`.
 */
#ifndef DAEMON_HISTORY_SERIES_H
#define DAEMON_HISTORY_SERIES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/cleanup.h"

struct drop_row;
struct series_name;

/* The numbers are part of the file's format. */
enum history_kind {
	HISTORY_DROPS = 1,   /* drops by key */
	HISTORY_LATENCY = 2, /* a segment, of all devices */
	HISTORY_DEVICE = 3,  /* a segment of one device, or of all others together */
	HISTORY_NAPI = 4,    /* polls of a device on a CPU */
	HISTORY_SOFTIRQ = 5, /* the softirq's wait on a CPU */
	HISTORY_SLOTS = 6,   /* ring slots of a device */
	HISTORY_EVENTS = 7,  /* the ledger: events of a probe */
	HISTORY_SEEN = 8,    /* for how long no journey began to be followed */
	HISTORY_TRAFFIC = 9, /* packets and bytes of a device, as the kernel counted them */
	HISTORY_KIND_END,
};

/* Where the values of a kind are in its vector; index 0 is a maximum, see vector.h. */
enum {
	DROPS_LAST_US,
	DROPS_PACKETS,
	DROPS_SEGMENTS,
	DROPS_BYTES,
	DROPS_UNMEASURED, /* packets whose segments and bytes are not known */
	DROPS_VALUES
};
enum {
	LATENCY_MAX_NS,
	LATENCY_SUM_NS,
	LATENCY_BUCKET,
	/* Both are 0 in an interval in which every journey is followed, and so add up over intervals of both kinds. */
	LATENCY_UNFOLLOWED =
		LATENCY_BUCKET + NF_HIST_BUCKETS, /* the count less the followed journeys */
	LATENCY_VARIANCE,			  /* of the count */
	/* See tie.h. */
	LATENCY_SPREAD, /* what the variance of the weights has more */
	LATENCY_UNSEEN, /* packets for which no weight stands, at most */
	LATENCY_VALUES,
};
enum { NAPI_POLLS = 1, NAPI_PACKETS, NAPI_FULL, NAPI_VALUES };
enum {
	SLOTS_LAST_US,
	SLOTS_NEAR,
	SLOTS_TOO_BIG,
	SLOTS_OVERFLOW,
	SLOTS_BUCKET = SLOTS_OVERFLOW + NF_SLOTS_OUTCOMES,
	SLOTS_VALUES = SLOTS_BUCKET + NF_SLOTS_BUCKETS,
};
enum { EVENTS_FIRST = 1, EVENTS_VALUES = 64 };
enum {
	SEEN_LONGEST_NS,
	SEEN_UNSEEN_NS,
	SEEN_UNSEEN_PACKETS,
	SEEN_MISSABLE, /* the square of reading_missable(): intervals are drawn one by one */
	SEEN_DETACHED, /* these three: see struct reading_unended */
	SEEN_OVERWRITTEN,
	SEEN_MISSED,
	SEEN_VALUES,
};
/* The sums are in the order of enum traffic_value. */
enum { COUNTED_LAST_US, COUNTED_FIRST, COUNTED_VALUES = COUNTED_FIRST + 4 };

/* The values of a kind's vector; 0: there is no such kind. */
size_t history_width(int kind);

struct series {
	atomic_uint holders;
	int kind;
	uint64_t hash;
	/* Of the writer: the row in the file of this generation, 0: not known; and when its use was last noted. */
	int64_t row;
	uint64_t generation;
	int64_t used_s;
	const uint8_t *name; /* `size` bytes */
	size_t size;
	char cause[]; /* of drops: see baseline_key.h; empty: none */
};

/* The histogram in the values of a segment, or of a softirq's wait; its variance is that of its buckets. */
void series_hist(const uint64_t *value, struct nf_hist *hist);

/* The caller holds it.  NULL: no memory. */
struct series *series_new(int kind, const struct series_name *name);
/* Of drops; row->host says whether the cause's device counts. */
struct series *series_new_drops(const struct drop_row *row);
struct series *series_hold(struct series *series);
/* NULL-safe; sets *series to NULL. */
void series_release(struct series **series);
#define OWN_SERIES CLEANUP(series_release)

/* Of a kind and a name.  The file has it. */
uint64_t series_hash(int kind, const void *name, size_t size);

#endif
