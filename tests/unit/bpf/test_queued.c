/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/queued.h: which skbs an announcement puts into a socket's queue, and when. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])

enum { LIST = 8, BEGIN = 16000 };

static struct machine_socket tcp, udp;

static int queued_begin(void **state)
{
	path_begin(state);
	socket_init(&tcp, 1, IPPROTO_TCP);
	socket_init(&udp, SOCK_DGRAM, IPPROTO_UDP);
	settings.udp_reader = false;
	return 0;
}

EACH_TEST(queued_begin, path_end);

/* An skb that is received at `ns`. */
static struct sk_buff *received_at(__u64 ns)
{
	struct sk_buff *skb = skb_new(NET_A);

	at(ns);
	receive(skb);
	skb->skb_iif = NET_A->ifindex;
	return skb;
}

static void append(struct machine_socket *s, struct sk_buff *skb)
{
	if (s->sk.sk_protocol == IPPROTO_UDP)
		queue_udp(s, skb);
	else
		queue_append(&s->sk.sk_receive_queue, skb);
}

static void announced_at(struct machine_socket *s, __u64 ns)
{
	at(ns);
	data_ready(&s->sk);
}

/* The stage, in ns after receive; 0 = it has none. */
static __u64 queued_after(const struct sk_buff *skb)
{
	return (__u64)entry_of(skb)->sock_queue << NF_TICK_SHIFT;
}

static const struct sk_buff *ready(void)
{
	for (__u32 i = 0; i < machine.skbs; i++)
		if (cpu_state(stand_in.cpu)->ready == nf_address(&machine.skb[i]))
			return &machine.skb[i];
	return NULL;
}

/* ---- the walk from the tail ---- */

TEST(test_one)
{
	struct sk_buff *skb = received_at(BEGIN);

	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(queued_after(skb), 1600);
	assert_ptr_equal(ready(), skb);
	assert_int_equal(cpu_state(0)->ready_ns, BEGIN + 1600);
	announced_at(&tcp, BEGIN + 3200); /* again: the first announcement counts */
	assert_int_equal(queued_after(skb), 1600);
	assert_null(ready());
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
	at(20000);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], BEGIN + 1600);
	assert_false(journey()->flags & NF_JOURNEY_SLOW);
	assert_balanced();
}

/* GRO passes 8 skbs to netif_receive_skb before the first of them is in a queue. */
TEST(test_gro_list)
{
	static struct machine_socket s[3];
	struct sk_buff *skb[LIST];
	__u64 sum = 0;

	socket_init(&s[0], 1, IPPROTO_TCP);
	socket_init(&s[1], SOCK_DGRAM, IPPROTO_UDP);
	socket_init(&s[2], 1, IPPROTO_TCP);
	for (int i = 0; i < LIST; i++)
		skb[i] = received_at(BEGIN + 160 * i);
	for (int i = 0; i < LIST; i++) {
		append(&s[i % 3], skb[i]);
		announced_at(&s[i % 3], BEGIN + 8000 + 320 * i);
		assert_ptr_equal(ready(), skb[i]);
	}
	for (int i = 0; i < LIST; i++) {
		assert_int_equal(queued_after(skb[i]), 8000 + 160 * i);
		sum += 8000 + 160 * i;
	}
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, LIST, sum);
}

/* TCP appended the skb to the tail, which has the stage already. */
TEST(test_coalesced)
{
	struct sk_buff *tail = received_at(BEGIN), *merged;

	append(&tcp, tail);
	announced_at(&tcp, BEGIN + 1600);
	merged = received_at(BEGIN + 3200);
	announced_at(&tcp, BEGIN + 4800);
	assert_int_equal(queued_after(tail), 1600);
	assert_int_equal(queued_after(merged), 0);
	assert_null(ready());
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
}

/* SO_RCVLOWAT: TCP announces only the third. The reader reads the first. */
TEST(test_several)
{
	struct sk_buff *first, *skb[3];

	first = received_at(BEGIN);
	append(&tcp, first);
	announced_at(&tcp, BEGIN + 160);
	for (int i = 0; i < 3; i++)
		skb[i] = received_at(BEGIN + 1600 * i);
	for (int i = 0; i < 3; i++)
		append(&tcp, skb[i]);
	announced_at(&tcp, BEGIN + 8000);
	for (int i = 0; i < 3; i++)
		assert_int_equal(queued_after(skb[i]), 8000 - 1600 * i);
	assert_int_equal(queued_after(first), 160);
	assert_ptr_equal(ready(), skb[0]);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 4, 160 + 3 * 8000 - 3 * 1600);
	assert_hist(NET_A, NF_SEGMENT_GAP_WAIT, 0, 0);
}

/* ---- gaps ---- */

static void set_sequence(struct sk_buff *skb, __u32 sequence)
{
	((struct tcp_skb_cb *)skb->cb)->seq = sequence;
}

static void sack(int block, __u32 start, __u32 end)
{
	tcp.tcp.selective_acks[block] = (struct tcp_sack_block){start, end};
}

/* Its gap was filled that many ns after receive; 0: it did not wait behind one. */
static __u64 waited(const struct sk_buff *skb)
{
	const struct nf_inflight *e = entry_of(skb);

	return e->flags & NF_INFLIGHT_GAP ? (__u64)e->gap << NF_TICK_SHIFT : 0;
}

/* Three segments wait for the one before them. */
TEST(test_gap)
{
	struct sk_buff *skb[3], *missing;

	settings.udp_reader = true;
	for (int i = 0; i < 3; i++)
		skb[i] = received_at(BEGIN + 1600 * i);
	missing = received_at(BEGIN + 160000);
	set_sequence(missing, 4242);
	append(&tcp, missing);
	for (int i = 0; i < 3; i++)
		append(&tcp, skb[i]);
	announced_at(&tcp, BEGIN + 161600);
	assert_int_equal(queued_after(missing), 1600);
	assert_int_equal(waited(missing), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(waited(skb[i]), 160000 - 1600 * i);
		assert_int_equal(queued_after(skb[i]), 161600 - 1600 * i);
	}
	assert_ptr_equal(ready(), missing);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
	assert_hist(NET_A, NF_SEGMENT_GAP_WAIT, 3, 3 * 160000 - 3 * 1600);
	at(BEGIN + 170000);
	copy(skb[1], 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_GAP_FILLED], BEGIN + 160000);
	assert_int_equal(journey()->missing, 4242);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], BEGIN + 161600);
	assert_false(journey()->flags & NF_JOURNEY_NO_QUEUE);
	/* When it was filled is not the socket of a datagram, which ends its journey. */
	at(BEGIN + 180000);
	consume(skb[2]);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 170000 - 1600);
	assert_balanced();
}

/* A journey with a long gap_wait is slow. */
TEST(test_slow_gap)
{
	struct sk_buff *skb = received_at(BEGIN), *missing = received_at(BEGIN + 1600);

	live.sample = 0;
	live.threshold_ns[NF_SEGMENT_GAP_WAIT] = 1599;
	append(&tcp, missing);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 3200);
	copy(skb, 10);
	assert_true(journey()->flags & NF_JOURNEY_SLOW);
}

/* TCP appends the missing one to the tail: only the blocks show that the next one waited. */
TEST(test_gap_and_coalesced)
{
	struct sk_buff *tail = received_at(BEGIN), *skb[2];

	append(&tcp, tail);
	announced_at(&tcp, BEGIN + 160);
	for (int i = 0; i < 2; i++) {
		skb[i] = received_at(BEGIN + 1600 * i);
		set_sequence(skb[i], 0xffffff00 + 0x100 * i);
	}
	sack(2, 0xffffff00, 0x200);
	received_at(BEGIN + 16000);
	append(&tcp, skb[0]);
	append(&tcp, skb[1]);
	announced_at(&tcp, BEGIN + 16160);
	assert_int_equal(waited(skb[0]), 16160);
	assert_int_equal(waited(skb[1]), 16160 - 1600);
	assert_int_equal(entry_of(skb[0])->missing, 0xfffffeff);
	assert_int_equal(entry_of(skb[1])->missing, 0xfffffeff);
	assert_hist(NET_A, NF_SEGMENT_GAP_WAIT, 2, 2 * 16160 - 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 160);
}

/* The same with one that waited, at each edge of each block. */
TEST(test_gap_of_one)
{
	for (int i = 0; i < 4 * 4; i++) {
		static const __u32 sequence[] = {999, 1000, 1999, 2000};
		struct sk_buff *skb = received_at(BEGIN);
		bool inside = i % 4 == 1 || i % 4 == 2;

		socket_init(&tcp, 1, IPPROTO_TCP);
		sack(i / 4, 1000, 2000);
		set_sequence(skb, sequence[i % 4]);
		append(&tcp, skb);
		announced_at(&tcp, BEGIN + 1600);
		assert_int_equal(waited(skb), inside ? 1600 : 0);
		if (inside)
			assert_int_equal(entry_of(skb)->missing, sequence[i % 4] - 1);
	}
}

/* The stage is rounded to ticks, and the gap was filled before it. */
TEST(test_gap_and_ticks)
{
	struct sk_buff *skb = received_at(BEGIN);

	sack(0, 1000, 2000);
	set_sequence(skb, 1000);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600 + 15);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_GAP_FILLED], BEGIN + 1600);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], BEGIN + 1600);
	assert_hist(NET_A, NF_SEGMENT_GAP_WAIT, 1, 1600);
}

/* What this run of NET_RX has brought did not wait, whatever the socket reported before. */
TEST(test_no_gap_in_this_run)
{
	struct sk_buff *before = received_at(BEGIN), *skb;

	sack(0, 1000, 3000);
	at(BEGIN + 1600);
	softirq_entry(NET_RX_SOFTIRQ);
	skb = received_at(BEGIN + 3200);
	set_sequence(skb, 2000);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 4800);
	assert_int_equal(waited(skb), 0);
	assert_int_equal(queued_after(skb), 1600);
	/* And another one has. */
	set_sequence(before, 2500);
	append(&tcp, before);
	announced_at(&tcp, BEGIN + 6400);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(waited(before), 6400);
}

/* The socket or the skb cannot be read: nothing shows that it waited. */
TEST(test_gap_of_unreadable)
{
	struct sk_buff *skb = received_at(BEGIN);

	sack(0, 1000, 2000);
	set_sequence(skb, 1000);
	append(&tcp, skb);
	stand_in.unreadable[0].from = &tcp.tcp.selective_acks;
	stand_in.unreadable[0].size = sizeof(tcp.tcp.selective_acks);
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(waited(skb), 0);
	assert_int_equal(queued_after(skb), 1600);
	stand_in.unreadable[0].size = 0;
}

/* Datagrams have no sequence. */
TEST(test_no_gap_of_udp)
{
	struct sk_buff *older = received_at(BEGIN), *newer = received_at(BEGIN + 1600);

	append(&udp, newer);
	append(&udp, older);
	announced_at(&udp, BEGIN + 3200);
	assert_int_equal(queued_after(older), 3200);
	assert_int_equal(waited(older), 0);
	assert_hist(NET_A, NF_SEGMENT_GAP_WAIT, 0, 0);
}

/* Without fentry, too. */
TEST(test_gap_kprobe)
{
	struct pt_regs regs = {.di = (uintptr_t)&tcp.sk};
	struct sk_buff *skb = received_at(BEGIN), *missing = received_at(BEGIN + 1600);

	append(&tcp, missing);
	append(&tcp, skb);
	at(BEGIN + 3200);
	assert_int_equal(nf_sk_data_ready_kprobe(&regs), 0);
	assert_int_equal(waited(skb), 1600);
	assert_int_equal(waited(missing), 0);
	assert_ptr_equal(ready(), missing);
}

/* ---- the end of a walk ---- */

/* The walk has an end, also where a queue would have none; and what it reaches has waited for the first. */
static void check_limit(int lowat, __u64 wait)
{
	struct sk_buff *skb[NF_QUEUED_MAX + 4];
	int count = 0, waits = 0;

	tcp.sk.sk_rcvlowat = lowat;
	for (int i = 0; i < NF_QUEUED_MAX + 4; i++) {
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	set_sequence(skb[4], 4242);
	announced_at(&tcp, BEGIN + 1600);
	/* What is before the first of the walk has waited, too. */
	if (wait)
		assert_int_equal(entry_of(skb[5])->missing, 0);
	for (int i = 0; i < NF_QUEUED_MAX + 4; i++) {
		count += queued_after(skb[i]) == 1600;
		waits += waited(skb[i]) == 1600;
	}
	assert_int_equal(count, NF_QUEUED_MAX);
	assert_int_equal(waits, wait ? NF_QUEUED_MAX : 0);
	assert_int_equal(queued_after(skb[3]), 0);
	assert_ptr_equal(ready(), skb[4]);
}

TEST(test_limit)
{
	check_limit(1, 1600);
}

TEST(test_limit_of_low_water)
{
	check_limit(1 << 20, 0);
}

/* A clone, or an skb whose entry was lost, before and behind the skbs that the table knows. */
TEST(test_unknown)
{
	struct sk_buff *skb[3];

	for (int i = 0; i < 3; i++) {
		append(&tcp, skb_new(NET_A));
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	append(&tcp, skb_new(NET_A));
	announced_at(&tcp, BEGIN + 1600);
	for (int i = 0; i < 3; i++)
		assert_int_equal(queued_after(skb[i]), 1600);
	assert_ptr_equal(ready(), skb[0]);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 3, 4800);
	append(&tcp, skb_new(NET_A));
	announced_at(&tcp, BEGIN + 3200);
	assert_null(ready());
	assert_int_equal(queued_after(skb[2]), 1600);
}

/* A queue can be full of skbs that the table does not know (tcp_collapse()). */
TEST(test_unknown_limit)
{
	struct sk_buff *near = received_at(BEGIN), *far = received_at(BEGIN), *tail;

	append(&tcp, far);
	append(&tcp, skb_new(NET_A));
	append(&tcp, near);
	for (int i = 0; i < NF_QUEUED_UNKNOWN_MAX; i++)
		append(&tcp, skb_new(NET_A));
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(queued_after(near), 1600);
	assert_int_equal(queued_after(far), 0);
	assert_ptr_equal(ready(), near);
	tail = received_at(BEGIN);
	append(&tcp, tail);
	announced_at(&tcp, BEGIN + 3200);
	assert_int_equal(queued_after(tail), 3200);
	assert_int_equal(queued_after(far), 0);
	assert_ptr_equal(ready(), tail);
}

/* The reader of a UDP socket changes its queue, so nothing that is not known leads further. */
TEST(test_unknown_udp)
{
	struct sk_buff *before = received_at(BEGIN), *tail;

	append(&udp, before);
	append(&udp, skb_new(NET_A));
	announced_at(&udp, BEGIN + 1600);
	assert_int_equal(queued_after(before), 0);
	assert_null(ready());
	tail = received_at(BEGIN);
	append(&udp, tail);
	announced_at(&udp, BEGIN + 3200);
	assert_int_equal(queued_after(before), 0);
	assert_int_equal(queued_after(tail), 3200);
	assert_ptr_equal(ready(), tail);
}

/* A transmit is in no socket's queue, whatever the links say. */
TEST(test_no_received_skb)
{
	struct sk_buff *skb[2] = {skb_new(NET_A), skb_new(NET_A)};
	struct sk_buff *followed = received_at(BEGIN);

	append(&tcp, followed);
	for (int i = 0; i < 2; i++) {
		queue(skb[i]);
		append(&tcp, skb[i]);
	}
	start_xmit(skb[1], NET_A);
	end_xmit(skb[1], NET_A);
	announced_at(&tcp, BEGIN + 1600);
	assert_ptr_equal(ready(), followed);
	assert_int_equal(queued_after(followed), 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
}

/* The entries are those of earlier skbs at these addresses. */
TEST(test_other_head)
{
	struct sk_buff *skb[2];

	for (int i = 0; i < 2; i++) {
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	skb[0]->head = machine.head[machine.skbs++];
	skb[0]->cloned = 1;
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(queued_after(skb[0]), 0);
	assert_int_equal(queued_after(skb[1]), 1600);
	assert_ptr_equal(ready(), skb[1]);
	/* The tail itself. */
	skb[0] = received_at(BEGIN);
	append(&tcp, skb[0]);
	skb[0]->head = machine.head[machine.skbs++];
	skb[0]->cloned = 1;
	announced_at(&tcp, BEGIN + 3200);
	assert_int_equal(queued_after(skb[0]), 0);
	assert_null(ready());
}

/* A segment of a zero-copy send got a new head, of which a packet socket then took a clone. */
TEST(test_clone_beside)
{
	for (int i = 0; i < 3; i++) {
		struct sk_buff *skb = received_at(BEGIN);
		bool longer = i == 1, raw = i == 2;

		append(&tcp, skb);
		skb->head = machine.head[machine.skbs++];
		skb->data = skb->head + MACHINE_NETWORK + 52; /* the headers were pulled */
		skb->len += longer - 52;
		skb->cloned = 1;
		skb->sk = &tcp.sk;
		tcp.sk.sk_type = raw ? 3 : SOCK_STREAM;
		announced_at(&tcp, BEGIN + 1600);
		assert_int_equal(queued_after(skb), longer || raw ? 0 : 1600);
		queue_init(&tcp.sk.sk_receive_queue);
	}
}

/* An entry that two CPUs have mixed, and memory that is not readable. */
TEST(test_torn_and_unreadable)
{
	struct sk_buff *skb[3];

	for (int i = 0; i < 3; i++) {
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	stand_in.unreadable[0].from = skb[1];
	stand_in.unreadable[0].size = sizeof(*skb[1]);
	announced_at(&tcp, BEGIN + 1600);
	assert_ptr_equal(ready(), skb[2]);
	assert_int_equal(queued_after(skb[1]), 0);
	stand_in.unreadable[0].size = 0;
	skb[2] = received_at(BEGIN);
	append(&tcp, skb[2]);
	entry_of(skb[2])->begin_ns++;
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(queued_after(skb[2]), 0);
	assert_null(ready());
}

/* ---- contexts and sockets ---- */

/* A busy TCP socket gets its skbs in process context (release_sock()). */
TEST(test_process_context)
{
	struct sk_buff *skb;

	softirq_entry(NET_RX_SOFTIRQ);
	skb = received_at(BEGIN);
	softirq_exit(NET_RX_SOFTIRQ);
	on_cpu(1);
	in_task(true);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 160000);
	assert_int_equal(queued_after(skb), 160000);
	assert_ptr_equal(ready(), skb);
}

/* No skb from a device reaches these. */
TEST(test_families)
{
	static const __u16 families[] = {AF_UNIX, AF_NETLINK};
	struct sk_buff *skb = received_at(BEGIN);

	append(&tcp, skb);
	for (int i = 0; i < 2; i++) {
		tcp.sk.__sk_common.skc_family = families[i];
		cpu_state(0)->ready = 5; /* of an earlier announcement: over */
		announced_at(&tcp, BEGIN + 1600);
		assert_int_equal(queued_after(skb), 0);
		assert_int_equal(cpu_state(0)->ready, 0);
	}
	tcp.sk.__sk_common.skc_family = 17; /* AF_PACKET */
	announced_at(&tcp, BEGIN + 1600);
	assert_int_equal(queued_after(skb), 1600);
}

TEST(test_empty_queue)
{
	received_at(BEGIN);
	announced_at(&tcp, BEGIN + 1600);
	assert_null(ready());
	announced_at(&udp, BEGIN + 1600);
	assert_null(ready());
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 0, 0);
}

TEST(test_slow)
{
	struct sk_buff *skb = received_at(BEGIN);

	live.sample = 0;
	live.threshold_ns[NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE] = 1599;
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	copy(skb, 10);
	assert_true(journey()->flags & NF_JOURNEY_SLOW);
}

/* Kernels that refuse fentry: the socket is only an address. */
TEST(test_kprobe)
{
	struct pt_regs regs = {.di = (uintptr_t)&tcp.sk};
	struct sk_buff *skb[2];

	for (int i = 0; i < 2; i++) {
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	at(BEGIN + 1600);
	assert_int_equal(nf_sk_data_ready_kprobe(&regs), 0);
	assert_int_equal(queued_after(skb[0]), 1600);
	assert_int_equal(queued_after(skb[1]), 1600);
	assert_ptr_equal(ready(), skb[0]);
	skb[0] = received_at(BEGIN);
	append(&tcp, skb[0]);
	tcp.sk.__sk_common.skc_family = AF_UNIX;
	assert_int_equal(nf_sk_data_ready_kprobe(&regs), 0);
	assert_int_equal(queued_after(skb[0]), 0);
	assert_null(ready());
}

/* ---- UDP readers ---- */

/* The reader has moved the queue before the announcement. */
TEST(test_reader_queue)
{
	struct sk_buff *skb = received_at(BEGIN), *other = received_at(BEGIN);

	append(&udp, skb);
	queue_splice(&udp.sk.sk_receive_queue, &udp.udp.reader_queue);
	announced_at(&udp, BEGIN + 1600);
	assert_int_equal(queued_after(skb), 1600);
	assert_ptr_equal(ready(), skb);
	/* A socket of TCP has no such queue there. */
	queue_init(&tcp.udp.reader_queue);
	queue_append(&tcp.udp.reader_queue, other);
	announced_at(&tcp, BEGIN + 3200);
	assert_int_equal(queued_after(other), 0);
	assert_null(ready());
}

/* The reader on another CPU is faster: without the probe of the queue the stage is not known. */
TEST(test_taken_before_its_announcement)
{
	struct sk_buff *skb = received_at(BEGIN);

	append(&udp, skb);
	assert_ptr_equal(queue_take(&udp.sk.sk_receive_queue), skb);
	on_cpu(1);
	at(BEGIN + 1600);
	consume(skb);
	on_cpu(0);
	announced_at(&udp, BEGIN + 3200);
	assert_null(ready());
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 0, 0);
	assert_balanced();
}

/* Two CPUs queue at the same time, and the first one's announcement sees both. */
TEST(test_two_cpus)
{
	struct sk_buff *skb[2];

	for (__u32 i = 0; i < 2; i++) {
		on_cpu(i);
		skb[i] = received_at(BEGIN);
		append(&udp, skb[i]);
	}
	announced_at(&udp, BEGIN + 1600);
	assert_ptr_equal(ready(), skb[0]);
	on_cpu(0);
	announced_at(&udp, BEGIN + 3200);
	assert_null(ready());
	assert_int_equal(queued_after(skb[0]), 1600);
	assert_int_equal(queued_after(skb[1]), 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 2, 3200);
}

/* ---- the probe of the queue ---- */

static struct sk_buff *enqueued_at(__u64 begin, __u64 ns)
{
	struct sk_buff *skb = received_at(begin);

	at(ns);
	enqueue(&udp.sk, skb);
	append(&udp, skb);
	return skb;
}

TEST(test_enqueue)
{
	struct sk_buff *skb;

	settings.udp_enqueue = true;
	skb = enqueued_at(BEGIN, BEGIN + 1600);
	announced_at(&udp, BEGIN + 3200);
	assert_int_equal(queued_after(skb), 1600);
	assert_ptr_equal(ready(), skb);
	assert_int_equal(cpu_state(0)->ready_ns, BEGIN + 1600);
	announced_at(&udp, BEGIN + 4800);
	assert_null(ready());
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
}

/* Before 5.13 the programs of fentry stay attached while the others are not: nothing is known of the skbs. */
TEST(test_programs_that_stay_attached)
{
	struct sk_buff *skb = received_at(BEGIN);

	settings.udp_enqueue = settings.fentry_once = true;
	live.since_ns = UINT64_MAX;
	enqueue(&udp.sk, skb);
	append(&udp, skb);
	RUN(nf_sk_data_ready_fentry, &udp.sk, 0, 0, 0);
	assert_int_equal(queued_after(skb), 0);
	live.since_ns = 0;
	skb = enqueued_at(BEGIN, BEGIN + 1600);
	RUN(nf_sk_data_ready_fentry, &udp.sk, 0, 0, 0);
	assert_int_equal(queued_after(skb), 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
}

/* Its reader takes it before it is announced: record and histogram have the stage. */
TEST(test_enqueue_and_fast_reader)
{
	struct sk_buff *skb;

	settings.udp_enqueue = true;
	skb = enqueued_at(BEGIN, BEGIN + 1600);
	assert_ptr_equal(queue_take(&udp.sk.sk_receive_queue), skb);
	on_cpu(1);
	at(BEGIN + 3200);
	consume(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOCK_QUEUE], BEGIN + 1600);
	/* And its address has the next skb already. */
	skb_reuse(skb, NET_A);
	at(BEGIN + 4000);
	receive(skb);
	on_cpu(0);
	announced_at(&udp, BEGIN + 4800);
	assert_int_equal(queued_after(skb), 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
	assert_balanced();
}

/* The buffer was full: it is dropped and not announced, and the next one is not taken for it. */
TEST(test_enqueue_of_a_full_socket)
{
	struct sk_buff *skb = received_at(BEGIN), *next;
	struct machine_socket other;

	settings.udp_enqueue = true;
	socket_init(&other, SOCK_DGRAM, IPPROTO_UDP);
	at(BEGIN + 1600);
	enqueue(&udp.sk, skb);
	drop(skb, 0x1000, 3);
	announced_at(&other, BEGIN + 2400);
	assert_null(ready());
	next = enqueued_at(BEGIN, BEGIN + 3200);
	announced_at(&udp, BEGIN + 4800);
	assert_ptr_equal(ready(), next);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 3200);
	/* What the table does not know, or has with another head, is nobody's. */
	next = received_at(BEGIN);
	next->head = machine.head[machine.skbs++];
	next->cloned = 1;
	enqueue(&udp.sk, received_at(BEGIN));
	enqueue(&udp.sk, next);
	assert_int_equal(cpu_state(0)->enqueue.skb, 0);
	enqueue(&udp.sk, received_at(BEGIN));
	enqueue(&udp.sk, skb_new(NET_A));
	assert_int_equal(cpu_state(0)->enqueue.skb, 0);
	assert_balanced();
}

/* A head of its own: of a datagram that was received, but for padding, or of a part into which UDP split one. */
TEST(test_parts_of_a_datagram)
{
	static const struct {
		__u32 received, length;
		bool same, cloned;
	} cases[] = {{100, 100, true, false},
		     {100, 99, false, false},
		     {46, 30, true, false},
		     {46, 47, false, false},
		     {100, 100, false, true}};

	settings.udp_enqueue = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sk_buff *skb = skb_new(NET_A);

		skb->len = cases[i].received;
		at(BEGIN);
		receive(skb);
		skb->skb_iif = 2;
		skb->head = machine.head[machine.skbs++];
		skb->data = skb->head + MACHINE_NETWORK + 28; /* the headers were pulled */
		skb->len = cases[i].length - 28;
		skb->cloned = cases[i].cloned;
		enqueue(&udp.sk, skb);
		assert_int_equal(cpu_state(0)->enqueue.skb != 0, cases[i].same);
	}
}

/* A datagram that was received at BEGIN is split. */
static void split_at(__u64 ns, __u32 parts)
{
	struct sk_buff *skb = received_at(BEGIN);

	skb_segmented(skb, NF_SKB_GSO_UDP_L4, parts);
	at(ns);
	consume(skb);
}

/* The next part is put into the queue. */
static struct sk_buff *part_at(struct sk_buff *skb, __u64 ns)
{
	skb->skb_iif = NET_A->ifindex;
	skb->len = 32;
	at(ns);
	if (settings.udp_enqueue)
		enqueue(&udp.sk, skb);
	append(&udp, skb);
	announced_at(&udp, ns);
	return skb;
}

/* Each part goes on from the skb that was split: with fentry, from 6.18 on too, and without it. */
TEST(test_parts)
{
	for (int way = 0; way < 3; way++) {
		struct sk_buff *part, *memory;

		path_end(state);
		queued_begin(state);
		settings.udp_enqueue = way > 0;
		settings.udp_deferred = way > 1;
		settings.udp_reader = !way;
		memory = received_at(BEGIN - 1600);
		at(BEGIN - 800);
		softirq_entry(NET_RX_SOFTIRQ);
		split_at(BEGIN + 800, 3);
		for (int i = 0; i < 3; i++) {
			/* The memory of one was that of an skb that was freed silently. */
			part = part_at(i == 1 ? memory : skb_new(NET_A), BEGIN + 1600 * (i + 1));
			assert_int_equal(queued_after(part), 1600 * (i + 1));
			assert_int_equal(entry_of(part)->rx.entry, 800 / 16);
			assert_ptr_equal(ready(), part);
		}
		/* Another datagram, which is not followed. */
		part = part_at(skb_new(NET_A), BEGIN + 16000);
		assert_null(entry_of(part));
		assert_int_equal(events(NF_EVENT_CONSUMED), 1);
		assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
		assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 3, 1600 * 6);
		assert_balanced();
	}
}

/* Not parts: too long, of another device, a clone, with an entry of its own; and behind one that was dropped. */
TEST(test_not_a_part)
{
	struct sk_buff *skb[6], *own;

	settings.udp_enqueue = true;
	own = received_at(BEGIN);
	skb_segmented(own, 1, 3); /* of TCP */
	consume(own);
	assert_int_not_equal(cpu_state(0)->received, NF_PARTS);
	split_at(BEGIN, 3);
	own = received_at(BEGIN + 16);
	cpu_state(0)->received = NF_PARTS;
	for (int i = 0; i < 5; i++) {
		skb[i] = i == 3 ? own : skb_new(NET_A);
		skb[i]->skb_iif = i == 1 ? 3 : NET_A->ifindex;
		skb[i]->len = i == 0 ? 33 : 32;
		skb[i]->cloned = i == 2;
		if (i == 4) {
			drop(skb[i], 1, 2);
			drop(own, 1, 2);
			assert_int_equal(cpu_state(0)->split.left, 2);
			continue;
		}
		enqueue(&udp.sk, skb[i]);
		assert_int_equal(cpu_state(0)->split.left, 3);
	}
	for (int i = 0; i < 4; i++)
		drop(skb[4], 1, 2);
	enqueue(&udp.sk, skb[4]);
	assert_int_equal(events(NF_EVENT_BEGUN), 3);
	/* Behind the next that is received. */
	skb[5] = received_at(BEGIN + 1600);
	part_at(skb[0], BEGIN + 1600);
	assert_null(entry_of(skb[0]));
	assert_balanced();
}

/* Its reader has taken a part, or moved it with the queue, before it is announced. */
TEST(test_part_at_reader)
{
	struct sk_buff *skb = skb_new(NET_A);

	split_at(BEGIN, 2);
	announced_at(&udp, BEGIN + 1600);
	skb->skb_iif = NET_A->ifindex;
	skb->len = 32;
	append(&udp, skb);
	queue_splice(&udp.sk.sk_receive_queue, &udp.udp.reader_queue);
	announced_at(&udp, BEGIN + 1600);
	assert_int_equal(queued_after(skb), 1600);
	assert_int_equal(cpu_state(0)->split.left, 0);
	assert_balanced();
}

/* The parts have crossed what the whole has. */
TEST(test_parts_have_hops)
{
	struct sk_buff *skb = received_at(BEGIN), *part = skb_new(NET_A);

	at(BEGIN + 16);
	receive(skb); /* it goes up to a bridge */
	skb_segmented(skb, NF_SKB_GSO_UDP_L4, 1);
	consume(skb);
	part_at(part, BEGIN + 1600);
	assert_int_equal(entry_of(part)->flags & NF_INFLIGHT_HOPS, NF_INFLIGHT_HOPS);
	assert_int_equal(nf_hops_at(nf_address(part))->skb, nf_address(part));
	assert_int_equal(nf_hops_at(nf_address(part))->count, 1);
}

/* What was drawn together varies together: n parts of one skb count n² times. */
TEST(test_parts_vary_together)
{
	__u64 variance = 0;

	settings.governor = true;
	split_at(BEGIN, 4);
	cpu_state(0)->split.share.shift = 3;
	for (int i = 0; i < 4; i++) {
		struct sk_buff *part = part_at(skb_new(NET_A), BEGIN + 1600);

		assert_int_equal(nf_inflight_weight(entry_of(part)).weight, 8);
		variance += nf_inflight_weight(entry_of(part)).variance;
	}
	assert_in_range(variance, 16 * 8 * 7, 2 * 16 * 8 * 7);
}

/* Since 6.18 one CPU queues and announces the datagrams of others with its own. */
TEST(test_enqueue_for_others)
{
	struct sk_buff *skb[3];

	settings.udp_enqueue = settings.udp_deferred = true;
	for (__u32 i = 0; i < 3; i++) {
		on_cpu(i);
		skb[i] = enqueued_at(BEGIN, BEGIN + 1600 * (i + 1));
	}
	on_cpu(0);
	announced_at(&udp, BEGIN + 16000);
	for (__u32 i = 0; i < 3; i++)
		assert_int_equal(queued_after(skb[i]), 1600 * (i + 1));
	assert_ptr_equal(ready(), skb[0]);
	assert_int_equal(cpu_state(0)->ready_ns, BEGIN + 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 3, 1600 * 6);
}

/* The reader took this CPU's own datagram: it is announced with the others all the same. */
TEST(test_enqueue_for_others_and_fast_reader)
{
	struct sk_buff *own, *other;

	settings.udp_enqueue = settings.udp_deferred = true;
	own = enqueued_at(BEGIN, BEGIN + 1600);
	assert_ptr_equal(queue_take(&udp.sk.sk_receive_queue), own);
	on_cpu(1);
	at(BEGIN + 2400);
	defer_free(own);
	other = enqueued_at(BEGIN, BEGIN + 3200);
	on_cpu(0);
	announced_at(&udp, BEGIN + 4800);
	assert_int_equal(queued_after(other), 3200);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 2, 1600 + 3200);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_balanced();
}

/* ---- wake-ups ---- */

/* The task that is woken now reads the first of the new skbs. */
TEST(test_reader_of_several)
{
	struct task_struct reader = {.pid = 100};
	struct sk_buff *skb[2];

	for (int i = 0; i < 2; i++) {
		skb[i] = received_at(BEGIN);
		append(&tcp, skb[i]);
	}
	announced_at(&tcp, BEGIN + 1600);
	at(BEGIN + 1760);
	waking(&reader);
	at(BEGIN + 1920);
	waking(&reader); /* for a lock of its own, before it reads */
	at(BEGIN + 3200);
	switch_to(&reader);
	at(BEGIN + 4800);
	copy(skb[0], 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], BEGIN + 1760);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RUN], BEGIN + 3200);
	copy(skb[1], 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 0);
}

/* After the softirq, or an announcement without a new skb, a wake-up is nobody's. */
TEST(test_wakeup_of_nobody)
{
	struct task_struct reader = {.pid = 100};
	struct sk_buff *skb;

	softirq_entry(NET_RX_SOFTIRQ);
	skb = received_at(BEGIN);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	softirq_exit(NET_RX_SOFTIRQ);
	waking(&reader);
	assert_int_equal(event_of(NF_PROBE_SCHED_WAKING, NF_EVENT_HIT), 0);
	skb = received_at(BEGIN);
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	announced_at(&tcp, BEGIN + 3200);
	waking(&reader);
	assert_int_equal(event_of(NF_PROBE_SCHED_WAKING, NF_EVENT_HIT), 0);
}

/* ---- devices above ---- */

/* A pod's device, behind another one with the same hash. */
static struct net_device *above(int ifindex)
{
	struct net_device *dev = &machine.dev[1][2], *other = &machine.dev[1][3];

	dev->ifindex = ifindex;
	other->ifindex = ifindex + 256;
	other->index_hlist.next = &dev->index_hlist;
	machine.index[1][ifindex & 255].first = &other->index_hlist;
	return dev;
}

static void check_lifted(struct net_device *dev, struct machine_socket *s, int ifindex)
{
	struct sk_buff *skb = received_at(BEGIN);

	s->sk.__sk_common.skc_net.net = &machine.net[1];
	skb->skb_iif = ifindex;
	if (s == &udp) {
		settings.udp_enqueue = true;
		at(BEGIN + 1600);
		enqueue(&s->sk, skb);
	} else {
		skb->sk = &s->sk;
	}
	append(s, skb);
	announced_at(s, BEGIN + 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 0, 0);
	assert_hist(dev, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
	skb->sk = NULL;
	at(20000);
	copy(skb, 10);
	assert_int_equal(journey()->devices, 2);
	assert_string_equal(journey()->device[0].name, NET_A->name);
	assert_string_equal(journey()->device[1].name, dev->name);
	assert_int_equal(journey()->device[1].netns, dev->nd_net.net->ns.inum);
	assert_hist(dev, NF_SEGMENT_RECEIVE_TO_COPY, 1, 20000 - BEGIN);
	assert_balanced();
}

/* macvlan, VLAN and the like: no second netif_receive_skb() says that the skb is there. */
TEST(test_a_device_above)
{
	check_lifted(above(77), &tcp, 77);
}

TEST(test_a_device_above_gets_datagrams)
{
	check_lifted(above(77), &udp, 77);
}

TEST(test_a_device_above_with_the_same_number)
{
	check_lifted(above(NET_A->ifindex), &tcp, NET_A->ifindex);
}

TEST(test_several_at_a_device_above)
{
	struct net_device *dev = above(77);
	struct sk_buff *skb[3];

	tcp.sk.__sk_common.skc_net.net = dev->nd_net.net;
	for (int i = 0; i < 3; i++) {
		skb[i] = received_at(BEGIN + 160 * i);
		skb[i]->skb_iif = dev->ifindex;
		skb[i]->sk = &tcp.sk;
	}
	for (int i = 0; i < 3; i++)
		append(&tcp, skb[i]);
	announced_at(&tcp, BEGIN + 8000);
	for (int i = 0; i < 3; i++)
		skb[i]->sk = NULL;
	assert_int_equal(hist(NET_A, NF_SEGMENT_GAP_WAIT).count, 0);
	assert_int_equal(hist(dev, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE).count +
				 hist(dev, NF_SEGMENT_GAP_WAIT).count,
			 3);
}

/* The device is gone, or its namespace has more devices than are looked at. */
TEST(test_an_unknown_device_above)
{
	struct sk_buff *skb = received_at(BEGIN);

	skb->skb_iif = 78;
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, 1, 1600);
	copy(skb, 10);
	assert_int_equal(journey()->devices, 1);
}

static __u64 lifted_to(const struct net_device *dev)
{
	struct sk_buff *skb = received_at(BEGIN);
	__u64 before = hist(dev, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE).count;

	skb->skb_iif = dev->ifindex;
	skb->sk = &tcp.sk;
	append(&tcp, skb);
	announced_at(&tcp, BEGIN + 1600);
	skb->sk = NULL;
	copy(skb, 10);
	return hist(dev, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE).count - before;
}

/* It is looked for once a tick, and never believed for longer. */
TEST(test_a_device_above_goes)
{
	struct net_device *dev = above(77);

	tcp.sk.__sk_common.skc_net.net = dev->nd_net.net;
	assert_int_equal(lifted_to(dev), 1);
	machine.index[1][77].first = NULL;
	assert_int_equal(lifted_to(dev), 1);
	stand_in.jiffies++;
	assert_int_equal(lifted_to(dev), 0);
}

/* Devices in the same place of the cache, by turns; and one half of an entry that a softirq left. */
TEST(test_devices_above_by_turns)
{
	struct net_device *dev = above(77), *next = &machine.dev[1][1];

	tcp.sk.__sk_common.skc_net.net = dev->nd_net.net;
	next->ifindex = 77 + NF_ABOVE;
	machine.index[1][next->ifindex].first = &next->index_hlist;
	assert_int_equal(lifted_to(dev), 1);
	assert_int_equal(lifted_to(next), 1);
	assert_int_equal(lifted_to(dev), 1);
	cpu_state(0)->above[77 & (NF_ABOVE - 1)].slot++;
	assert_int_equal(lifted_to(dev), 1);
}
