/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger, and the packets of all devices together. */
#include "common/array.h"
#include "daemon/metrics/internal.h"

struct count {
	enum metrics_family_id family;
	uint64_t value;
};

static void write_counts(struct metrics_text *text, const struct count *count, size_t counts)
{
	for (size_t i = 0; i < counts; i++)
		metrics_one(text, count[i].family, count[i].value);
}

/* The kernel's own numbers; a recording has none. */
static void write_counted(struct metrics_text *text, const struct reading_counters *counters,
			  const struct traffic_list *traffic)
{
	if (counters->host.known) {
		metrics_one(text, METRICS_COUNTED_RECEIVED, counters->host.received);
		metrics_one(text, METRICS_COUNTED_UNSEEN, counters->host.unseen.packets);
	}
	if (traffic->namespaces)
		metrics_one(text, METRICS_COUNTED_SENT, traffic->total[TRAFFIC_TX_PACKETS]);
}

static void write_packets(struct metrics_text *text, const struct reading_counters *counters)
{
	static const char *const skbs[NF_STREAM_COUNT] = {
		[NF_STREAM_DELIVERED] = "delivered",
		[NF_STREAM_MERGED] = "merged",
		[NF_STREAM_UNTRACKED] = "untracked",
	};
	const struct count counts[] = {
		{METRICS_PACKETS_RECEIVED,
		 counters->events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_HIT]},
		{METRICS_PACKETS_DELIVERED,
		 ledger_sum(counters->events, NF_EVENT_DELIVERED) +
			 ledger_sum(counters->events, NF_EVENT_CONSUMED)},
		{METRICS_PACKETS_TRANSMITTED,
		 counters->events[NF_PROBE_NET_DEV_XMIT][NF_EVENT_HIT]},
	};

	write_counts(text, counts, ARRAY_SIZE(counts));
	metrics_family(text, METRICS_TCP_COPIED);
	for (int i = 0; i < NF_STREAM_COUNT; i++) {
		metrics_labels(text, skbs[i]);
		metrics_count(text, counters->streams[i]);
	}
}

static void write_drops(struct metrics_text *text, const struct reading_counters *counters)
{
	uint64_t missed = counters->missed[NF_PROBE_KFREE_SKB];
	struct ledger_drops l;

	ledger_of_drops(&l, counters->events);
	{
		const struct count counts[] = {
			{METRICS_DROPS_CALLS, l.hits + missed},
			{METRICS_DROPS_HITS, l.hits},
			{METRICS_DROPS_COUNTED, l.counted},
			{METRICS_DROPS_UNKEYED, l.unkeyed},
			{METRICS_DROPS_COMPLETED, l.completed},
			{METRICS_DROPS_RECORDED, l.recorded},
			{METRICS_DROPS_THROTTLED, l.throttled},
			{METRICS_DROPS_RING_FULL, l.ring_full},
			{METRICS_DROPS_MISSED, missed},
		};

		write_counts(text, counts, ARRAY_SIZE(counts));
	}
}

static void write_inflight(struct metrics_text *text, const struct reading_counters *counters)
{
	struct ledger_inflight l;

	ledger_of_inflight(&l, counters->events, counters->in_flight.young,
			   counters->in_flight.stale);
	{
		const struct count counts[] = {
			{METRICS_INFLIGHT_BEGUN, l.begun},
			{METRICS_INFLIGHT_DELIVERED, l.delivered},
			{METRICS_INFLIGHT_CONSUMED, l.consumed},
			{METRICS_INFLIGHT_TRANSMITTED, l.transmitted},
			{METRICS_INFLIGHT_FORWARDED, l.forwarded},
			{METRICS_INFLIGHT_DROPPED, l.dropped},
			{METRICS_INFLIGHT_OVERWRITTEN, l.overwritten},
			{METRICS_INFLIGHT_INVALIDATED, l.invalidated},
			{METRICS_INFLIGHT_TORN, l.torn},
			{METRICS_INFLIGHT_MISSED,
			 reading_missed(counters, 0, NF_PROBE_SLOTS_FIRST)},
			{METRICS_INFLIGHT_IN_FLIGHT, l.in_flight},
			{METRICS_INFLIGHT_STALE, l.stale},
		};

		write_counts(text, counts, ARRAY_SIZE(counts));
	}
}

static void write_latency(struct metrics_text *text, const struct reading_counters *counters)
{
	struct ledger_latency l;

	ledger_of_latency(&l, counters->events);
	{
		const struct count counts[] = {
			{METRICS_LATENCY_CHOSEN, l.chosen},
			{METRICS_LATENCY_RECORDED, l.recorded},
			{METRICS_LATENCY_THROTTLED, l.throttled},
			{METRICS_LATENCY_RING_FULL, l.ring_full},
			{METRICS_LATENCY_PASSED, l.passed},
			{METRICS_LATENCY_SLOW_UNSEEN, l.slow_unseen},
		};

		write_counts(text, counts, ARRAY_SIZE(counts));
	}
}

static void write_slots(struct metrics_text *text, const struct reading_counters *counters)
{
	static const enum metrics_family_id families[NF_SLOTS_EVENTS] = {
		[NF_SLOTS_HIT] = METRICS_SLOTS_HITS,
		[NF_SLOTS_COUNTED] = METRICS_SLOTS_COUNTED,
		[NF_SLOTS_UNKEYED] = METRICS_SLOTS_UNKEYED,
		[NF_SLOTS_CHOSEN] = METRICS_SLOTS_CHOSEN,
		[NF_SLOTS_RECORDED] = METRICS_SLOTS_RECORDED,
		[NF_SLOTS_THROTTLED] = METRICS_SLOTS_THROTTLED,
		[NF_SLOTS_RING_FULL] = METRICS_SLOTS_RING_FULL,
		[NF_SLOTS_UNENDED] = METRICS_SLOTS_UNENDED,
	};
	uint64_t missed = reading_missed(counters, NF_PROBE_SLOTS_FIRST, NF_PROBE_COUNT), hits = 0;

	for (int event = 0; event < NF_SLOTS_EVENTS; event++) {
		uint64_t sum = 0;

		for (int probe = 0; probe < NF_SLOTS_PROBES; probe++)
			sum += counters->slots[probe][event];
		metrics_one(text, families[event], sum);
		hits += event == NF_SLOTS_HIT ? sum : 0;
	}
	metrics_one(text, METRICS_SLOTS_MISSED, missed);
	metrics_one(text, METRICS_SLOTS_CALLS, hits + missed);
}

/* Each equation by the newest reading that checked it. */
static void write_equations(struct metrics_text *text, const struct reading_counters *counters,
			    const struct reading_counters *walked)
{
	static const char *const names[READING_EQUATIONS] = {
		[READING_EQUATION_DROPS] = "drops",
		[READING_EQUATION_LATENCY] = "latency",
		[READING_EQUATION_SLOTS] = "slots",
		[READING_EQUATION_INFLIGHT] = "inflight",
	};

	metrics_family(text, METRICS_LEDGER_BALANCED);
	for (int i = 0; i < READING_EQUATIONS; i++) {
		const struct reading_counters *of =
			i == READING_EQUATION_INFLIGHT ? walked : counters;

		metrics_labels(text, names[i]);
		metrics_count(text, of->equation[i].balanced);
	}
	metrics_family(text, METRICS_LEDGER_UNACCOUNTED);
	for (int i = 0; i < READING_EQUATIONS; i++) {
		const struct reading_counters *of =
			i == READING_EQUATION_INFLIGHT ? walked : counters;

		metrics_labels(text, names[i]);
		metrics_count(text, of->equation[i].proven);
	}
}

/*
 * The journeys are those of the reading that walked the in-flight table, which can be older: their equation holds only
 * within one reading.
 */
void metrics_write_ledger(struct metrics_text *text, const struct metrics_snapshot *snapshot)
{
	const struct reading_counters *counters, *walked;

	if (!snapshot->reading[READING_COUNTERS] || !snapshot->reading[READING_LEDGER])
		return;
	counters = reading_counters(snapshot->reading[READING_COUNTERS]);
	walked = reading_counters(snapshot->reading[READING_LEDGER]);
	write_packets(text, counters);
	if (snapshot->reading[READING_TRAFFIC])
		write_counted(text, counters, reading_traffic(snapshot->reading[READING_TRAFFIC]));
	write_drops(text, counters);
	write_inflight(text, walked);
	write_latency(text, counters);
	write_slots(text, counters);
	write_equations(text, counters, walked);
}
