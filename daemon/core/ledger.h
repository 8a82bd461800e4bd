/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger: netflowd recorded every event that it saw, or counts it under the reason why it did not.  Pure arithmetic
 * on the event counters of the programs.
 */
#ifndef DAEMON_CORE_LEDGER_H
#define DAEMON_CORE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"

typedef uint64_t ledger_events[NF_PROBE_COUNT][NF_EVENT_COUNT];

struct ledger_drops {
	uint64_t hits, counted, unkeyed, recorded, throttled, ring_full;
	uint64_t completed; /* kfree_skb of completed transmits, which are not drops */
	/* hits - completed = counted + unkeyed = recorded + throttled + ring_full */
	bool balanced;
};

struct ledger_inflight {
	uint64_t begun;
	uint64_t delivered; /* includes consumed */
	uint64_t consumed, transmitted, forwarded, dropped, overwritten, invalidated, torn;
	uint64_t in_flight, stale; /* as counted by a walk of the in-flight table */
	int64_t unaccounted; /* begun less journeys that ended, are in flight or stale; 0: balanced */
};

/* Latency records: chosen = recorded + throttled + ring_full. */
struct ledger_latency {
	uint64_t chosen, recorded, throttled, ring_full;
	/* Not part of the equation: first stages not followed, and slow journeys expected among them. */
	uint64_t passed, slow_unseen;
};

/* The count of one event, summed over all programs. */
uint64_t ledger_sum(const ledger_events events, enum nf_event event);

void ledger_of_drops(struct ledger_drops *ledger, const ledger_events events);
void ledger_of_latency(struct ledger_latency *ledger, const ledger_events events);
void ledger_of_inflight(struct ledger_inflight *ledger, const ledger_events events,
			uint64_t in_flight, uint64_t stale);

/*
 * How many of these events were counted between two readings.  Each of them can put the equation of the ledger off by
 * 1 while it is read.
 */
uint64_t ledger_moved_drops(const ledger_events before, const ledger_events after);
uint64_t ledger_moved_latency(const ledger_events before, const ledger_events after);
uint64_t ledger_moved_inflight(const ledger_events before, const ledger_events after);

/* What the left side of an equation has more than the right side; of two equations the one that is further off. */
int64_t ledger_drops_off(const struct ledger_drops *ledger);
int64_t ledger_latency_off(const struct ledger_latency *ledger);

/*
 * One equation over several readings.  Zeros: no reading yet.
 *
 * A reading proves that an equation does not hold if it is further off than events moved during the reading, plus a few
 * programs on each CPU that can be between their two steps.  A smaller imbalance counts if it stays: a program is
 * between its steps for as long as its virtual CPU does not run, but not for LEDGER_STAYS_NS.
 */
struct ledger_watch {
	uint64_t proven; /* at least this many events are not accounted for */
	/* Readings in a row that were off, by at least `least` and in the same direction. */
	unsigned int readings;
	bool negative;
	uint64_t least, since_ns;
};

#define LEDGER_PER_CPU 4
#define LEDGER_STAYS 3
#define LEDGER_STAYS_NS UINT64_C(2000000000)

/* Add a reading and return whether the equation holds, as far as the readings show. */
bool ledger_watch_add(struct ledger_watch *watch, uint64_t now_ns, int64_t off, uint64_t moved,
		      uint32_t cpus);

#endif
