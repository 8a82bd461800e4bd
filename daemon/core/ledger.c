/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/ledger.h"

#include <string.h>

uint64_t ledger_sum(ledger_events events, enum nf_event event)
{
	uint64_t sum = 0;

	for (int probe = 0; probe < NF_PROBE_COUNT; probe++)
		sum += events[probe][event];
	return sum;
}

void ledger_of_drops(struct ledger_drops *ledger, ledger_events events)
{
	const uint64_t *row = events[NF_PROBE_KFREE_SKB];

	*ledger = (struct ledger_drops){
		.hits = row[NF_EVENT_HIT],
		.counted = row[NF_EVENT_COUNTED],
		.unkeyed = row[NF_EVENT_UNKEYED],
		.completed = row[NF_EVENT_COMPLETED],
		.recorded = row[NF_EVENT_DROP_RECORDED],
		.throttled = row[NF_EVENT_DROP_THROTTLED],
		.ring_full = row[NF_EVENT_DROP_RING_FULL],
	};
	ledger->balanced = ledger->hits == ledger->counted + ledger->unkeyed + ledger->completed &&
			   ledger->hits == ledger->recorded + ledger->throttled +
						   ledger->ring_full + ledger->completed;
}

void ledger_of_latency(struct ledger_latency *ledger, ledger_events events)
{
	*ledger = (struct ledger_latency){
		.chosen = ledger_sum(events, NF_EVENT_CHOSEN),
		.recorded = ledger_sum(events, NF_EVENT_RECORDED),
		.throttled = ledger_sum(events, NF_EVENT_THROTTLED),
		.ring_full = ledger_sum(events, NF_EVENT_RING_FULL),
	};
}

void ledger_of_inflight(struct ledger_inflight *ledger, ledger_events events, uint64_t in_flight)
{
	*ledger = (struct ledger_inflight){
		.begun = ledger_sum(events, NF_EVENT_BEGUN),
		.consumed = ledger_sum(events, NF_EVENT_CONSUMED),
		.transmitted = ledger_sum(events, NF_EVENT_TRANSMITTED),
		.forwarded = ledger_sum(events, NF_EVENT_FORWARDED),
		.dropped = ledger_sum(events, NF_EVENT_DROPPED),
		.overwritten = ledger_sum(events, NF_EVENT_OVERWRITTEN),
		.invalidated = ledger_sum(events, NF_EVENT_INVALIDATED),
		.torn = ledger_sum(events, NF_EVENT_TORN),
		.in_flight = in_flight,
	};
	ledger->delivered = ledger_sum(events, NF_EVENT_DELIVERED) + ledger->consumed;
	ledger->unaccounted = (int64_t)(ledger->begun - ledger->delivered - ledger->transmitted -
					ledger->forwarded - ledger->dropped - ledger->overwritten -
					ledger->invalidated - ledger->in_flight);
}

bool ledger_moved(ledger_events before, ledger_events after)
{
	return memcmp(before, after, sizeof(ledger_events)) != 0;
}
