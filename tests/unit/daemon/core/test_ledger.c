/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "daemon/core/ledger.h"
#include "tests/unit/test.h"

TEST(test_drops_balance)
{
	ledger_events events = {0};
	struct ledger_drops ledger;
	uint64_t *row = events[NF_PROBE_KFREE_SKB];

	row[NF_EVENT_HIT] = 100;
	row[NF_EVENT_COUNTED] = 90;
	row[NF_EVENT_UNKEYED] = 10;
	row[NF_EVENT_DROP_RECORDED] = 5;
	row[NF_EVENT_DROP_THROTTLED] = 94;
	row[NF_EVENT_DROP_RING_FULL] = 1;
	ledger_of_drops(&ledger, events);
	assert_true(ledger.balanced);
	row[NF_EVENT_DROP_RING_FULL] = 0;
	ledger_of_drops(&ledger, events);
	assert_false(ledger.balanced);
	row[NF_EVENT_DROP_RING_FULL] = 1;
	row[NF_EVENT_COUNTED] = 91;
	ledger_of_drops(&ledger, events);
	assert_false(ledger.balanced);
}

TEST(test_completed_transmits_are_no_drops)
{
	ledger_events events = {0};
	struct ledger_drops ledger;
	uint64_t *row = events[NF_PROBE_KFREE_SKB];

	row[NF_EVENT_HIT] = 43;
	row[NF_EVENT_COUNTED] = 3;
	row[NF_EVENT_DROP_RECORDED] = 3;
	ledger_of_drops(&ledger, events);
	assert_false(ledger.balanced);
	row[NF_EVENT_COMPLETED] = 40;
	ledger_of_drops(&ledger, events);
	assert_true(ledger.balanced);
	assert_int_equal(ledger.completed, 40);
}

TEST(test_inflight_adds_up_over_programs)
{
	ledger_events events = {0};
	struct ledger_inflight ledger;

	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_BEGUN] = 1000;
	events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_BEGUN] = 900;
	events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_TRANSMITTED] = 890;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_CONSUMED] = 10;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_DELIVERED] = 20;
	events[NF_PROBE_SKB_COPY_DATAGRAM_IOVEC][NF_EVENT_DELIVERED] = 800;
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_FORWARDED] = 40;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROPPED] = 30;
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_OVERWRITTEN] = 60;
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_INVALIDATED] = 45;
	ledger_of_inflight(&ledger, events, 3, 2);
	assert_int_equal(ledger.begun, 1900);
	assert_int_equal(ledger.delivered, 830);
	assert_int_equal(ledger.consumed, 10);
	assert_int_equal(ledger.unaccounted, 0);
	assert_int_equal(ledger.in_flight, 3);
	assert_int_equal(ledger.stale, 2);
	ledger_of_inflight(&ledger, events, 3, 4);
	assert_int_equal(ledger.unaccounted, -2);
}

/* The records of kfree_skb are drop records, which the drops' ledger counts. */
TEST(test_latency_leaves_drops_out)
{
	ledger_events events = {0};
	struct ledger_latency ledger;
	struct ledger_drops drops;

	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_RECORDED] = 1000;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_THROTTLED] = 2000;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_RING_FULL] = 3000;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_CHOSEN] = 7;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_RECORDED] = 4;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_THROTTLED] = 3;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_CHOSEN] = 30;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_RECORDED] = 10;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_RING_FULL] = 20;
	events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_PASSED] = 60;
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_PASSED] = 40;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_SLOW_UNSEEN] = 5;
	ledger_of_latency(&ledger, events);
	/* What was not followed is no part of the equation. */
	assert_int_equal(ledger_latency_off(&ledger), 0);
	assert_int_equal(ledger.passed, 100);
	assert_int_equal(ledger.slow_unseen, 5);
	assert_int_equal(ledger.chosen, 37);
	assert_int_equal(ledger.recorded, 14);
	assert_int_equal(ledger.throttled, 3);
	assert_int_equal(ledger.ring_full, 20);
	ledger_of_drops(&drops, events);
	assert_int_equal(drops.recorded, 1000);
}

TEST(test_moved_events)
{
	ledger_events before = {0}, after = {0};

	before[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] = 10;
	after[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] = 12;
	after[NF_PROBE_KFREE_SKB][NF_EVENT_COUNTED] = 1;
	after[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_HIT] = 100;
	after[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_BEGUN] = 40;
	after[NF_PROBE_CONSUME_SKB][NF_EVENT_DELIVERED] = 30;
	after[NF_PROBE_CONSUME_SKB][NF_EVENT_CHOSEN] = 5;
	assert_int_equal(ledger_moved_drops(before, after), 3);
	assert_int_equal(ledger_moved_inflight(before, after), 70);
	assert_int_equal(ledger_moved_latency(before, after), 5);
	assert_int_equal(ledger_moved_inflight(after, after), 0);
}

TEST(test_of_two_equations_the_worse_counts)
{
	const struct ledger_drops keys = {.hits = 10, .counted = 4, .recorded = 9, .throttled = 1};
	const struct ledger_drops records = {.hits = 10, .counted = 10, .recorded = 13};

	assert_int_equal(ledger_drops_off(&keys), 6);
	assert_int_equal(ledger_drops_off(&records), -3);
}

#define SECOND UINT64_C(1000000000)

/* Busy for ever, and off by less than what moved: nothing is wrong. */
TEST(test_watch_while_packets_move)
{
	struct ledger_watch watch = {0};

	for (uint64_t i = 0; i < 1000; i++)
		assert_true(ledger_watch_add(&watch, i * SECOND, i % 2 ? 4000 : -4000, 4000, 2));
	assert_int_equal(watch.proven, 0);
}

/* Off by more than what moved and the programs in between: proven at once, by how much. */
TEST(test_watch_proves_at_once)
{
	struct ledger_watch watch = {0};

	assert_false(ledger_watch_add(&watch, 0, 5000, 4000, 2));
	assert_int_equal(watch.proven, 1000 - 2 * LEDGER_PER_CPU);
	/* It stays, though the next reading alone could not show it. */
	assert_false(ledger_watch_add(&watch, SECOND, 5000, 6000, 2));
	/* A quiet reading shows that it was not so. */
	assert_true(ledger_watch_add(&watch, 2 * SECOND, 0, 0, 2));
	assert_int_equal(watch.proven, 0);
}

/* A program between its two steps is off by one for a while; an error stays. */
TEST(test_watch_of_a_small_imbalance)
{
	struct ledger_watch watch = {0};

	assert_true(ledger_watch_add(&watch, 0, 1, 0, 2));
	assert_true(ledger_watch_add(&watch, 1, 1, 0, 2));
	assert_true(ledger_watch_add(&watch, 2, 1, 0, 2));
	assert_true(ledger_watch_add(&watch, SECOND, 0, 0, 2));
	assert_true(ledger_watch_add(&watch, 2 * SECOND, 1, 0, 2));
	/* The other direction is another imbalance. */
	assert_true(ledger_watch_add(&watch, 3 * SECOND, -1, 0, 2));
	assert_true(ledger_watch_add(&watch, 4 * SECOND, -3, 1, 2));
	assert_false(ledger_watch_add(&watch, 5 * SECOND, -1, 0, 2));
	assert_int_equal(watch.proven, 1);
}
