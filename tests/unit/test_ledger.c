/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/core/ledger.h"
#include "daemon/store/recent.h"

static void test_drops_balance(void **state)
{
	ledger_events events = {0};
	struct ledger_drops ledger;
	uint64_t *row = events[NF_PROBE_KFREE_SKB];

	(void)state;
	row[NF_EVENT_HIT] = 100;
	row[NF_EVENT_COUNTED] = 90;
	row[NF_EVENT_UNKEYED] = 10;
	row[NF_EVENT_RECORDED] = 5;
	row[NF_EVENT_THROTTLED] = 94;
	row[NF_EVENT_RING_FULL] = 1;
	ledger_of_drops(&ledger, events);
	assert_true(ledger.balanced);
	row[NF_EVENT_RING_FULL] = 0;
	ledger_of_drops(&ledger, events);
	assert_false(ledger.balanced);
	row[NF_EVENT_RING_FULL] = 1;
	row[NF_EVENT_COUNTED] = 91;
	ledger_of_drops(&ledger, events);
	assert_false(ledger.balanced);
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

static void add(struct recent *recent, uint64_t time)
{
	struct nf_drop_record record = {.header = {.size = sizeof(record), .time_ns = time}};

	recent_add(recent, &record);
}

static void test_recent_keeps_the_newest(void **state)
{
	struct recent *recent = NULL;

	(void)state;
	assert_int_equal(recent_new(&recent, 3), 0);
	assert_null(recent_newest(recent, 0));
	for (uint64_t time = 1; time <= 5; time++)
		add(recent, time);
	assert_int_equal(recent_count(recent), 3);
	assert_int_equal(recent_newest(recent, 0)->header.time_ns, 5);
	assert_int_equal(recent_newest(recent, 2)->header.time_ns, 3);
	assert_null(recent_newest(recent, 3));
	recent_free(&recent);
	assert_null(recent);
	recent_free(&recent);
}

/* A record with a stack is longer than one without; the shorter must not show the longer's. */
static void test_recent_takes_records_of_both_sizes(void **state)
{
	struct nf_drop_record record = {.header.size = sizeof(record), .stack_len = 4};
	struct recent *recent = NULL;

	(void)state;
	assert_int_equal(recent_new(&recent, 1), 0);
	recent_add(recent, &record);
	assert_int_equal(recent_newest(recent, 0)->stack_len, 4);
	record.header.size = NF_DROP_RECORD_PLAIN;
	record.stack_len = 0;
	recent_add(recent, &record);
	assert_int_equal(recent_newest(recent, 0)->stack_len, 0);
	recent_free(&recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drops_balance),
		cmocka_unit_test(test_inflight_adds_up_over_programs),
		cmocka_unit_test(test_recent_keeps_the_newest),
		cmocka_unit_test(test_recent_takes_records_of_both_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
