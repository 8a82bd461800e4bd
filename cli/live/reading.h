/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the live view shows, gathered: the daemon's counters at one moment, and
 * what came to them since an earlier reading.  Nothing here knows how it will
 * be drawn.
 */
#ifndef CLI_LIVE_READING_H
#define CLI_LIVE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "cli/live/polls.h"
#include "cli/show/buckets.h"

/* A rate without an earlier reading. */
#define READING_NO_RATE (-1.0)

enum reading_packets {
	READING_RECEIVED,
	READING_DELIVERED,
	READING_TRANSMITTED,
	READING_DROPPED,
	READING_PACKETS_COUNT,
};

/* Drops of one reason at one place, all devices and protocols together. */
struct reading_drop {
	char *reason;
	char *location;
	uint64_t packets;
	double per_second;
};

enum reading_segment_id {
	READING_IRQ_TO_SOFTIRQ,
	READING_RAISE_TO_SOFTIRQ,
	READING_SOFTIRQ_TO_RECEIVE,
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

/* One segment, all devices that it is about together. */
struct reading_segment {
	struct buckets all;	  /* since the daemon's start */
	struct buckets interval;  /* since the earlier reading */
	uint64_t max_ns;	  /* since the daemon's start */
	uint64_t interval_max_ns; /* no packet of the interval took longer */
	double per_second;
};

struct reading {
	json_t *status;	  /* an answer of GetStatus */
	int64_t drops_ns; /* when the others were read, CLOCK_MONOTONIC */
	int64_t latency_ns;
	int64_t polls_ns;
	double packets_per_second[READING_PACKETS_COUNT];
	struct reading_drop *drops; /* highest rate first, then most packets */
	size_t drops_count;
	struct reading_segment segments[READING_SEGMENTS_COUNT];
	struct polls polls;
};

/* What is to be read. */
struct reading_scope {
	const char *device; /* drops, latency and NAPI of this one only; NULL for all */
	int64_t measure_ms; /* measure the cost of the programs for that long; 0 does not */
};

/*
 * Asks the daemon: `parameters` is stolen, *reply the caller's; `extra_ms` as
 * in session_call().  0 or a negative errno.
 */
typedef int (*reading_ask)(void *data, const char *method, json_t *parameters, int64_t extra_ms,
			   json_t **reply);

/* "rx", "fwd" or "tx", and the segment's identifier, as in the daemon's Latency. */
const char *reading_direction(enum reading_segment_id id);
const char *reading_segment_name(enum reading_segment_id id);

/*
 * Ask for everything, and compare with `before` (NULL for none), which had the
 * same device.  0; or what `ask` returned, or -ENOMEM.
 */
int reading_new(struct reading **reading, const struct reading *before, reading_ask ask, void *data,
		const struct reading_scope *scope);
void reading_free(struct reading **reading);
#define OWN_READING CLEANUP(reading_free)

#endif
