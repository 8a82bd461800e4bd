/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/reader.h and bpf/stream.h: which skb a UDP reader read, and the bytes of TCP readers. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])

static struct machine_socket sock;
static struct kernfs_node node = {.id = 77};
static struct cgroup cgroup = {.kn = &node};

static int reader_begin(void **state)
{
	path_begin(state);
	socket_init(&sock, SOCK_DGRAM, IPPROTO_UDP);
	sock.sk.sk_cgrp_data.cgroup = &cgroup;
	return 0;
}

EACH_TEST(reader_begin, path_end);

static struct sk_buff_head *const sk_queue = &sock.sk.sk_receive_queue;

/* A reader takes the first skb. */
static struct sk_buff *take(void)
{
	return queue_take(sk_queue);
}

/* A datagram is received at `ns`, queued, and announced 160 ns later. */
static struct sk_buff *arrives(struct sk_buff *skb, __u64 ns)
{
	at(ns);
	softirq_entry(NET_RX_SOFTIRQ);
	at(ns);
	receive(skb);
	skb->skb_iif = 2;
	queue_udp(&sock, skb);
	at(ns + 160);
	data_ready(&sock.sk);
	softirq_exit(NET_RX_SOFTIRQ);
	return skb;
}

TEST(test_reads_in_order)
{
	struct sk_buff *b;

	arrives(skb_new(NET_A), 10000);
	b = arrives(skb_new(NET_A), 20000);
	b->head[MACHINE_NETWORK + 1] = 0x77;
	take();
	at(30000);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 10000);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], 10160);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 30000);
	assert_int_equal(journey()->bytes.net[1], 0);
	take();
	at(40000);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 20000);
	assert_int_equal(journey()->bytes.net[1], 0x77);
	assert_int_equal(journey()->bytes.net_len, NF_READER_HEADER);
	assert_int_equal(journey()->bytes.len, 100);
	assert_int_equal(journey()->bytes.protocol, 0x0800);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 2, 40000);
	recv_length(&sock.sk, 72, 0); /* nothing is expected */
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_balanced();
}

/* A look into the queue, an error and another socket's read end nothing. */
TEST(test_what_is_no_read)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);
	struct machine_socket tcp = sock;

	take();
	recv_length(&sock.sk, 72, MSG_PEEK);
	recv_length(&sock.sk, 72, MSG_ERRQUEUE);
	recv_length(&sock.sk, -11, 0);
	tcp.sk.sk_protocol = IPPROTO_TCP;
	recv_length(&tcp.sk, 72, 0);
	assert_int_equal(event_of(NF_PROBE_SOCK_RECV_LENGTH, NF_EVENT_HIT), 0);
	assert_non_null(entry_of(a));
	recv_length(&sock.sk, 0, 0); /* an empty datagram */
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
}

/* Two tasks read, and the second one overtakes: what is still first was not read. */
TEST(test_overtaken_reader)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_non_null(entry_of(a));
	take();
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
}

/* udp_recvmsg() reads from reader_queue first. */
TEST(test_reader_queue)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);
	struct sk_buff *b = skb_new(NET_A);

	queue_splice(sk_queue, &sock.udp.reader_queue);
	arrives(b, 20000);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_ptr_equal(queue_take(&sock.udp.reader_queue), a);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 10000);
}

/* A reader on another CPU is faster than the announcement: which skb it read is not known. */
TEST(test_read_before_its_announcement)
{
	struct sk_buff *a = skb_new(NET_A);

	softirq_entry(NET_RX_SOFTIRQ);
	receive(a);
	a->skb_iif = 2;
	queue_udp(&sock, a);
	take();
	on_cpu(1);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	on_cpu(0);
	data_ready(&sock.sk);
	consume(a);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1); /* it was in the queue, so it was read */
	assert_int_equal(stand_in_records(), 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 0, 0);
	assert_balanced();
}

/* The CPU that allocated the skb frees it before the reader reaches sock_recv_length. */
TEST(test_freed_before_recv_length)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	on_cpu(1);
	softirq_entry(NET_RX_SOFTIRQ);
	at(20000);
	consume(a);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 20000);
	assert_hist(NET_A, NF_HIST_SOFTIRQ_RECEIVE_TO_COPY, 1, 10000);
	on_cpu(0);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_balanced();
}

/* ... and the datagram that comes next gets the memory of the one that was read. */
TEST(test_freed_and_reused_before_recv_length)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	on_cpu(1);
	softirq_entry(NET_RX_SOFTIRQ);
	at(20000);
	consume(a);
	softirq_exit(NET_RX_SOFTIRQ);
	skb_reuse(a, NET_A);
	arrives(a, 30000);
	on_cpu(0);
	recv_length(&sock.sk, 72, 0);
	take();
	at(45000);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 45000);
	assert_balanced();
}

/* The skb that was expected is another one by now: its read is not timed. */
TEST(test_expected_skb_was_reused)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	skb_reuse(a, NET_A);
	at(15000);
	receive(a);
	at(20000);
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	assert_int_equal(stand_in_records(), 0);
	assert_non_null(entry_of(a));
	assert_balanced();
}

/* The memory of the skb that is read is freed, and sent, before its journey is ended. */
static struct sk_buff *again;

static void reuse_before_the_end(enum stand_in_point point)
{
	if (point != STAND_IN_BEFORE_EXCHANGE)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	softirq_entry(NET_RX_SOFTIRQ);
	consume(again);
	softirq_exit(NET_RX_SOFTIRQ);
	skb_reuse(again, NET_A);
	at(30000);
	queue(again);
	on_cpu(0);
}

TEST(test_reused_during_read)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	again = a;
	stand_in.hook = reuse_before_the_end;
	recv_length(&sock.sk, 72, 0);
	assert_null(stand_in.hook);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 1);
	assert_non_null(entry_of(a));
	on_cpu(1);
	at(31600);
	start_xmit(a, NET_A);
	assert_hist(NET_A, NF_SEGMENT_QUEUE_TO_START, 1, 1600);
	assert_balanced();
}

/* Its reader is done, and its memory is that of another one, before it is marked as the next in line. */
static void receive_before_the_mark(enum stand_in_point point)
{
	if (point != STAND_IN_BEFORE_EXCHANGE)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	consume(take());
	skb_reuse(again, NET_A);
	at(30000);
	receive(again);
	again->skb_iif = 2;
	on_cpu(0);
}

TEST(test_read_before_the_mark)
{
	arrives(skb_new(NET_A), 5000);
	take();
	recv_length(&sock.sk, 72, 0);
	again = skb_new(NET_A);
	at(10000);
	softirq_entry(NET_RX_SOFTIRQ);
	receive(again);
	again->skb_iif = 2;
	queue_udp(&sock, again);
	stand_in.hook = receive_before_the_mark;
	data_ready(&sock.sk);
	assert_null(stand_in.hook);
	softirq_exit(NET_RX_SOFTIRQ);
	/* The host itself consumes the new one. */
	consume(again);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_int_equal(events(NF_EVENT_CONSUMED), 1);
	assert_balanced();
}

/* The kernel freed it silently, and its memory is sent: the reader or that CPU ends the journey, not both. */
static void queue_before_the_end(enum stand_in_point point)
{
	if (point != STAND_IN_BEFORE_EXCHANGE)
		return;
	stand_in.hook = NULL;
	on_cpu(1);
	recv_length(&sock.sk, 72, 0);
	on_cpu(0);
}

TEST(test_read_during_reuse)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	skb_reuse(a, NET_A);
	at(30000);
	stand_in.hook = queue_before_the_end;
	queue(a);
	assert_null(stand_in.hook);
	at(31600);
	start_xmit(a, NET_A);
	assert_int_equal(events(NF_EVENT_DELIVERED) + events(NF_EVENT_INVALIDATED), 1);
	assert_hist(NET_A, NF_SEGMENT_QUEUE_TO_START, 1, 1600);
	assert_balanced();
}

/* The reader is late: another CPU has ended the journey, and begins that of a new skb in the memory. */
static void read_at_the_begin(enum stand_in_point point)
{
	if (point != STAND_IN_AFTER_EXCHANGE)
		return;
	stand_in.hook = NULL;
	on_cpu(0);
	recv_length(&sock.sk, 72, 0);
	on_cpu(1);
}

TEST(test_read_at_the_begin_of_the_next)
{
	struct sk_buff *a = arrives(skb_new(NET_A), 10000);

	take();
	on_cpu(1);
	softirq_entry(NET_RX_SOFTIRQ);
	consume(a);
	softirq_exit(NET_RX_SOFTIRQ);
	skb_reuse(a, NET_A);
	at(30000);
	stand_in.hook = read_at_the_begin;
	queue(a);
	assert_null(stand_in.hook);
	assert_non_null(entry_of(a));
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 0);
	assert_balanced();
}

/* An skb arrives between the look into the empty queue and the note that nothing is expected. */
static struct sk_buff *late;

static void arrives_late(enum stand_in_point point)
{
	if (point != STAND_IN_BEFORE_EXCHANGE)
		return;
	stand_in.hook = NULL;
	queue_udp(&sock, late);
}

TEST(test_arrival_during_read)
{
	arrives(skb_new(NET_A), 10000);
	late = skb_new(NET_A);
	receive(late);
	late->skb_iif = 2;
	take();
	stand_in.hook = arrives_late;
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	take();
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_balanced();
}

/* Headers that cannot be read are left out of the record. */
TEST(test_unreadable_headers)
{
	struct sk_buff *a = skb_new(NET_A);

	stand_in.unreadable[0].from = a->head;
	stand_in.unreadable[0].size = MACHINE_HEAD;
	arrives(a, 10000);
	take();
	recv_length(&sock.sk, 72, 0);
	assert_int_equal(journey()->bytes.net_len, 0);
	assert_int_equal(journey()->bytes.len, 100);
}

/* ---- TCP ---- */

enum { HEADERS = 40, PAYLOAD = 60 };

/* A received TCP skb of a socket: IPv4 and TCP headers of 20 bytes each, and PAYLOAD. */
static struct sk_buff *segment(void)
{
	struct sk_buff *skb = skb_new(NET_A);

	sock.sk.sk_protocol = IPPROTO_TCP;
	skb->head[MACHINE_TRANSPORT + 12] = 5 << 4;
	receive(skb);
	skb->skb_iif = 2;
	skb->sk = &sock.sk;
	skb->len -= HEADERS; /* pulled */
	skb->data += HEADERS;
	return skb;
}

static __u64 stream(enum nf_stream_bytes kind)
{
	__u64 sum = 0;

	for (__u32 cpu = 0; cpu < MACHINE_CPUS; cpu++)
		sum += cpu_state(cpu)->stream_bytes[kind];
	return sum;
}

static void assert_stream(__u64 delivered, __u64 merged, __u64 untracked)
{
	assert_int_equal(stream(NF_STREAM_DELIVERED), delivered);
	assert_int_equal(stream(NF_STREAM_MERGED), merged);
	assert_int_equal(stream(NF_STREAM_UNTRACKED), untracked);
}

TEST(test_tcp_segment)
{
	struct sk_buff *skb = segment();

	copy(skb, PAYLOAD);
	assert_stream(PAYLOAD, 0, 0);
	assert_int_equal(journey()->merged, 0);
	copy(skb, PAYLOAD); /* at its end already: whatever this is, it is not known */
	assert_stream(PAYLOAD, 0, PAYLOAD);
}

/* More bytes than the skb has left: another skb at its address. */
TEST(test_tcp_beyond_the_end)
{
	struct sk_buff *skb = segment();

	copy(skb, 10);
	copy(skb, PAYLOAD);
	assert_stream(10, 0, PAYLOAD);
}

/* TCP appended 500 bytes of other skbs, and more between two copies. */
TEST(test_tcp_merged)
{
	struct sk_buff *skb = segment();

	skb->len += 500;
	copy(skb, 50);
	assert_stream(50, 0, 0);
	assert_int_equal(journey()->merged, 500);
	copy(skb, 100);
	assert_stream(PAYLOAD, 90, 0);
	skb->len += 1000;
	copy(skb, skb->len - 150);
	assert_stream(PAYLOAD, 1500, 0);
}

/* The frame was padded behind the length that the IP header names. */
TEST(test_tcp_padding)
{
	struct sk_buff *skb = skb_new(NET_A);

	skb->head[MACHINE_TRANSPORT + 12] = 5 << 4;
	assert_int_equal(nf_stream_own(skb, 100), 60);
	assert_int_equal(nf_stream_own(skb, 100 + NF_STREAM_SLACK - 1), 60);
	/* The header says less than any padding explains: the length at receive counts. */
	assert_int_equal(nf_stream_own(skb, 100 + NF_STREAM_SLACK), 100);
	skb->head[MACHINE_NETWORK] = 0x60;
	skb->head[MACHINE_NETWORK + 4] = 0;
	skb->head[MACHINE_NETWORK + 5] = 60;
	skb->transport_header = MACHINE_NETWORK + 40;
	skb->head[skb->transport_header + 12] = 5 << 4;
	assert_int_equal(nf_stream_own(skb, 110), 40);
	stand_in.unreadable[0].from = skb->head;
	stand_in.unreadable[0].size = MACHINE_HEAD;
	assert_int_equal(nf_stream_own(skb, 110), skb->len);
}

/* An skb that is not in the table, and one of another socket in the same entry. */
TEST(test_tcp_untracked)
{
	struct sk_buff *skb = skb_new(NET_A), *known;

	known = segment();
	copy(known, 10);
	skb->sk = &sock.sk;
	skb->skb_iif = 2;
	copy(skb, 70);
	assert_stream(10, 0, 70);
	copy(known, PAYLOAD - 10);
	assert_stream(PAYLOAD, 0, 70);
	/* Without a socket, or of another protocol, nothing counts. */
	skb->sk = NULL;
	copy(skb, 30);
	assert_stream(PAYLOAD, 0, 70);
}
