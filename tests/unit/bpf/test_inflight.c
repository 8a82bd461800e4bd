/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/inflight.h: which entry is an skb's, and that each journey ends exactly once. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])
#define NET_B (&machine.dev[0][2])

static void received(struct sk_buff *skb)
{
	at(stand_in.now + 1600);
	receive(skb);
	skb->skb_iif = skb->dev->ifindex;
}

EACH_TEST(path_begin, path_end);

/* Two skbs share a set; a third one takes the entry of the older. */
TEST(test_third_skb_overwrites_the_older)
{
	struct sk_buff *skb[3];

	skbs_of_one_set(skb, 3);
	received(skb[0]);
	received(skb[1]);
	assert_non_null(entry_of(skb[0]));
	assert_non_null(entry_of(skb[1]));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 0);
	received(skb[2]);
	assert_null(entry_of(skb[0]));
	assert_non_null(entry_of(skb[1]));
	assert_non_null(entry_of(skb[2]));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 1);
	/* The second is the older one now, in the other place of the set. */
	received(skb[0]);
	assert_null(entry_of(skb[1]));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 2);
	assert_int_equal(in_flight(), 2);
	assert_balanced();
}

/* An entry that became free is taken first. */
TEST(test_free_entry_is_taken)
{
	struct sk_buff *skb[3];

	skbs_of_one_set(skb, 3);
	received(skb[0]);
	received(skb[1]);
	copy(skb[1], 10);
	received(skb[2]);
	assert_non_null(entry_of(skb[0]));
	assert_non_null(entry_of(skb[2]));
	copy(skb[0], 10);
	received(skb[1]);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 0);
	assert_int_equal(in_flight(), 2);
	assert_balanced();
}

/* ---- another head: the kernel freed the skb silently, its memory is a clone of another one now ---- */

static struct sk_buff *stale_rx(void)
{
	struct sk_buff *skb = skb_new(NET_A);

	received(skb);
	at(stand_in.now + 1000000);
	skb_reuse(skb, NET_A);
	skb->cloned = 1;
	return skb;
}

/* Its copy is no delivery, though a device received the new skb too. */
TEST(test_new_head_at_copy)
{
	struct sk_buff *skb = stale_rx();

	skb->skb_iif = 2;
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(stand_in_records(), 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 0, 0);
	assert_balanced();
}

TEST(test_new_head_at_consume)
{
	struct sk_buff *skb = stale_rx();

	skb->skb_iif = 2;
	consume(skb);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(stand_in_records(), 0);
	assert_balanced();
}

/* A received skb continues on a bridge; a new skb at its address begins. */
TEST(test_new_head_at_receive)
{
	struct sk_buff *skb = stale_rx();
	__u64 begin;

	skb->skb_iif = 2;
	receive(skb);
	begin = stand_in.now;
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], begin);
	assert_int_equal(journey()->devices, 1);
	assert_balanced();
}

/* A received skb that is queued is forwarded; a new skb at its address is sent from here. */
TEST(test_new_head_at_queue)
{
	struct sk_buff *skb = stale_rx();

	skb->skb_iif = 2;
	skb->dev = NET_B;
	queue(skb);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE, 0, 0);
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	consume(skb);
	assert_int_equal(events(NF_EVENT_FORWARDED), 0);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_balanced();
}

TEST(test_new_head_at_start_xmit)
{
	struct sk_buff *skb = skb_new(NET_B);

	queue(skb);
	start_xmit(skb_new(NET_B), NET_B);
	skb_reuse(skb, NET_B);
	start_xmit(skb, NET_B);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(events(NF_EVENT_BEGUN), 3);
	assert_hist(NET_B, NF_SEGMENT_QUEUE_TO_START, 0, 0);
	assert_true(entry_of(skb)->flags & NF_INFLIGHT_NO_QUEUE);
	assert_balanced();
}

/* Packets that count as lost, besides those whose entry another skb took. */
static __u64 packets_without_overwriter(void)
{
	return events(NF_EVENT_OVERWRITTEN_PACKETS) - events(NF_EVENT_OVERWRITTEN);
}

/* Another CPU took the entry: the total lacks this transmit, so no count of this time is exact. */
TEST(test_entry_lost_before_start_xmit)
{
	struct sk_buff *skb[3];

	skbs_of_one_set(skb, 3);
	queue(skb[0]);
	stand_in.cpu = 1;
	received(skb[1]);
	received(skb[2]);
	stand_in.cpu = 0;
	assert_null(entry_of(skb[0]));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 1);
	start_xmit(skb[0], NET_B);
	end_xmit(skb[0], NET_B);
	assert_int_equal(packets_without_overwriter(), 1);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 0, 0);
	/* A segment of GSO never was at net_dev_queue, and lacks nothing. */
	queue(skb[0]);
	start_xmit(skb_new(NET_B), NET_B);
	assert_int_equal(packets_without_overwriter(), 1);
	assert_balanced();
}

TEST(test_new_head_at_drop)
{
	struct sk_buff *skb = stale_rx();

	skb->dev = NULL;
	drop(skb, 0x1000, 3);
	assert_int_equal(events(NF_EVENT_DROPPED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(events(NF_EVENT_COUNTED), 1);
	assert_balanced();
}

/* ---- the same head: only what the kernel shows decides ---- */

/* A fresh skb with the same head (a reused page fragment) has no skb_iif yet. */
TEST(test_fresh_skb_with_the_same_head)
{
	struct sk_buff *skb = skb_new(NET_A);

	received(skb);
	skb->skb_iif = 0;
	at(stand_in.now + 1600);
	receive(skb);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	queue(skb); /* fresh: sent from here */
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_int_equal(entry_of(skb)->journey, NF_JOURNEY_TX);
	queue(skb); /* it was never started: another skb */
	assert_int_equal(events(NF_EVENT_INVALIDATED), 3);
	assert_balanced();
}

/* AF_UNIX and netlink skbs pass the copy and consume_skb; no device received them. */
TEST(test_skb_of_no_device)
{
	struct sk_buff *skb = skb_new(NET_A);

	receive(skb);
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	receive(skb);
	consume(skb);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_int_equal(stand_in_records(), 0);
	assert_int_equal(in_flight(), 0);
	assert_balanced();
}

/* ---- entries that two CPUs mixed ---- */

static void torn(struct sk_buff *skb, void (*change)(struct nf_inflight *e))
{
	received(skb);
	change(entry_of(skb));
	copy(skb, 10);
}

static void other_begin(struct nf_inflight *e)
{
	e->begin_ns -= 16;
}

static void other_raise(struct nf_inflight *e)
{
	e->rx.raise += 1;
}

static void other_irq(struct nf_inflight *e)
{
	e->rx.irq += 1;
}

static void other_entry(struct nf_inflight *e)
{
	e->rx.entry += 1;
}

static void other_slot(struct nf_inflight *e)
{
	e->slot ^= 1;
}

static void other_journey(struct nf_inflight *e)
{
	e->journey = NF_JOURNEY_TX;
}

TEST(test_mixed_entry_is_not_timed)
{
	void (*const change[])(struct nf_inflight * e) = {
		other_begin, other_raise, other_irq, other_entry, other_slot, other_journey,
	};

	for (__u32 i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		torn(skb_new(NET_A), change[i]);
		assert_int_equal(events(NF_EVENT_TORN), i + 1);
		assert_int_equal(events(NF_EVENT_INVALIDATED), i + 1);
	}
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(stand_in_records(), 0);
	assert_int_equal(in_flight(), 0);
	assert_balanced();
}

/* What another CPU may set at the skb's next stage is no mix-up. */
TEST(test_unsealed_fields)
{
	struct sk_buff *skb = skb_new(NET_A);
	struct nf_inflight *e;

	received(skb);
	e = entry_of(skb);
	e->sock_queue = 7;
	e->sk = 9;
	e->flags |= NF_INFLIGHT_SLOW;
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_TORN), 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
}

/* ---- two CPUs in one entry ---- */

static struct sk_buff *meet;
static void (*meeting)(void);
static enum stand_in_point meeting_point;

/* Once, at `meeting_point`, CPU 1 calls a program to its end. */
static void meet_at_point(enum stand_in_point point)
{
	__u32 cpu = stand_in.cpu;

	if (point != meeting_point)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	meeting();
	on_cpu(cpu);
}

static void meet_at(enum stand_in_point point, void (*other)(void))
{
	meeting_point = point;
	meeting = other;
	stand_in.hook = meet_at_point;
}

static void consume_it(void)
{
	consume(meet);
}

static void receive_it(void)
{
	receive(meet);
}

static void drop_it(void)
{
	drop(meet, 0x1000, 3);
}

/* The skb was in the queue of a UDP socket: its reader consumes it. */
static void socket_has(struct sk_buff *skb)
{
	struct machine_socket s;

	socket_init(&s, SOCK_DGRAM, IPPROTO_UDP);
	queue_udp(&s, skb);
}

/* Two CPUs see the end of one journey: one counts it, with its record. */
TEST(test_two_ends)
{
	void (*const other[])(void) = {consume_it, drop_it};

	for (int i = 0; i < 2; i++) {
		meet = skb_new(NET_A);
		received(meet);
		if (other[i] == consume_it)
			socket_has(meet);
		meet_at(STAND_IN_BEFORE_EXCHANGE, other[i]);
		copy(meet, 10);
		assert_null(stand_in.hook);
		assert_int_equal(in_flight(), 0);
		assert_balanced();
	}
	assert_int_equal(event_of(NF_PROBE_CONSUME_SKB, NF_EVENT_DELIVERED), 1);
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	assert_int_equal(event_of(NF_PROBE_SKB_COPY_DATAGRAM_IOVEC, NF_EVENT_DELIVERED), 0);
	assert_int_equal(stand_in_records(), 2); /* of the journey that was read, and of the drop */
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, hist(NET_A, NF_SEGMENT_RX_TOTAL).sum_ns);
}

/* While a CPU ends a journey, another skb takes the entry: its journey is lost, and counted. */
TEST(test_end_meets_another_skb)
{
	struct sk_buff *skb[3];

	skbs_of_one_set(skb, 3);
	received(skb[0]);
	received(skb[1]);
	meet = skb[2];
	meet_at(STAND_IN_BEFORE_EXCHANGE, receive_it);
	copy(skb[0], 10);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 2);
	assert_int_equal(in_flight(), 1);
	assert_int_equal(stand_in_records(), 0);
	assert_balanced();
}

/* Two CPUs take one free entry. */
TEST(test_two_begin)
{
	struct sk_buff *skb[2];

	skbs_of_one_set(skb, 2);
	meet = skb[1];
	meet_at(STAND_IN_BEFORE_EXCHANGE, receive_it);
	receive(skb[0]);
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 1);
	assert_int_equal(in_flight(), 1);
	assert_balanced();
	/* The first CPU wrote its fields last: they are the owner's, unless the owner is the other. */
	copy(skb[0], 10);
	copy(skb[1], 10);
	assert_int_equal(in_flight(), 0);
	assert_balanced();
}

/* The sixth look-up of net_dev_xmit comes after it has found its entry. */
static int lookups;

static void receive_at_sixth_lookup(enum stand_in_point point)
{
	if (point != STAND_IN_LOOKUP || ++lookups < 6)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	at(31700);
	receive(meet);
	on_cpu(0);
}

/* While a CPU notes the end of start_xmit of a veth, the peer receives the skb on another CPU. */
TEST(test_xmit_meets_the_peer)
{
	struct sk_buff *skb = skb_new(NET_A);
	const struct nf_journey_record *transmit;
	size_t size;

	received(skb);
	skb->dev = NET_B;
	at(20000);
	queue(skb);
	at(30000);
	start_xmit(skb, NET_B);
	skb->dev = NET_A;
	skb->skb_iif = 0;
	meet = skb;
	at(31600);
	lookups = 0;
	stand_in.hook = receive_at_sixth_lookup;
	end_xmit(skb, NET_B);
	assert_null(stand_in.hook);
	transmit = stand_in_record(-1, &size);
	assert_int_equal(transmit->stage_ns[NF_STAGE_XMIT], 31600);
	skb->skb_iif = 1;
	at(36400);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 31700);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 36400);
	assert_int_equal(events(NF_EVENT_TORN), 0);
	assert_balanced();
}

/* The driver completes the transmit, and its memory becomes a received skb. */
static void complete_and_receive(void)
{
	consume(meet);
	skb_reuse(meet, NET_B);
	at(31700);
	receive(meet);
}

/* While a CPU notes the end of start_xmit, another CPU receives a packet in the freed skb. */
TEST(test_xmit_meets_a_reused_skb)
{
	struct sk_buff *skb = skb_new(NET_A);

	at(30000);
	start_xmit(skb, NET_A);
	meet = skb;
	at(31600);
	meet_at(STAND_IN_BEFORE_EXCHANGE, complete_and_receive);
	end_xmit(skb, NET_A);
	assert_null(stand_in.hook);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	skb->skb_iif = 1;
	at(36400);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 31700);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 36400);
	assert_int_equal(events(NF_EVENT_TORN), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 0);
	assert_balanced();
}

/* A CPU noted the end of start_xmit when another skb had just taken the entry: it is not its own. */
TEST(test_xmit_of_another_skb)
{
	struct sk_buff *skb = skb_new(NET_B);

	at(33200);
	start_xmit(skb, NET_B);
	entry_of(skb)->xmit_ns = 31600;
	at(36400);
	consume(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_START_XMIT], 33200);
	assert_int_equal(journey()->stage_ns[NF_STAGE_XMIT], 0);
	assert_hist(NET_B, NF_SEGMENT_XMIT_TO_FREE, 0, 0);
	assert_balanced();
}

/* Without an atomic exchange the entries work as well, on one CPU. */
TEST(test_without_exchange)
{
	struct sk_buff *skb = skb_new(NET_A);

	settings.atomic_fetch = false;
	received(skb);
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_balanced();
}

/* ---- durations ---- */

TEST(test_ticks)
{
	assert_int_equal(nf_ticks(100, 100), 1); /* 0 is "not passed" */
	assert_int_equal(nf_ticks(100, 131), 1);
	assert_int_equal(nf_ticks(100, 132), 2);
	assert_int_equal(nf_ticks(100, 50), 1); /* another CPU's clock */
	assert_int_equal(nf_ticks(0, (__u64)NF_TICK_MAX << NF_TICK_SHIFT), NF_TICK_MAX);
	assert_int_equal(nf_ticks(0, INT64_MAX), NF_TICK_MAX);
	assert_int_equal(nf_before(10000, 1), 10000 - 16);
	assert_int_equal(nf_before(10000, 0), 0);
	assert_int_equal(nf_before(~0ULL, NF_TICK_MAX), 0);
}
