/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reading of the live view: the daemon's counters at one moment, and their rates since an earlier reading.  This file
 * asks and calculates; how a reading looks is up to frame.h and view.h.
 */
#ifndef CLI_LIVE_READING_H
#define CLI_LIVE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/live/drop_rates.h"
#include "cli/live/polls.h"
#include "cli/show/buckets.h"

enum reading_packets {
	READING_RECEIVED,
	READING_DELIVERED,
	READING_TRANSMITTED,
	READING_DROPPED,
	READING_FAULTS,
	READING_PACKETS_COUNT,
};

enum reading_segment_id {
	READING_IRQ_TO_SOFTIRQ,
	READING_RAISE_TO_SOFTIRQ,
	READING_SOFTIRQ_TO_RECEIVE,
	READING_GAP_WAIT,
	READING_RECEIVE_TO_SOCK_QUEUE,
	READING_WAKEUP_TO_RUN,
	READING_RUN_TO_COPY,
	READING_RECEIVE_TO_COPY,
	READING_RX_TOTAL,
	READING_RECEIVE_TO_QUEUE,
	READING_FORWARD_TOTAL,
	READING_QUEUE_TO_START,
	READING_START_TO_XMIT,
	READING_XMIT_TO_FREE,
	READING_TX_TOTAL,
	READING_SEGMENTS_COUNT,
};

/* One segment, for all devices of the reading together. */
struct reading_segment {
	struct buckets all;	  /* since the daemon started */
	struct buckets interval;  /* since the earlier reading */
	uint64_t max_ns;	  /* since the daemon started */
	uint64_t interval_max_ns; /* an upper limit: no packet of the interval took longer */
	double per_second;	  /* RATE_UNKNOWN without an earlier reading */
	uint64_t unfollowed;	  /* packets of `all` that are estimated beyond the followed ones */
	bool estimate;		  /* the interval has such packets */
};

struct live_reading {
	json_t *status;	  /* the GetStatus reply */
	int64_t drops_ns; /* CLOCK_MONOTONIC at which each of the other replies arrived */
	int64_t latency_ns;
	int64_t polls_ns;
	double packets_per_second
		[READING_PACKETS_COUNT]; /* RATE_UNKNOWN without an earlier reading */
	bool whole;			 /* every packet of the interval was followed */
	double unseen_percent; /* of the interval's received packets; negative: not known */
	struct drop_rates drops;
	struct reading_segment segments[READING_SEGMENTS_COUNT];
	struct polls polls;
};

struct reading_scope {
	const char *
		device; /* read drops, latency and NAPI of this device only; NULL for all devices */
	int64_t max_age_ms; /* how old the daemon's readings may be */
	int64_t measure_ms; /* measure the cost of the programs for this time; 0 for no measurement */
};

/*
 * Asks the daemon.  Steals `parameters`; the caller owns *reply; `extra_ms` as in session_call().  0 or a negative
 * errno.
 */
typedef int (*reading_ask)(void *data, const char *method, json_t *parameters, int64_t extra_ms,
			   json_t **reply);

/* "rx", "fwd" or "tx", and the segment's identifier, as in the daemon's Latency. */
const char *reading_direction(enum reading_segment_id id);
const char *reading_segment_name(enum reading_segment_id id);

/*
 * Take a reading.  `before` is an earlier reading of the same device, to calculate rates from, or NULL.  0, -ENOMEM, or
 * the error of `ask`.
 */
int reading_new(struct live_reading **reading, const struct live_reading *before, reading_ask ask,
		void *data, const struct reading_scope *scope);
void reading_free(struct live_reading **reading);
#define OWN_READING CLEANUP(reading_free)

#endif
