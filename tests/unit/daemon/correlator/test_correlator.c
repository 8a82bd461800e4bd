/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "tests/unit/daemon/correlator/events.h"

enum { SKB = 0x1000, SKB2 = 0x2000, SKB3 = 0x3000, SOCK = 0x50000, SOCK2 = 0x60000 };

/* ---- received ------------------------------------------------------------------ */

EACH_TEST(world_begin, world_end);

TEST(test_all_stages_of_a_segment)
{
	const __u64 *stage = world.journey.stage_ns;

	at(10000);
	HAPPEN(IRQ_HANDLER_ENTRY, .number = 40);
	at(10200);
	HAPPEN(SOFTIRQ_RAISE, .number = NET_RX);
	HAPPEN(IRQ_HANDLER_EXIT, .number = 40);
	at(11000);
	softirq_entry(NET_RX);
	at(12000);
	receive(SKB, "eth0", 1500);
	at(13000);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = TCP);
	at(13100);
	HAPPEN(SCHED_WAKING, .number = READER);
	softirq_exit(NET_RX);
	at(20000);
	HAPPEN(SCHED_SWITCH, .number = READER);
	as_task(READER);
	at(21000);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 1448);
	correlator_settle(world.correlator);
	assert_int_equal(world.journeys, 1);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_DELIVERED);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10200);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 11000);
	assert_int_equal(stage[NF_STAGE_RECEIVE], 12000);
	assert_int_equal(stage[NF_STAGE_SOCK_QUEUE], 13000);
	assert_int_equal(stage[NF_STAGE_WAKEUP], 13100);
	assert_int_equal(stage[NF_STAGE_RUN], 20000);
	assert_int_equal(stage[NF_STAGE_COPY], 21000);
	assert_int_equal(world.journey.task.tid, READER);
	assert_string_equal(world.journey.device[0].name, "eth0");
	assert_int_equal(device("eth0")->segment[NF_SEGMENT_RX_TOTAL].sum_ns, 11000);
	assert_int_equal(device("eth0")->segment[NF_SEGMENT_WAKEUP_TO_RUN].sum_ns, 6900);
	assert_int_equal(correlator_softirq_wait(world.correlator, 0)->sum_ns, 800);
	assert_ledger();
}

/* Datagrams are read in the order of their queue; the event names the socket only. */
TEST(test_datagrams_in_order)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	bring(SKB2, "lo", 200, SOCK2, UDP);
	bring(SKB3, "lo", 300, SOCK, UDP);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(world.journey.bytes.len, 100);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 272);
	assert_int_equal(world.journey.bytes.len, 300);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK2, .protocol = UDP, .len = 172, .number = 2);
	assert_int_equal(world.journeys, 2);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK2, .protocol = UDP, .len = 172);
	assert_int_equal(world.journey.bytes.len, 200);
	assert_int_equal(events(NF_EVENT_DELIVERED), 3);
	assert_ledger();
}

/* Datagrams can be in the queue before a recording begins: a reader that slept shows that they are gone. */
TEST(test_a_sleeping_reader_had_an_empty_queue)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	softirq_entry(NET_RX);
	receive(SKB2, "lo", 200);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	HAPPEN(SCHED_WAKING, .number = READER);
	softirq_exit(NET_RX);
	HAPPEN(SCHED_SWITCH, .number = READER);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 172);
	assert_int_equal(world.journey.bytes.len, 200);
	assert_true(world.journey.stage_ns[NF_STAGE_RUN]);
}

/* A reader on another CPU that does not sleep can take a datagram before the kernel announces it. */
TEST(test_read_before_it_is_announced)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	as_task(OTHER_TASK);
	softirq_entry(NET_RX);
	at(5000000);
	receive(SKB2, "lo", 200);
	on_cpu(1);
	as_task(READER);
	world.next.softirq = false;
	at(5001000);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 172);
	on_cpu(0);
	as_task(OTHER_TASK);
	world.next.softirq = true;
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	softirq_exit(NET_RX);
	assert_int_equal(world.journey.bytes.len, 200);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_COPY], 5001000);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_SOCK_QUEUE], 0);
	assert_int_equal(world.journey.task.tid, READER);
	bring(SKB3, "lo", 300, SOCK, UDP);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 272);
	assert_int_equal(world.journey.bytes.len, 300);
	assert_int_equal(events(NF_EVENT_DELIVERED), 3);
	assert_ledger();
}

/* After the announcement, and in an interrupt during it, the kernel wakes tasks that read nothing of it. */
TEST(test_others_are_woken)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	HAPPEN(SCHED_WAKING, .number = READER);
	softirq_entry(NET_RX);
	receive(SKB2, "lo", 200);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	world.next.irq = true;
	HAPPEN(SCHED_WAKING, .number = READER);
	world.next.irq = false;
	softirq_exit(NET_RX);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(world.journey.bytes.len, 100);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_WAKEUP], 0);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 172);
	assert_int_equal(world.journey.bytes.len, 200);
	assert_int_equal(world.journeys, 2);
	assert_ledger();
}

/* A closed socket drops its queue; another socket in the same memory begins with an empty one. */
TEST(test_a_closed_socket_leaves_no_queue)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	bring(SKB2, "lo", 200, SOCK, UDP);
	as_task(OTHER_TASK);
	HAPPEN(KFREE_SKB, .skb = SKB, .protocol = IP, .reason = 2);
	HAPPEN(KFREE_SKB, .skb = SKB2, .protocol = IP, .reason = 2);
	bring(SKB3, "lo", 300, SOCK, UDP);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 272);
	assert_int_equal(world.journeys, 1);
	assert_int_equal(world.journey.bytes.len, 300);
	assert_int_equal(events(NF_EVENT_DROPPED), 2);
	assert_ledger();
}

/* A packet socket that captures is announced a clone, before the kernel itself consumes the skb. */
TEST(test_announced_to_a_packet_socket)
{
	enum { PACKET = 17, ALL = 0x300 };

	softirq_entry(NET_RX);
	receive(SKB, "eth0", 84);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .family = PACKET, .protocol = ALL);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	softirq_exit(NET_RX);
	assert_int_equal(events(NF_EVENT_CONSUMED), 1);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_ledger();
}

/* What is consumed in a later run has the memory of an skb that was freed without an event. */
TEST(test_consumed_in_a_later_run)
{
	bring(SKB, "eth0", 52, 0, 0);
	softirq_entry(NET_RX);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	softirq_exit(NET_RX);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_ledger();
}

/* The skb of an earlier run that nothing announced is in no queue. */
TEST(test_announced_in_a_later_run)
{
	bring(SKB, "eth0", 1500, 0, 0);
	bring(SKB2, "eth0", 1500, SOCK, TCP);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB2, .len = 1448);
	correlator_settle(world.correlator);
	assert_int_equal(world.journeys, 1);
	assert_true(world.journey.stage_ns[NF_STAGE_SOCK_QUEUE] > 0);
	assert_ledger();
}

/* Before 6.18 the reader consumes the datagram, and then its read is reported, too. */
TEST(test_a_consumed_datagram_is_read_once)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	bring(SKB2, "lo", 200, SOCK, UDP);
	as_task(READER);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	HAPPEN(CONSUME_SKB, .skb = SKB2);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 172);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_ledger();
}

/* __udp_enqueue_schedule_skb() names the datagram, also one that is dropped because the buffer is full. */
TEST(test_enqueue_names_the_datagram)
{
	softirq_entry(NET_RX);
	receive(SKB, "lo", 100);
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = SOCK, .skb = SKB);
	HAPPEN(SK_DATA_READY, .sk = SOCK);
	receive(SKB2, "lo", 200);
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = SOCK, .skb = SKB2);
	HAPPEN(KFREE_SKB, .skb = SKB2, .location = 0x77, .protocol = IP, .reason = 6);
	receive(SKB3, "lo", 300);
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = SOCK, .skb = SKB3);
	HAPPEN(SK_DATA_READY, .sk = SOCK);
	softirq_exit(NET_RX);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(world.journey.bytes.len, 100);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 272);
	assert_int_equal(world.journey.bytes.len, 300);
	assert_int_equal(segment_count("lo", NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE), 2);
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	assert_ledger();
}

/* A reader on another CPU takes a datagram before the kernel announces it: it was in the queue nevertheless. */
TEST(test_a_reader_before_the_announcement)
{
	softirq_entry(NET_RX);
	receive(SKB, "lo", 100);
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = SOCK, .skb = SKB);
	on_cpu(1);
	world.next.softirq = false;
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_not_equal(world.journey.stage_ns[NF_STAGE_SOCK_QUEUE], 0);
	assert_int_equal(segment_count("lo", NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE), 1);
	assert_ledger();
}

static void enqueue(uint64_t skb, uint64_t sk)
{
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = sk, .skb = skb);
	HAPPEN(SK_DATA_READY, .sk = sk, .protocol = UDP);
}

static void read_datagram(uint64_t sk)
{
	HAPPEN(SOCK_RECV_LENGTH, .sk = sk, .protocol = UDP, .len = 72);
}

/* A socket also gets datagrams of devices whose receive is not shown: they have their places in its queue. */
TEST(test_datagrams_of_hidden_devices)
{
	correlator_hide_devices(world.correlator);
	softirq_entry(NET_RX);
	/* A pure ACK, of which no other event shows anything. */
	receive(0x4000, "eth0", 52);
	enqueue(SKB2, SOCK);
	receive(SKB, "eth0", 100);
	enqueue(SKB, SOCK);
	HAPPEN(UDP_ENQUEUE_SCHEDULE_SKB, .sk = SOCK, .skb = SKB3);
	HAPPEN(KFREE_SKB, .skb = SKB3, .location = 0x77, .protocol = IP, .reason = 6);
	receive(SKB3, "eth0", 300);
	enqueue(SKB3, SOCK);
	softirq_exit(NET_RX);
	as_task(READER);
	read_datagram(SOCK);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	read_datagram(SOCK);
	assert_int_equal(world.journey.bytes.len, 100);
	read_datagram(SOCK);
	assert_int_equal(world.journey.bytes.len, 300);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE), 2);
	assert_int_equal(events(NF_EVENT_COUNTED), 1);
	assert_string_equal(world.drop.device, "");
	assert_ledger();
}

/* Without the probe that names datagrams, their announcements take the places; one was read before its own. */
TEST(test_announcements_of_hidden_devices)
{
	correlator_hide_devices(world.correlator);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	bring(SKB, "eth0", 100, SOCK, UDP);
	as_task(READER);
	read_datagram(SOCK);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	read_datagram(SOCK);
	assert_int_equal(world.journey.bytes.len, 100);
	read_datagram(SOCK);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	bring(SKB2, "eth0", 200, SOCK, UDP);
	read_datagram(SOCK);
	assert_int_equal(world.journey.bytes.len, 200);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_ledger();
}

/* The memory of a segment that TCP merged is that of a datagram of a hidden device now. */
TEST(test_memory_that_a_hidden_device_uses)
{
	correlator_hide_devices(world.correlator);
	bring(SKB, "eth0", 1500, SOCK2, TCP);
	softirq_entry(NET_RX);
	enqueue(SKB, SOCK);
	softirq_exit(NET_RX);
	as_task(READER);
	HAPPEN(SKB_ATTEMPT_DEFER_FREE, .skb = SKB);
	read_datagram(SOCK);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_ledger();
}

/* close() frees the FIN in the queue of a TCP socket as it frees what was spliced, which has payload. */
TEST(test_a_fin_is_not_read)
{
	bring(SKB, "eth0", 52, SOCK, TCP);
	bring(SKB2, "eth0", 1500, SOCK, TCP);
	as_task(READER);
	HAPPEN(SKB_ATTEMPT_DEFER_FREE, .skb = SKB);
	HAPPEN(SKB_ATTEMPT_DEFER_FREE, .skb = SKB2);
	assert_int_equal(events(NF_EVENT_CONSUMED), 1);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_ledger();
}

/* GRO shows a list of skbs before it delivers the first; the pure ACK in it is not announced. */
TEST(test_a_list_of_skbs)
{
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 52);
	receive(SKB2, "eth0", 1500);
	receive(SKB3, "eth0", 600);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = TCP);
	HAPPEN(SK_DATA_READY, .sk = SOCK2, .protocol = TCP);
	softirq_exit(NET_RX);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB3, .len = 548);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB2, .len = 1448);
	assert_int_equal(world.journey.bytes.len, 600);
	correlator_settle(world.correlator);
	assert_int_equal(world.journey.bytes.len, 1500);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE), 2);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_ledger();
}

static void timer_wakes(uint32_t tid)
{
	world.next.irq = true;
	HAPPEN(SCHED_WAKING, .number = tid);
	world.next.irq = false;
}

/* A timer's interrupt while the kernel shows the list, and while it delivers it. */
TEST(test_an_interrupt_in_a_list)
{
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 100);
	timer_wakes(OTHER_TASK);
	receive(SKB2, "eth0", 200);
	receive(SKB3, "eth0", 300);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	timer_wakes(OTHER_TASK);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	softirq_exit(NET_RX);
	as_task(READER);
	for (uint32_t i = 1; i <= 3; i++) {
		read_datagram(SOCK);
		assert_int_equal(world.journey.bytes.len, 100 * i);
	}
	assert_int_equal(events(NF_EVENT_DELIVERED), 3);
	assert_ledger();
}

/* A message of AF_UNIX has the memory of an ACK that was freed without an event: its reader consumes it. */
TEST(test_a_message_is_not_delivered)
{
	bring(SKB, "eth0", 1500, 0, 0);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 8);
	HAPPEN(SCHED_SWITCH, .number = OTHER_TASK);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	bring(SKB2, "eth0", 52, 0, 0);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB2, .len = 4096);
	correlator_settle(world.correlator);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_RX_TOTAL), 0);
	assert_ledger();
}

/* A softirq frees a datagram that was read before its reader reports that: the task there is not the reader. */
TEST(test_freed_before_the_read_is_reported)
{
	bring(SKB, "lo", 100, SOCK, UDP);
	bring(SKB2, "lo", 100, SOCK, UDP);
	as_task(OTHER_TASK);
	softirq_entry(NET_RX);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	softirq_exit(NET_RX);
	assert_int_equal(world.journeys, 1);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_DELIVERED);
	assert_int_equal(world.journey.task.tid, 0);
	assert_false(world.journey.flags & NF_JOURNEY_TASK);
	as_task(READER);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_int_equal(world.journey.task.tid, READER);
	assert_ledger();
}

/* TCP merges later segments into one that has payload, announced or not: its copy is longer than it was received. */
TEST(test_a_copy_of_merged_segments)
{
	bring(SKB, "eth0", 1500, SOCK, TCP);
	bring(SKB2, "eth0", 1500, 0, 0);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 9000);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB2, .len = 65536);
	correlator_settle(world.correlator);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 0);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_RX_TOTAL), 2);
	assert_ledger();
}

/* A segment of 4 bytes is as short as an ACK, but a socket has it announced. */
TEST(test_a_copy_merged_into_a_short_segment)
{
	bring(SKB, "eth0", 56, SOCK, TCP);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 104);
	correlator_settle(world.correlator);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 0);
	assert_ledger();
}

/* The last ACK of a handshake is announced to the socket that listens; then its memory is that of another skb. */
TEST(test_the_last_ack_of_a_handshake)
{
	bring(SKB, "eth0", 52, SOCK, TCP);
	as_task(OTHER_TASK);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_ledger();
}

/* Before 6.3 nothing announces segments: an ACK is not what a task consumes later, but a datagram is known. */
TEST(test_an_ack_without_announcements)
{
	world_end(state);
	world.settings.has[NF_PROBE_SK_DATA_READY] = false;
	world.settings.has[NF_PROBE_UDP_ENQUEUE_SCHEDULE_SKB] = true;
	assert_int_equal(world_open(), 0);
	bring(SKB, "eth0", 52, 0, 0);
	bring(SKB2, "eth0", 84, 0, 0);
	as_task(READER);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	HAPPEN(CONSUME_SKB, .skb = SKB2);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_ledger();
}

/* A datagram is never longer than it was received. */
TEST(test_a_copy_that_is_longer_than_its_datagram)
{
	bring(SKB, "eth0", 1500, SOCK, UDP);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 9000);
	correlator_settle(world.correlator);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_ledger();
}

/* A copy counts after a while, although its task does nothing more. */
TEST(test_a_copy_settles)
{
	bring(SKB, "eth0", 1500, SOCK, TCP);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 1448);
	as_task(OTHER_TASK);
	HAPPEN(CONSUME_SKB, .skb = SKB2);
	at(world.next.time_ns + 5000000);
	HAPPEN(CONSUME_SKB, .skb = SKB2);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	at(world.next.time_ns + 20000000);
	HAPPEN(CONSUME_SKB, .skb = SKB2);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_ledger();
}

/* ICMP and ARP end in the kernel. */
TEST(test_consumed_in_a_softirq)
{
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 84);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	softirq_exit(NET_RX);
	assert_int_equal(events(NF_EVENT_CONSUMED), 1);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_ledger();
}

TEST(test_up_to_a_bridge)
{
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 500);
	receive(SKB, "br0", 500);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = TCP);
	softirq_exit(NET_RX);
	as_task(READER);
	HAPPEN(SKB_COPY_DATAGRAM_IOVEC, .skb = SKB, .len = 448);
	correlator_settle(world.correlator);
	assert_int_equal(events(NF_EVENT_BEGUN), 1);
	assert_int_equal(world.journey.devices, 2);
	assert_string_equal(world.journey.device[1].name, "br0");
	assert_int_equal(segment_count("br0", NF_SEGMENT_RX_TOTAL), 1);
}

/* ---- sent --------------------------------------------------------------------------- */

static void send(uint64_t skb, const char *name, uint32_t len)
{
	HAPPEN(NET_DEV_QUEUE, .skb = skb, .device = name, .len = len);
	HAPPEN(NET_DEV_START_XMIT, .skb = skb, .device = name, .len = len, .protocol = IP);
	HAPPEN(NET_DEV_XMIT, .skb = skb, .device = name, .len = len);
}

TEST(test_all_stages_of_a_transmit)
{
	const __u64 *stage = world.journey.stage_ns;

	at(10000);
	HAPPEN(NET_DEV_QUEUE, .skb = SKB, .device = "eth0", .len = 1514);
	at(12000);
	HAPPEN(NET_DEV_START_XMIT, .skb = SKB, .device = "eth0", .len = 1514, .protocol = IP);
	at(15000);
	HAPPEN(NET_DEV_XMIT, .skb = SKB, .device = "eth0", .len = 1514);
	at(19000);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_TRANSMITTED);
	assert_int_equal(stage[NF_STAGE_QUEUE], 10000);
	assert_int_equal(stage[NF_STAGE_START_XMIT], 12000);
	assert_int_equal(stage[NF_STAGE_XMIT], 15000);
	assert_int_equal(stage[NF_STAGE_FREE], 19000);
	assert_int_equal(device("eth0")->segment[NF_SEGMENT_TX_TOTAL].sum_ns, 5000);
	assert_int_equal(device("eth0")->segment[NF_SEGMENT_XMIT_TO_FREE].sum_ns, 4000);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_ledger();
}

/* lo passes the skb to its own reception, where it waits since start_xmit. */
TEST(test_through_loopback)
{
	uint64_t start;

	HAPPEN(NET_DEV_QUEUE, .skb = SKB, .device = "lo", .len = 114);
	start = world.next.time_ns;
	HAPPEN(NET_DEV_START_XMIT, .skb = SKB, .device = "lo", .len = 114, .protocol = IP);
	HAPPEN(SOFTIRQ_RAISE, .number = NET_RX);
	HAPPEN(NET_DEV_XMIT, .skb = SKB, .device = "lo", .len = 114);
	softirq_entry(NET_RX);
	receive(SKB, "lo", 100);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_TRANSMITTED);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_FREE], 0);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = UDP);
	softirq_exit(NET_RX);
	HAPPEN(SOCK_RECV_LENGTH, .sk = SOCK, .protocol = UDP, .len = 72);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_DELIVERED);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_SOFTIRQ_RAISE], start);
	assert_int_equal(world.journey.stage_ns[NF_STAGE_IRQ], 0);
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	assert_ledger();
}

TEST(test_forwarded)
{
	HAPPEN(SOFTIRQ_RAISE, .number = NET_RX);
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 1000);
	send(SKB, "eth1", 1014);
	softirq_exit(NET_RX);
	softirq_entry(NET_TX);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	softirq_exit(NET_TX);
	assert_int_equal(world.journeys, 1);
	assert_int_equal(world.journey.outcome, NF_OUTCOME_FORWARDED);
	assert_int_equal(world.journey.devices, 2);
	assert_true(world.journey.stage_ns[NF_STAGE_RECEIVE]);
	assert_int_equal(segment_count("eth1", NF_SEGMENT_FORWARD_TOTAL), 1);
	assert_int_equal(segment_count("eth1", NF_SEGMENT_TX_TOTAL), 0);
	assert_int_equal(events(NF_EVENT_FORWARDED), 1);
	assert_ledger();
}

/* A task sends in the memory of a received skb that was freed without an event. */
TEST(test_sent_in_the_memory_of_a_received_one)
{
	bring(SKB, "eth0", 52, 0, 0);
	as_task(OTHER_TASK);
	send(SKB, "eth0", 66);
	softirq_entry(NET_RX);
	receive(SKB2, "eth0", 52);
	receive(SKB3, "eth0", 1500);
	HAPPEN(SK_DATA_READY, .sk = SOCK, .protocol = TCP);
	send(SKB2, "eth0", 66);
	softirq_exit(NET_RX);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_RECEIVE_TO_QUEUE), 0);
	assert_ledger();
}

TEST(test_through_a_vlan_device)
{
	HAPPEN(NET_DEV_QUEUE, .skb = SKB, .device = "eth0.5", .len = 114);
	HAPPEN(NET_DEV_START_XMIT, .skb = SKB, .device = "eth0.5", .len = 114, .protocol = IP);
	send(SKB, "eth0", 118);
	HAPPEN(NET_DEV_XMIT, .skb = SKB, .device = "eth0.5", .len = 114);
	HAPPEN(CONSUME_SKB, .skb = SKB);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 2);
	assert_int_equal(segment_count("eth0.5", NF_SEGMENT_START_TO_XMIT), 1);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_TX_TOTAL), 1);
	assert_ledger();
}

/* A driver's interrupt handler gives completed transmits to NET_TX, which frees them with kfree_skb. */
TEST(test_completed_by_net_tx)
{
	send(SKB, "eth0", 114);
	softirq_entry(NET_TX);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x99, .protocol = IP, .reason = 2);
	softirq_exit(NET_TX);
	assert_int_equal(events(NF_EVENT_COMPLETED), 1);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_null(correlator_drops(world.correlator, 0));
	assert_ledger();
}

/* ---- dropped ------------------------------------------------------------------------- */

TEST(test_drops_are_counted_by_key)
{
	const struct correlator_drops *drops;

	for (int i = 0; i < 4217; i++) {
		softirq_entry(NET_RX);
		receive(SKB, "eth0", 100);
		HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x77, .protocol = IP, .reason = 3);
		softirq_exit(NET_RX);
	}
	HAPPEN(KFREE_SKB, .skb = SKB2, .location = 0x77, .protocol = IP, .reason = 3);
	drops = correlator_drops(world.correlator, 0);
	assert_int_equal(drops->packets, 4217);
	assert_int_equal(drops->reason, 3);
	assert_int_equal(drops->location, 0x77);
	assert_string_equal(correlator_device(world.correlator, drops->device)->name, "eth0");
	drops = correlator_drops(world.correlator, 1);
	assert_int_equal(drops->packets, 1);
	assert_int_equal(drops->device, 0);
	assert_null(correlator_drops(world.correlator, 2));
	assert_int_equal(events(NF_EVENT_DROPPED), 4217);
	assert_ledger();
}

/* With PREEMPT_RT, another task on this CPU can have a run of its own in the middle of one. */
TEST(test_drops_in_a_run_that_is_preempted)
{
	as_task(READER);
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 100);
	as_task(OTHER_TASK);
	softirq_entry(NET_RX);
	receive(SKB2, "eth1", 100);
	HAPPEN(KFREE_SKB, .skb = SKB2, .location = 0x77, .protocol = IP, .reason = 3);
	assert_string_equal(world.drop.device, "eth1");
	softirq_exit(NET_RX);
	as_task(READER);
	world.next.softirq = true;
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x77, .protocol = IP, .reason = 3);
	assert_string_equal(world.drop.device, "eth0");
	softirq_exit(NET_RX);
	assert_int_equal(events(NF_EVENT_DROPPED), 2);
	assert_ledger();
}

/* The kernel switches to another task in the middle of a run, one that would have the same context, and back. */
TEST(test_a_run_that_is_interrupted)
{
	as_task(READER);
	softirq_entry(NET_RX);
	receive(SKB, "eth0", 100);
	HAPPEN(SCHED_SWITCH, .number = READER + NF_CONTEXTS);
	as_task(READER + NF_CONTEXTS);
	world.next.softirq = false;
	HAPPEN(SCHED_SWITCH, .number = READER);
	as_task(READER);
	world.next.softirq = true;
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x77, .protocol = IP, .reason = 3);
	softirq_exit(NET_RX);
	assert_string_equal(world.drop.device, "eth0");
	assert_ledger();
}

/* A message is no packet of the device that received what had its memory before. */
TEST(test_a_dropped_message_has_no_device)
{
	bring(SKB, "eth0", 52, 0, 0);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x77, .reason = 2);
	assert_int_equal(correlator_drops(world.correlator, 0)->device, 0);
	assert_string_equal(world.drop.device, "");
	assert_int_equal(events(NF_EVENT_DROPPED), 0);
	assert_ledger();
}

TEST(test_a_drop_record)
{
	as_task(READER);
	HAPPEN(NET_DEV_QUEUE, .skb = SKB, .device = "eth0", .len = 114);
	HAPPEN(KFREE_SKB, .skb = SKB, .location = 0x88, .protocol = IP, .reason = 5);
	assert_int_equal(world.drops, 1);
	assert_int_equal(world.drop.location, 0x88);
	assert_int_equal(world.drop.flags, NF_DROP_REASON | NF_DROP_TASK);
	assert_int_equal(world.drop.task.tid, READER);
	assert_string_equal(world.drop.device, "eth0");
	assert_int_equal(world.drop.bytes.len, 114);
}

/* More keys than the table has: reason by reason, and nothing is lost. */
TEST(test_strangers_fill_the_table_of_drops)
{
	uint64_t packets = 0;

	for (uint64_t i = 0; i < 100000; i++)
		HAPPEN(KFREE_SKB, .skb = SKB, .location = 1 + i, .protocol = IP,
		       .reason = (uint32_t)i);
	for (uint32_t i = 0; correlator_drops(world.correlator, i); i++)
		packets += correlator_drops(world.correlator, i)->packets;
	assert_int_equal(packets, 100000);
	assert_int_equal(events(NF_EVENT_COUNTED), 16);
	assert_ledger();
}

/* ---- the tables, and the source ---------------------------------------------------------- */

TEST(test_more_devices_than_the_table_has)
{
	char name[16];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "veth%d", i);
		bring(SKB + (uint64_t)i * 256, name, 100, 0, 0);
	}
	assert_int_equal(correlator_devices(world.correlator), 9);
	assert_int_equal(device("veth7")->packets, 1);
	assert_int_equal(device("")->packets, 992);
	assert_ledger();
}

TEST(test_polls)
{
	HAPPEN(NAPI_POLL, .device = "eth0", .work = 64, .budget = 64);
	on_cpu(1);
	HAPPEN(NAPI_POLL, .device = "eth0", .work = 3, .budget = 64);
	HAPPEN(NAPI_POLL, .device = "(no_device)", .work = 5, .budget = 64);
	assert_int_equal(device("eth0")->polls[0].full_budgets, 1);
	assert_int_equal(device("eth0")->polls[1].packets, 3);
	assert_int_equal(correlator_backlog(world.correlator, 1)->packets, 5);
}

/* What a CPU was doing is not known behind lost events: a softirq that seems to last would bring all packets. */
TEST(test_lost_events)
{
	softirq_entry(NET_RX);
	world.next.softirq = false;
	correlator_lost(world.correlator, 0, 17);
	receive(SKB, "eth0", 100);
	assert_int_equal(segment_count("eth0", NF_SEGMENT_SOFTIRQ_TO_RECEIVE), 0);
	assert_int_equal(correlator_totals(world.correlator)->lost, 17);
	HAPPEN(NET_DEV_XMIT, .skb = SKB2, .device = "eth0", .len = 114);
	assert_ledger();
}

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*seed >> 33) % limit;
}

/* Any events in any order: the ledger adds up, and the tables do not grow. */
TEST(test_any_events)
{
	static const char *const names[] = {"lo", "eth0", "br0", "", NULL, "(no_device)"};
	uint64_t seed = 20261126;

	world_end(state);
	world.settings.inflight_entries = 32;
	assert_int_equal(world_open(), 0);
	for (int i = 0; i < 500000; i++) {
		struct event event = {
			.probe = (enum nf_probe)random_below(&seed, NF_PROBE_KFREE_SKB + 1),
			.skb = 8 * (1 + random_below(&seed, 60)),
			.sk = random_below(&seed, 100),
			.number = random_below(&seed, 6),
			.len = random_below(&seed, 3) * 14 + 100,
			.protocol = (uint16_t)(random_below(&seed, 2) ? IP : UDP),
			.device = names[random_below(&seed, 6)],
			.reason = random_below(&seed, 5),
			.location = random_below(&seed, 5),
		};

		on_cpu(random_below(&seed, CPUS));
		as_task(random_below(&seed, 90));
		world.next.softirq = random_below(&seed, 2);
		happen(event);
		if (!random_below(&seed, 5000))
			correlator_lost(world.correlator, world.next.cpu, 1);
	}
	correlator_settle(world.correlator);
	assert_true(events(NF_EVENT_DELIVERED) && events(NF_EVENT_FORWARDED) &&
		    events(NF_EVENT_OVERWRITTEN));
	assert_ledger();
}

/* An event of a CPU that the settings do not have is lost, and not written anywhere. */
TEST(test_a_cpu_too_many)
{
	on_cpu(CPUS);
	receive(SKB, "eth0", 100);
	assert_int_equal(correlator_totals(world.correlator)->lost, 1);
	assert_int_equal(events(NF_EVENT_BEGUN), 0);
}
