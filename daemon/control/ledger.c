/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledgers as the methods report them. */
#include "daemon/control/internal.h"

/* The runs that the kernel skipped, of the probes from `first` to before `end`, without kfree_skb. */
static uint64_t missed(const struct reading_counters *counters, int first, int end)
{
	uint64_t sum = 0;

	for (int i = first; i < end; i++)
		if (i != NF_PROBE_KFREE_SKB)
			sum += counters->missed[i];
	return sum;
}

/* Add what the reading says about an equation to `ledger`, which is returned. */
static json_t *add_balance(json_t *ledger, const struct reading_counters *counters,
			   enum reading_equation equation)
{
	json_object_set_new(ledger, "moved",
			    json_integer((json_int_t)counters->equation[equation].moved));
	json_object_set_new(ledger, "balanced",
			    json_boolean(counters->equation[equation].balanced));
	return ledger;
}

json_t *control_drops_ledger(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	struct ledger_drops l;

	ledger_of_drops(&l, counters->events);
	return add_balance(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hits",
				     (json_int_t)l.hits, "counted", (json_int_t)l.counted,
				     "unkeyed", (json_int_t)l.unkeyed, "completed",
				     (json_int_t)l.completed, "recorded", (json_int_t)l.recorded,
				     "throttled", (json_int_t)l.throttled, "ring_full",
				     (json_int_t)l.ring_full, "missed",
				     (json_int_t)counters->missed[NF_PROBE_KFREE_SKB]),
			   counters, READING_EQUATION_DROPS);
}

json_t *control_inflight_ledger(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	struct ledger_inflight l;

	ledger_of_inflight(&l, counters->events, counters->in_flight.young,
			   counters->in_flight.stale);
	return add_balance(
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			  "begun", (json_int_t)l.begun, "delivered", (json_int_t)l.delivered,
			  "consumed", (json_int_t)l.consumed, "transmitted",
			  (json_int_t)l.transmitted, "forwarded", (json_int_t)l.forwarded,
			  "dropped", (json_int_t)l.dropped, "overwritten",
			  (json_int_t)l.overwritten, "invalidated", (json_int_t)l.invalidated,
			  "torn", (json_int_t)l.torn, "in_flight", (json_int_t)l.in_flight, "stale",
			  (json_int_t)l.stale, "unaccounted", (json_int_t)l.unaccounted, "missed",
			  (json_int_t)missed(counters, 0, NF_PROBE_SLOTS_FIRST)),
		counters, READING_EQUATION_INFLIGHT);
}

json_t *control_latency_ledger(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	struct ledger_latency l;

	ledger_of_latency(&l, counters->events);
	return add_balance(json_pack("{s:I, s:I, s:I, s:I}", "chosen", (json_int_t)l.chosen,
				     "recorded", (json_int_t)l.recorded, "throttled",
				     (json_int_t)l.throttled, "ring_full", (json_int_t)l.ring_full),
			   counters, READING_EQUATION_LATENCY);
}

json_t *control_slots_ledger(const struct reading *reading)
{
	const struct reading_counters *counters = reading_counters(reading);
	uint64_t sum[NF_SLOTS_EVENTS] = {0};

	for (int i = 0; i < NF_SLOTS_PROBES; i++)
		for (int j = 0; j < NF_SLOTS_EVENTS; j++)
			sum[j] += counters->slots[i][j];
	return add_balance(
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "hits",
			  (json_int_t)sum[NF_SLOTS_HIT], "counted",
			  (json_int_t)sum[NF_SLOTS_COUNTED], "unkeyed",
			  (json_int_t)sum[NF_SLOTS_UNKEYED], "chosen",
			  (json_int_t)sum[NF_SLOTS_CHOSEN], "recorded",
			  (json_int_t)sum[NF_SLOTS_RECORDED], "throttled",
			  (json_int_t)sum[NF_SLOTS_THROTTLED], "ring_full",
			  (json_int_t)sum[NF_SLOTS_RING_FULL], "unended",
			  (json_int_t)sum[NF_SLOTS_UNENDED], "missed",
			  (json_int_t)missed(counters, NF_PROBE_SLOTS_FIRST, NF_PROBE_COUNT)),
		counters, READING_EQUATION_SLOTS);
}
