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
	uint64_t in_flight;
	int64_t unaccounted; /* begun minus journeys that ended or are in flight; 0: balanced */
};

/* Latency records: chosen = recorded + throttled + ring_full. */
struct ledger_latency {
	uint64_t chosen, recorded, throttled, ring_full;
};

/* The count of one event, summed over all programs. */
uint64_t ledger_sum(ledger_events events, enum nf_event event);

void ledger_of_drops(struct ledger_drops *ledger, ledger_events events);
void ledger_of_latency(struct ledger_latency *ledger, ledger_events events);
void ledger_of_inflight(struct ledger_inflight *ledger, ledger_events events, uint64_t in_flight);

/* Whether any event was counted between two readings. */
bool ledger_moved(ledger_events before, ledger_events after);

#endif
