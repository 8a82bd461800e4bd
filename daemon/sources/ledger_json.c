/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/ledger_json.h"

#include "common/json.h"
#include "daemon/core/ledger.h"
#include "daemon/store/reading.h"

/* Add what the reading says about an equation to `ledger`, which is returned. */
static json_t *add_balance(json_t *ledger, const struct reading_counters *counters,
			   enum reading_equation equation)
{
	json_object_set_new(ledger, "moved",
			    json_integer(json_count(counters->equation[equation].moved)));
	json_object_set_new(ledger, "balanced",
			    json_boolean(counters->equation[equation].balanced));
	return ledger;
}

json_t *ledger_drops_json(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	uint64_t missed = counters->missed[NF_PROBE_KFREE_SKB];
	struct ledger_drops l;

	ledger_of_drops(&l, counters->events);
	return add_balance(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "calls",
				     json_count(l.hits + missed), "hits", json_count(l.hits),
				     "counted", json_count(l.counted), "unkeyed",
				     json_count(l.unkeyed), "completed", json_count(l.completed),
				     "recorded", json_count(l.recorded), "throttled",
				     json_count(l.throttled), "ring_full", json_count(l.ring_full),
				     "missed", json_count(missed)),
			   counters, READING_EQUATION_DROPS);
}

json_t *ledger_inflight_json(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	struct ledger_inflight l;

	ledger_of_inflight(&l, counters->events, counters->in_flight.young,
			   counters->in_flight.stale);
	return add_balance(
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "begun", json_count(l.begun), "delivered", json_count(l.delivered),
			  "consumed", json_count(l.consumed), "transmitted",
			  json_count(l.transmitted), "forwarded", json_count(l.forwarded),
			  "dropped", json_count(l.dropped), "overwritten",
			  json_count(l.overwritten), "invalidated", json_count(l.invalidated),
			  "torn", json_count(l.torn), "in_flight", json_count(l.in_flight), "stale",
			  json_count(l.stale), "unaccounted", (json_int_t)l.unaccounted, "missed",
			  json_count(reading_missed(counters, 0, NF_PROBE_SLOTS_FIRST))),
		counters, READING_EQUATION_INFLIGHT);
}

json_t *ledger_latency_json(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	struct ledger_latency l;
	json_t *ledger;

	ledger_of_latency(&l, counters->events);
	ledger = json_pack("{s:I, s:I, s:I, s:I}", "chosen", json_count(l.chosen), "recorded",
			   json_count(l.recorded), "throttled", json_count(l.throttled),
			   "ring_full", json_count(l.ring_full));
	if (l.passed) {
		json_object_set_new(ledger, "passed", json_integer(json_count(l.passed)));
		json_object_set_new(ledger, "most_drawn",
				    json_integer(json_count(counters->most_drawn)));
	}
	if (l.slow_unseen)
		json_object_set_new(ledger, "slow_unseen", json_integer(json_count(l.slow_unseen)));
	return add_balance(ledger, counters, READING_EQUATION_LATENCY);
}

json_t *ledger_slots_json(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	uint64_t missed = reading_missed(counters, NF_PROBE_SLOTS_FIRST, NF_PROBE_COUNT);
	uint64_t sum[NF_SLOTS_EVENTS] = {0};

	for (int i = 0; i < NF_SLOTS_PROBES; i++)
		for (int j = 0; j < NF_SLOTS_EVENTS; j++)
			sum[j] += counters->slots[i][j];
	return add_balance(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "calls",
				     json_count(sum[NF_SLOTS_HIT] + missed), "hits",
				     json_count(sum[NF_SLOTS_HIT]), "counted",
				     json_count(sum[NF_SLOTS_COUNTED]), "unkeyed",
				     json_count(sum[NF_SLOTS_UNKEYED]), "chosen",
				     json_count(sum[NF_SLOTS_CHOSEN]), "recorded",
				     json_count(sum[NF_SLOTS_RECORDED]), "throttled",
				     json_count(sum[NF_SLOTS_THROTTLED]), "ring_full",
				     json_count(sum[NF_SLOTS_RING_FULL]), "unended",
				     json_count(sum[NF_SLOTS_UNENDED]), "missed",
				     json_count(missed)),
			   counters, READING_EQUATION_SLOTS);
}
