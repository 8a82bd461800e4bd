/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/core/ledger.h"

static void test_drops_balance(void **state)
{
	ledger_events events = {0};
	struct ledger_drops ledger;
	uint64_t *row = events[NF_PROBE_KFREE_SKB];

	(void)state;
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

static void test_completed_transmits_are_no_drops(void **state)
{
	ledger_events events = {0};
	struct ledger_drops ledger;
	uint64_t *row = events[NF_PROBE_KFREE_SKB];

	(void)state;
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

static void test_inflight_adds_up_over_programs(void **state)
{
	ledger_events events = {0};
	struct ledger_inflight ledger;

	(void)state;
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
	ledger_of_inflight(&ledger, events, 5);
	assert_int_equal(ledger.begun, 1900);
	assert_int_equal(ledger.delivered, 830);
	assert_int_equal(ledger.consumed, 10);
	assert_int_equal(ledger.unaccounted, 0);
	ledger_of_inflight(&ledger, events, 7);
	assert_int_equal(ledger.unaccounted, -2);
}

/* The records of kfree_skb are drop records, which the drops' ledger counts. */
static void test_latency_leaves_drops_out(void **state)
{
	ledger_events events = {0};
	struct ledger_latency ledger;
	struct ledger_drops drops;

	(void)state;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_RECORDED] = 1000;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_THROTTLED] = 2000;
	events[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_RING_FULL] = 3000;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_CHOSEN] = 7;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_RECORDED] = 4;
	events[NF_PROBE_CONSUME_SKB][NF_EVENT_THROTTLED] = 3;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_CHOSEN] = 30;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_RECORDED] = 10;
	events[NF_PROBE_SOCK_RECV_LENGTH][NF_EVENT_RING_FULL] = 20;
	ledger_of_latency(&ledger, events);
	assert_int_equal(ledger.chosen, 37);
	assert_int_equal(ledger.recorded, 14);
	assert_int_equal(ledger.throttled, 3);
	assert_int_equal(ledger.ring_full, 20);
	ledger_of_drops(&drops, events);
	assert_int_equal(drops.recorded, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drops_balance),
		cmocka_unit_test(test_completed_transmits_are_no_drops),
		cmocka_unit_test(test_inflight_adds_up_over_programs),
		cmocka_unit_test(test_latency_leaves_drops_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
