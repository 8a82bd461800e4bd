/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ring slots of xen-netfront: how many a transmit needs, and its outcome. */
#include <stdio.h>

#include "tests/unit/daemon/correlator/events.h"

enum { SKB = 0x1000, SKB2 = 0x2000, PAGE = 4096, LIMIT = 18, BUSY = 0x10, SENDER = 900 };

static struct event_transmit transmit;

/* A linear part that begins `offset` bytes into a page. */
static void linear(uint32_t offset)
{
	transmit = (struct event_transmit){
		.data = UINT64_C(0xffff888100000000) + offset, .sg = true, .tso = true};
}

static void add_frag(uint32_t offset, uint32_t size)
{
	transmit.frag[transmit.frags++] = (struct nf_slots_frag){.offset = offset, .size = size};
	transmit.data_len += size;
}

/* A linear part of 100 bytes, and fragments across the border of two pages as far as it goes. */
static void of_slots(uint32_t slots)
{
	linear(0);
	for (uint32_t need = slots - 1; need; need -= need > 1 ? 2 : 1)
		add_frag(need > 1 ? PAGE - 40 : 0, 80);
}

static void start_of(uint64_t skb, const char *name, uint32_t head)
{
	HAPPEN(NET_DEV_START_XMIT, .skb = skb, .len = head + transmit.data_len, .device = name);
	HAPPEN(XENNET_START_XMIT, .skb = skb, .len = head + transmit.data_len, .device = name,
	       .transmit = &transmit);
}

static void start(uint64_t skb)
{
	start_of(skb, "eth0", 100);
}

static void end(uint64_t skb, uint32_t rc)
{
	HAPPEN(NET_DEV_XMIT, .skb = skb, .device = "eth0", .number = rc);
}

static void send_one(uint64_t skb)
{
	start(skb);
	end(skb, 0);
}

static const struct nf_slots_count *counts(const char *name)
{
	const struct nf_slots_count *count = device(name)->slots;

	assert_non_null(count);
	return count;
}

static uint64_t total(enum nf_slots_event event)
{
	return correlator_totals(world.correlator)->slots[event];
}

static void assert_slots_ledger(uint64_t open)
{
	assert_int_equal(total(NF_SLOTS_HIT), total(NF_SLOTS_COUNTED) + total(NF_SLOTS_UNKEYED));
	assert_int_equal(total(NF_SLOTS_CHOSEN), total(NF_SLOTS_RECORDED) +
							 total(NF_SLOTS_THROTTLED) +
							 total(NF_SLOTS_UNENDED) + open);
}

EACH_TEST(world_begin, world_end);

TEST(test_each_page_is_a_slot)
{
	linear(0);
	send_one(SKB);
	linear(PAGE - 100);
	send_one(SKB);
	linear(PAGE - 99);
	send_one(SKB);
	linear(0);
	add_frag(PAGE - 1, 2);
	add_frag(3 * PAGE + 10, 2 * PAGE);
	send_one(SKB);
	assert_int_equal(counts("eth0")->slots[1], 2);
	assert_int_equal(counts("eth0")->slots[2], 1);
	assert_int_equal(counts("eth0")->slots[6], 1);
	assert_int_equal(world.transmits, 0);
	assert_slots_ledger(0);
}

TEST(test_near_misses_and_overflows)
{
	for (uint32_t slots = 16; slots <= 20; slots++) {
		of_slots(slots);
		send_one(SKB);
		assert_int_equal(counts("eth0")->slots[slots], 1);
	}
	assert_int_equal(world.transmits, 4);
	assert_int_equal(counts("eth0")->near, 2);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_LINEARIZED], 2);
	assert_int_equal(counts("eth0")->last_overflow_ns, world.transmit.header.time_ns);
	assert_slots_ledger(0);
}

TEST(test_a_record)
{
	as_task(SENDER);
	of_slots(19);
	transmit.gso_size = 1448;
	transmit.gso_segs = 3;
	transmit.data += 8;
	send_one(SKB);
	assert_int_equal(world.transmits, 1);
	assert_int_equal(world.transmit.slots, 19);
	assert_int_equal(world.transmit.limit, LIMIT);
	assert_int_equal(world.transmit.len, 100 + 9 * 80);
	assert_int_equal(world.transmit.head_offset, 8);
	assert_int_equal(world.transmit.head_len, 100);
	assert_int_equal(world.transmit.gso_size, 1448);
	assert_int_equal(world.transmit.gso_segs, 3);
	assert_int_equal(world.transmit.frags, 9);
	assert_int_equal(world.transmit.frag[8].size, 80);
	assert_int_equal(world.transmit.header.size, NF_SLOTS_RECORD_PLAIN + 9 * 8);
	assert_int_equal(world.transmit.outcome, NF_SLOTS_LINEARIZED);
	assert_int_equal(world.transmit.flags, NF_SLOTS_XEN | NF_SLOTS_TASK | NF_SLOTS_FEATURES |
						       NF_SLOTS_SG | NF_SLOTS_TSO);
	assert_int_equal(world.transmit.task.tid, SENDER);
	assert_string_equal(world.transmit.device, "eth0");
}

TEST(test_dropped)
{
	of_slots(31);
	start(SKB);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 1, .protocol = IP, .reason = 2);
	end(SKB, 0);
	assert_int_equal(world.transmit.outcome, NF_SLOTS_DROPPED);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_DROPPED], 1);
	assert_int_equal(world.drops, 1);
	/* That of another skb, or after the end, is no drop of this one. */
	start(SKB);
	HAPPEN(KFREE_SKB, .skb = SKB2, .location = 1, .protocol = IP, .reason = 2);
	end(SKB, 0);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 1, .protocol = IP, .reason = 2);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_LINEARIZED], 1);
	assert_slots_ledger(0);
}

TEST(test_requeued)
{
	of_slots(19);
	start(SKB);
	end(SKB, BUSY);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_REQUEUED], 1);
}

/* The limit of the setting is not that of the driver. */
TEST(test_another_limit)
{
	correlator_free(&world.correlator);
	world.settings.slots_limit = 4;
	assert_int_equal(world_open(), 0);
	of_slots(5);
	send_one(SKB);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_SENT], 1);
	of_slots(19);
	send_one(SKB);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_LINEARIZED], 1);
}

TEST(test_too_big_for_the_wire)
{
	linear(0);
	start_of(SKB, "eth0", NF_SLOTS_WIRE_MAX + 1);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 1, .protocol = IP, .reason = 2);
	end(SKB, 0);
	assert_int_equal(counts("eth0")->too_big, 1);
	assert_int_equal(counts("eth0")->near, 0);
	assert_int_equal(counts("eth0")->slots[16], 1);
	assert_true(world.transmit.flags & NF_SLOTS_TOO_BIG);
	assert_int_equal(world.transmit.outcome, NF_SLOTS_DROPPED);
	linear(0);
	start_of(SKB, "eth0", NF_SLOTS_WIRE_MAX);
	end(SKB, 0);
	assert_int_equal(world.transmits, 1);
}

/* Fragments that the event does not show: the transmit is in no histogram. */
TEST(test_fragments_that_are_not_known)
{
	of_slots(19);
	transmit.unknown = true;
	send_one(SKB);
	HAPPEN(XENNET_START_XMIT, .skb = SKB, .device = "eth0");
	assert_int_equal(correlator_totals(world.correlator)->slots_unknown, 2);
	assert_int_equal(total(NF_SLOTS_HIT), 0);
	assert_null(device("eth0")->slots);
}

TEST(test_more_slots_than_the_histogram_has)
{
	linear(0);
	add_frag(0, NF_SLOTS_BUCKETS * PAGE);
	send_one(SKB);
	assert_int_equal(counts("eth0")->slots[NF_SLOTS_BUCKETS - 1], 1);
}

/* A transmit begins and ends on one CPU. */
TEST(test_cpus_are_separate)
{
	of_slots(19);
	start(SKB);
	on_cpu(1);
	of_slots(20);
	start(SKB2);
	end(SKB, 0);
	assert_int_equal(world.transmits, 0);
	end(SKB2, 0);
	assert_int_equal(world.transmit.slots, 20);
	on_cpu(0);
	end(SKB, 0);
	assert_int_equal(world.transmit.slots, 19);
	assert_slots_ledger(0);
}

/* A transmit can be inside of another, as through a VLAN device. */
TEST(test_one_inside_of_another)
{
	of_slots(19);
	start(SKB);
	of_slots(20);
	start(SKB2);
	end(SKB2, 0);
	assert_int_equal(world.transmit.slots, 20);
	end(SKB, 0);
	assert_int_equal(world.transmit.slots, 19);
}

TEST(test_ends_that_are_not_seen)
{
	of_slots(19);
	for (uint64_t skb = 1; skb <= NF_SLOTS_DEPTH + 1; skb++)
		start(skb << 12);
	assert_int_equal(total(NF_SLOTS_UNENDED), NF_SLOTS_DEPTH);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_UNSEEN], NF_SLOTS_DEPTH);
	assert_slots_ledger(1);
	correlator_lost(world.correlator, 0, 7);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_UNSEEN], NF_SLOTS_DEPTH + 1);
	end((uint64_t)(NF_SLOTS_DEPTH + 1) << 12, 0);
	assert_int_equal(world.transmits, 0);
	assert_slots_ledger(0);
}

/* Near misses do not hide overflows. */
TEST(test_buckets_of_records)
{
	correlator_free(&world.correlator);
	world.settings.slots_rate = 1;
	world.settings.slots_burst = 2;
	assert_int_equal(world_open(), 0);
	of_slots(17);
	for (int i = 0; i < 5; i++)
		send_one(SKB);
	assert_int_equal(world.transmits, 2);
	of_slots(19);
	for (int i = 0; i < 5; i++)
		send_one(SKB);
	assert_int_equal(world.transmits, 4);
	assert_int_equal(total(NF_SLOTS_THROTTLED), 6);
	assert_int_equal(counts("eth0")->overflow[NF_SLOTS_LINEARIZED], 5);
	assert_slots_ledger(0);
}

TEST(test_more_devices_than_the_table_has)
{
	char name[NF_DEVICE_NAME];

	linear(0);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "eth%d", i);
		start_of(SKB, name, 100);
		end(SKB, 0);
	}
	assert_int_equal(total(NF_SLOTS_UNKEYED), 2);
	assert_int_equal(correlator_device(world.correlator, 0)->slots->slots[1], 2);
	assert_slots_ledger(0);
}
