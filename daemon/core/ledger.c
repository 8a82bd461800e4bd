/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/ledger.h"

#include <stdlib.h>

uint64_t ledger_sum(const ledger_events events, enum nf_event event)
{
	uint64_t sum = 0;

	for (int probe = 0; probe < NF_PROBE_COUNT; probe++)
		sum += events[probe][event];
	return sum;
}

void ledger_of_drops(struct ledger_drops *ledger, const ledger_events events)
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

void ledger_of_latency(struct ledger_latency *ledger, const ledger_events events)
{
	*ledger = (struct ledger_latency){
		.chosen = ledger_sum(events, NF_EVENT_CHOSEN),
		.recorded = ledger_sum(events, NF_EVENT_RECORDED),
		.throttled = ledger_sum(events, NF_EVENT_THROTTLED),
		.ring_full = ledger_sum(events, NF_EVENT_RING_FULL),
		.passed = ledger_sum(events, NF_EVENT_PASSED),
		.slow_unseen = ledger_sum(events, NF_EVENT_SLOW_UNSEEN),
	};
}

void ledger_of_inflight(struct ledger_inflight *ledger, const ledger_events events,
			uint64_t in_flight, uint64_t stale)
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
		.stale = stale,
	};
	ledger->delivered = ledger_sum(events, NF_EVENT_DELIVERED) + ledger->consumed;
	ledger->unaccounted = (int64_t)(ledger->begun - ledger->delivered - ledger->transmitted -
					ledger->forwarded - ledger->dropped - ledger->overwritten -
					ledger->invalidated - ledger->in_flight - ledger->stale);
}

/* ---- while things move --------------------------------------------------- */

#define BIT(event) (UINT32_C(1) << NF_EVENT_##event)

static uint64_t moved(const ledger_events before, const ledger_events after, uint32_t which)
{
	uint64_t sum = 0;

	for (int probe = 0; probe < NF_PROBE_COUNT; probe++)
		for (int event = 0; event < NF_EVENT_COUNT; event++)
			if (which & UINT32_C(1) << event)
				sum += after[probe][event] - before[probe][event];
	return sum;
}

uint64_t ledger_moved_drops(const ledger_events before, const ledger_events after)
{
	return after[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] - before[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] +
	       moved(before, after,
		     BIT(COUNTED) | BIT(UNKEYED) | BIT(COMPLETED) | BIT(DROP_RECORDED) |
			     BIT(DROP_THROTTLED) | BIT(DROP_RING_FULL));
}

uint64_t ledger_moved_latency(const ledger_events before, const ledger_events after)
{
	return moved(before, after, BIT(CHOSEN) | BIT(RECORDED) | BIT(THROTTLED) | BIT(RING_FULL));
}

uint64_t ledger_moved_inflight(const ledger_events before, const ledger_events after)
{
	return moved(before, after,
		     BIT(BEGUN) | BIT(DELIVERED) | BIT(CONSUMED) | BIT(TRANSMITTED) |
			     BIT(FORWARDED) | BIT(DROPPED) | BIT(OVERWRITTEN) | BIT(INVALIDATED));
}

int64_t ledger_drops_off(const struct ledger_drops *ledger)
{
	int64_t keys =
		(int64_t)(ledger->hits - ledger->counted - ledger->unkeyed - ledger->completed);
	int64_t records = (int64_t)(ledger->hits - ledger->recorded - ledger->throttled -
				    ledger->ring_full - ledger->completed);

	return llabs(keys) > llabs(records) ? keys : records;
}

int64_t ledger_latency_off(const struct ledger_latency *ledger)
{
	return (int64_t)(ledger->chosen - ledger->recorded - ledger->throttled - ledger->ring_full);
}

/* Count readings in a row that are off by more than what moved. */
static void add_to_row(struct ledger_watch *watch, uint64_t now_ns, bool negative, uint64_t excess)
{
	if (!excess || (watch->readings && negative != watch->negative))
		watch->readings = 0;
	if (!excess)
		return;
	if (!watch->readings) {
		watch->since_ns = now_ns;
		watch->least = excess;
		watch->negative = negative;
	}
	watch->readings++;
	if (excess < watch->least)
		watch->least = excess;
}

bool ledger_watch_add(struct ledger_watch *watch, uint64_t now_ns, int64_t off, uint64_t moved_by,
		      uint32_t cpus)
{
	uint64_t size = (uint64_t)llabs(off), between = (uint64_t)cpus * LEDGER_PER_CPU;
	uint64_t excess = size > moved_by ? size - moved_by : 0;

	/* No more than this can be missing: an earlier reading that showed more was wrong. */
	if (watch->proven > size + moved_by)
		watch->proven = size + moved_by;
	add_to_row(watch, now_ns, off < 0, excess);
	if (excess > between && excess - between > watch->proven)
		watch->proven = excess - between;
	if (watch->readings >= LEDGER_STAYS && now_ns - watch->since_ns >= LEDGER_STAYS_NS &&
	    watch->least > watch->proven)
		watch->proven = watch->least;
	return !watch->proven;
}
