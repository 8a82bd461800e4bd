/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/journey.h: stages, segments and ends of received and sent skbs, and their records. */
#include "tests/unit/bpf/path.h"

#define LO (&machine.dev[0][0])
#define NET_A (&machine.dev[0][1])
#define NET_B (&machine.dev[0][2])
#define BRIDGE (&machine.dev[0][3])

/* An skb that is received at 13200, in a softirq raised at 10160 and entered at 11600. */
static struct sk_buff *received(void)
{
	struct sk_buff *skb = skb_new(NET_A);

	receive_in_softirq(skb, 10160, 11600, 13200);
	skb->skb_iif = NET_A->ifindex;
	return skb;
}

/* ---- receive ---- */

EACH_TEST(path_begin, path_end);

/* The copy is timed from receive, the total from the first stage; record and histograms agree. */
TEST(test_copy_is_timed_from_receive)
{
	struct sk_buff *skb = received();
	const struct nf_journey_record *r;

	at(20000);
	copy(skb, 10);
	r = journey();
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	assert_int_equal(r->stage_ns[NF_STAGE_RECEIVE], 13200);
	assert_int_equal(r->stage_ns[NF_STAGE_COPY], 20000);
	assert_int_equal(r->header.time_ns, 20000);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 20000 - 13200);
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 1, 20000 - 10160);
	assert_int_equal(hist(NET_A, NF_SEGMENT_RX_TOTAL).max_ns, 20000 - 10160);
	assert_int_equal(
		hist_on(0, NET_A, NF_SEGMENT_RECEIVE_TO_COPY)->bucket[nf_hist_bucket(6800)], 1);
	assert_int_equal(r->outcome, NF_OUTCOME_DELIVERED);
	assert_int_equal(r->devices, 1);
	assert_int_equal(r->device[0].ifindex, 2);
	assert_int_equal(r->device[0].netns, 4026531840U);
	assert_int_equal(r->device[0].netns_id, 1);
	assert_int_equal(r->device[0].device_id, NF_DEVICE_BY_INDEX | r->device[0].ifindex);
	assert_string_equal(r->device[0].name, "eth0");
	assert_balanced();
}

/* The total begins with the interrupt, the raise or the entry, whichever is the first known. */
TEST(test_first_stage)
{
	assert_int_equal(nf_journey_first(1600, &(struct nf_rx_stages){.irq = 3, .raise = 2}),
			 1600 - 48);
	assert_int_equal(nf_journey_first(1600, &(struct nf_rx_stages){.raise = 2, .entry = 1}),
			 1600 - 32);
	assert_int_equal(nf_journey_first(1600, &(struct nf_rx_stages){.entry = 1}), 1600 - 16);
	assert_int_equal(nf_journey_first(1600, &(struct nf_rx_stages){0}), 1600);
}

/* The simple program has no histograms of what was before receive; its records have the times. */
TEST(test_simple)
{
	struct sk_buff *skb = skb_new(NET_A);

	at(10160);
	softirq_raise(NET_RX_SOFTIRQ);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(13200);
	RUN(nf_netif_receive_skb_simple, skb, 0, 0, 0);
	softirq_exit(NET_RX_SOFTIRQ);
	skb->skb_iif = NET_A->ifindex;
	at(20000);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	assert_hist(NET_A, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 0, 0);
	assert_hist(NET_A, NF_SEGMENT_RAISE_TO_SOFTIRQ, 0, 0);
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 1, 20000 - 10160);
}

/* ---- lo and veth ---- */

/* The peer receives the skb in a softirq that was raised at `raise` and entered at `entry`. */
static const struct nf_journey_record *looped(__u64 start, __u64 raise, __u64 entry, __u64 ns)
{
	struct sk_buff *skb = skb_new(LO);

	if (raise < start) {
		at(raise);
		softirq_raise(NET_RX_SOFTIRQ);
	}
	if (entry < start) {
		at(entry);
		softirq_entry(NET_RX_SOFTIRQ);
	}
	at(start - 1600);
	queue(skb);
	at(start);
	start_xmit(skb, LO);
	if (raise >= start) {
		at(raise);
		softirq_raise(NET_RX_SOFTIRQ);
	}
	at(start + 160);
	end_xmit(skb, LO);
	if (entry >= start) {
		at(entry);
		softirq_entry(NET_RX_SOFTIRQ);
	}
	at(ns);
	receive(skb);
	softirq_exit(NET_RX_SOFTIRQ);
	skb->skb_iif = LO->ifindex;
	at(ns + 1600);
	copy(skb, 10);
	return journey();
}

/* The skb joined a softirq that was running already: it waited since its start_xmit only. */
TEST(test_joins_a_running_softirq)
{
	const struct nf_journey_record *r = looped(20000, 8000, 9600, 24000);

	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY], 20000);
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 0);
	assert_int_equal(r->stage_ns[NF_STAGE_IRQ], 0);
	assert_hist(LO, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 1, 4000);
	assert_hist(LO, NF_SEGMENT_RAISE_TO_SOFTIRQ, 0, 0);
	assert_hist(LO, NF_SEGMENT_RX_TOTAL, 1, 5600);
}

/* It joined a softirq that was raised before and entered later. */
TEST(test_joins_a_raised_softirq)
{
	const struct nf_journey_record *r = looped(20000, 8000, 22400, 24000);

	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY], 22400);
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 20000);
	assert_hist(LO, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 1, 1600);
	assert_hist(LO, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1, 2400);
}

/* It raised the softirq itself. */
TEST(test_raises_its_softirq)
{
	const struct nf_journey_record *r = looped(20000, 20080, 22400, 24000);

	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 20000);
	assert_int_equal(r->flags & NF_JOURNEY_POLLED, 0);
	assert_hist(LO, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1, 2400);
	/* The transmit ended when the peer received the skb. */
	assert_int_equal(event_of(NF_PROBE_NETIF_RECEIVE_SKB, NF_EVENT_TRANSMITTED), 1);
	assert_int_equal(stand_in_records(), 2);
	assert_balanced();
}

/* ---- the reader's sleep ---- */

static struct task_struct reader = {.pid = 100};

/* The skb is received, wakes the reader at `wakeup` and lets it run at `run_at`. */
static struct sk_buff *wakes(struct sk_buff *skb, __u64 wakeup, __u64 run_at)
{
	struct machine_socket s;

	socket_init(&s, 1, IPPROTO_TCP);
	softirq_entry(NET_RX_SOFTIRQ);
	receive(skb);
	queue_append(&s.sk.sk_receive_queue, skb);
	data_ready(&s.sk);
	at(wakeup);
	waking(&reader);
	softirq_exit(NET_RX_SOFTIRQ);
	skb->skb_iif = 2;
	at(run_at);
	switch_to(&reader);
	return skb;
}

TEST(test_woken_reader)
{
	struct sk_buff *skb;

	at(13200);
	skb = wakes(skb_new(NET_A), 16000, 20000);
	at(24000);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 16000);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RUN], 20000);
	assert_hist(NET_A, NF_SEGMENT_WAKEUP_TO_RUN, 1, 4000);
	assert_hist(NET_A, NF_SEGMENT_RUN_TO_COPY, 1, 4000);
	assert_int_equal(event_of(NF_PROBE_SCHED_WAKING, NF_EVENT_HIT), 1);
}

/* The wake-up belongs to an earlier skb at this address, which was freed silently. */
TEST(test_old_wakeup)
{
	struct sk_buff *skb = skb_new(NET_A);

	at(13200);
	wakes(skb, 16000, 20000);
	skb_reuse(skb, NET_A);
	receive_in_softirq(skb, 30000, 31600, 33200);
	skb->skb_iif = 2;
	at(40000);
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 33200);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RUN], 0);
	assert_hist(NET_A, NF_SEGMENT_WAKEUP_TO_RUN, 0, 0);
	assert_hist(NET_A, NF_SEGMENT_RUN_TO_COPY, 0, 0);
	assert_balanced();
}

/* Another task reads the skb: what woke the first one is not its business. */
TEST(test_other_reader)
{
	struct sk_buff *skb;

	at(13200);
	skb = wakes(skb_new(NET_A), 16000, 20000);
	/* Even if both share an entry of the table of wake-ups. */
	stand_in.tid = reader.pid;
	do
		stand_in.tid++;
	while (nf_hash(stand_in.tid, settings.wake_shift) !=
	       nf_hash(reader.pid, settings.wake_shift));
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 0);
	assert_hist(NET_A, NF_SEGMENT_WAKEUP_TO_RUN, 0, 0);
}

/* The reader that one skb woke reads the next one too, without having slept. */
TEST(test_second_skb_of_a_woken_reader)
{
	struct sk_buff *skb, *second;

	at(13200);
	skb = wakes(skb_new(NET_A), 16000, 20000);
	second = received();
	at(24000);
	copy(skb, 10);
	at(25600);
	copy(second, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 0);
	assert_hist(NET_A, NF_SEGMENT_WAKEUP_TO_RUN, 1, 4000);
}

/* The wake-up counts once, and the first run after it. */
TEST(test_wakeup_counts_once)
{
	struct sk_buff *skb;

	at(13200);
	skb = wakes(skb_new(NET_A), 16000, 20000);
	at(22400);
	switch_to(&reader); /* preempted once more */
	at(24000);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RUN], 20000);
	assert_int_equal(cpu_state(0)->ready, 0);
	/* After sched_switch a wake-up has nothing to do with the skb. */
	waking(&reader);
	assert_int_equal(event_of(NF_PROBE_SCHED_WAKING, NF_EVENT_HIT), 1);
}

TEST(test_without_wake)
{
	struct sk_buff *skb;

	settings.wake = false;
	at(13200);
	skb = wakes(skb_new(NET_A), 16000, 20000);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_WAKEUP], 0);
}

/* ---- transmit ---- */

TEST(test_transmit)
{
	struct sk_buff *skb = skb_new(NET_B);
	const __u64 *stage;

	at(10000);
	queue(skb);
	at(11600);
	start_xmit(skb, NET_B);
	at(13200);
	end_xmit(skb, NET_B);
	at(16000);
	consume(skb);
	stage = journey()->stage_ns;
	assert_int_equal(stage[NF_STAGE_QUEUE], 10000);
	assert_int_equal(stage[NF_STAGE_START_XMIT], 11600);
	assert_int_equal(stage[NF_STAGE_XMIT], 13200);
	assert_int_equal(stage[NF_STAGE_FREE], 16000);
	assert_int_equal(stage[NF_STAGE_COPY], 0);
	assert_int_equal(journey()->outcome, NF_OUTCOME_TRANSMITTED);
	assert_hist(NET_B, NF_SEGMENT_QUEUE_TO_START, 1, 1600);
	assert_hist(NET_B, NF_SEGMENT_START_TO_XMIT, 1, 1600);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 1, 3200);
	assert_hist(NET_B, NF_SEGMENT_XMIT_TO_FREE, 1, 2800);
	assert_hist(NET_B, NF_SEGMENT_FORWARD_TOTAL, 0, 0);
	assert_balanced();
}

/* The driver frees the skb inside start_xmit, and its memory is another skb at net_dev_xmit. */
TEST(test_reused_before_net_dev_xmit)
{
	struct sk_buff *skb = skb_new(NET_B);

	at(10000);
	queue(skb);
	at(11600);
	start_xmit(skb, NET_B);
	at(12000);
	consume(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_XMIT], 0);
	skb_reuse(skb, NET_B);
	at(12400);
	queue(skb);
	at(13200);
	end_xmit(skb, NET_B);
	assert_hist(NET_B, NF_SEGMENT_START_TO_XMIT, 1, 1600);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 0, 0);
	assert_int_equal(nf_journey_xmit(entry_of(skb)), 0);
	assert_balanced();
}

/* Software GSO cuts segments after net_dev_queue: they begin at start_xmit. */
TEST(test_segment)
{
	struct sk_buff *skb = skb_new(NET_B);

	at(11600);
	start_xmit(skb, NET_B);
	at(13200);
	end_xmit(skb, NET_B);
	at(16000);
	consume(skb);
	assert_true(journey()->flags & NF_JOURNEY_NO_QUEUE);
	assert_int_equal(journey()->stage_ns[NF_STAGE_QUEUE], 0);
	assert_int_equal(journey()->stage_ns[NF_STAGE_START_XMIT], 11600);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 0, 0);
	assert_hist(NET_B, NF_SEGMENT_QUEUE_TO_START, 0, 0);
	assert_hist(NET_B, NF_SEGMENT_START_TO_XMIT, 1, 1600);
	assert_balanced();
}

/* A stacked device (VLAN, bond) queues the skb again inside its start_xmit. */
TEST(test_stacked_devices)
{
	struct sk_buff *skb = skb_new(BRIDGE);

	at(10000);
	queue(skb);
	at(11600);
	start_xmit(skb, BRIDGE);
	skb->dev = NET_B;
	at(12000);
	queue(skb);
	at(12400);
	start_xmit(skb, NET_B);
	at(13200);
	end_xmit(skb, NET_B);
	at(13600);
	end_xmit(skb, BRIDGE);
	assert_hist(NET_B, NF_SEGMENT_START_TO_XMIT, 1, 800);
	assert_hist(BRIDGE, NF_SEGMENT_START_TO_XMIT, 1, 2000);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 1, 1200);
	assert_hist(BRIDGE, NF_SEGMENT_TX_TOTAL, 0, 0);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_int_equal(entry_of(skb)->xmit_ns, 13200);
	assert_balanced();
}

/* ---- forwarding ---- */

TEST(test_forward)
{
	struct sk_buff *skb = received();
	const struct nf_journey_record *r;

	at(14000);
	receive(skb); /* up to a bridge */
	skb->dev = NET_B;
	at(14800);
	queue(skb);
	at(16400);
	start_xmit(skb, NET_B);
	at(18000);
	end_xmit(skb, NET_B);
	at(20000);
	consume(skb);
	r = journey();
	assert_int_equal(r->outcome, NF_OUTCOME_FORWARDED);
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_int_equal(r->stage_ns[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	assert_int_equal(r->stage_ns[NF_STAGE_RECEIVE], 13200);
	assert_int_equal(r->stage_ns[NF_STAGE_QUEUE], 14800);
	assert_int_equal(r->stage_ns[NF_STAGE_START_XMIT], 16400);
	assert_int_equal(r->stage_ns[NF_STAGE_XMIT], 18000);
	assert_int_equal(r->devices, 3);
	assert_string_equal(r->device[0].name, "eth0");
	assert_string_equal(r->device[1].name, "eth0");
	assert_string_equal(r->device[2].name, "eth1");
	assert_hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE, 1, 1600);
	assert_hist(NET_B, NF_SEGMENT_FORWARD_TOTAL, 1, 18000 - 10160);
	assert_hist(NET_B, NF_SEGMENT_TX_TOTAL, 0, 0);
	assert_int_equal(events(NF_EVENT_FORWARDED), 1);
	assert_int_equal(events(NF_EVENT_BEGUN), 1);
	assert_balanced();
}

/* More devices than a record holds: the first ones and the last, with the flag. */
TEST(test_many_hops)
{
	struct sk_buff *skb = received();

	for (int i = 0; i < NF_HOPS_MAX + 1; i++)
		receive(skb);
	skb->dev = BRIDGE;
	receive(skb);
	copy(skb, 10);
	assert_int_equal(journey()->devices, NF_JOURNEY_DEVICES);
	assert_true(journey()->flags & NF_JOURNEY_MORE);
	assert_string_equal(journey()->device[NF_JOURNEY_DEVICES - 1].name, "br0");
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 13200);
	assert_balanced();
}

/* Another skb took the place of the receive side: the record lacks it, and has nobody else's. */
TEST(test_hops_of_another_skb)
{
	struct sk_buff *skb = received();
	struct nf_hops *hops;

	skb->dev = NET_B;
	at(14800);
	queue(skb);
	hops = nf_hops_at(nf_address(skb));
	hops->skb ^= 64;
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	consume(skb);
	assert_int_equal(journey()->outcome, NF_OUTCOME_FORWARDED);
	assert_int_equal(journey()->stage_ns[NF_STAGE_RECEIVE], 0);
	assert_int_equal(journey()->devices, 1);
	assert_hist(NET_B, NF_SEGMENT_FORWARD_TOTAL, 0, 0);
}

/* A stale receive side of an earlier skb at this address does not count either. */
TEST(test_stale_hops)
{
	struct sk_buff *skb = received();

	receive(skb);
	assert_int_equal(nf_hops_at(nf_address(skb))->count, 1);
	skb_reuse(skb, BRIDGE);
	receive(skb);
	skb->skb_iif = BRIDGE->ifindex;
	skb->dev = NET_B;
	receive(skb);
	copy(skb, 10);
	assert_int_equal(journey()->devices, 2);
	assert_string_equal(journey()->device[0].name, "br0");
	assert_string_equal(journey()->device[1].name, "eth1");
}

/* ---- consumed: by the kernel, or by a reader ---- */

TEST(test_consumed)
{
	struct machine_socket s;
	struct sk_buff *skb = received();

	consume(skb); /* in process context too: threaded NAPI, a tun device */
	softirq_entry(NET_RX_SOFTIRQ);
	consume(received());
	assert_int_equal(events(NF_EVENT_CONSUMED), 2);
	/* It has been in a socket's queue: a reader had it, at a time that is not known. */
	softirq_entry(NET_RX_SOFTIRQ);
	socket_init(&s, 3, 0);
	skb = skb_new(NET_A);
	receive(skb);
	skb->skb_iif = 2;
	queue_append(&s.sk.sk_receive_queue, skb);
	data_ready(&s.sk);
	consume(skb);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(stand_in_records(), 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 0, 0);
	assert_balanced();
}

/* A reader that frees what it has read, in its own context. */
TEST(test_consumed_by_the_reader)
{
	struct machine_socket s;
	struct sk_buff *skb = received();

	socket_init(&s, SOCK_DGRAM, IPPROTO_UDP);
	queue_udp(&s, skb);
	at(20000);
	consume(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 20000);
	assert_int_equal(journey()->stage_ns[NF_STAGE_FREE], 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 6800);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	/* Since 6.18 the reader does not: whoever frees it here is not the reader. */
	settings.udp_deferred = true;
	skb = received();
	queue_udp(&s, skb);
	consume(skb);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 6800);
	assert_balanced();
}

/* By kprobe a reader cannot be preempted: the histograms need no atomic additions. */
TEST(test_deferred_free_kprobe)
{
	struct machine_socket s;
	struct sk_buff *skb = received();

	settings.udp_deferred = true;
	socket_init(&s, SOCK_DGRAM, IPPROTO_UDP);
	queue_udp(&s, skb);
	at(20000);
	defer_free_kprobe(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 20000);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 6800);
	assert_int_equal(event_of(NF_PROBE_SKB_ATTEMPT_DEFER_FREE, NF_EVENT_DELIVERED), 1);
	assert_balanced();
}

/* A FIN without data waits in the queue of a TCP socket until it is closed. */
TEST(test_deferred_fin)
{
	struct sk_buff *fin = received(), *data = received();

	entry_of(fin)->sock_queue = entry_of(data)->sock_queue = 1;
	fin->len = 0;
	defer_free(fin);
	assert_int_equal(events(NF_EVENT_CONSUMED), 1);
	assert_int_equal(stand_in_records(), 0);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 0, 0);
	defer_free(data);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	assert_int_equal(stand_in_records(), 1);
	assert_balanced();
}

/* Since 6.18 the reader gives it to the CPU that allocated it. */
TEST(test_deferred_free)
{
	struct machine_socket s;
	struct sk_buff *skb = received(), *kernels = received(), *sent = skb_new(NET_B);

	settings.udp_deferred = true;
	socket_init(&s, SOCK_DGRAM, IPPROTO_UDP);
	queue_udp(&s, skb);
	at(20000);
	defer_free(skb);
	assert_int_equal(journey()->stage_ns[NF_STAGE_COPY], 20000);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 6800);
	assert_int_equal(event_of(NF_PROBE_SKB_ATTEMPT_DEFER_FREE, NF_EVENT_DELIVERED), 1);
	/* The kernel's own, and completed transmits, were in no socket's queue. */
	defer_free(kernels);
	assert_non_null(entry_of(kernels));
	queue(sent);
	start_xmit(sent, NET_B);
	end_xmit(sent, NET_B);
	defer_free(sent);
	assert_non_null(entry_of(sent));
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	/* Another skb at the address of one that was freed silently. */
	kernels->head = machine.head[machine.skbs++];
	queue_udp(&s, kernels);
	defer_free(kernels);
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	/* In a softirq it is nobody's copy, but it was read. */
	skb = received();
	queue_udp(&s, skb);
	softirq_entry(NET_RX_SOFTIRQ);
	defer_free(skb);
	assert_int_equal(events(NF_EVENT_DELIVERED), 2);
	assert_hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY, 1, 6800);
	assert_balanced();
}

/* ---- records ---- */

/* Only slow journeys get a record, if there is no sample. */
TEST(test_slow)
{
	struct sk_buff *skb;

	live.sample = 0;
	live.threshold_ns[NF_SEGMENT_RECEIVE_TO_COPY] = 6800;
	skb = received();
	at(20000);
	copy(skb, 10); /* as long as the threshold: not slow */
	assert_int_equal(events(NF_EVENT_CHOSEN), 0);
	skb = received();
	at(20001);
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_CHOSEN), 1);
	assert_true(journey()->flags & NF_JOURNEY_SLOW);
}

/* A segment that ends before the journey's end makes the journey slow, too. */
TEST(test_slow_early)
{
	static const enum nf_segment segment[] = {
		NF_SEGMENT_RAISE_TO_SOFTIRQ,
		NF_SEGMENT_SOFTIRQ_TO_RECEIVE,
	};

	live.sample = 0;
	for (int i = 0; i < 2; i++) {
		struct sk_buff *skb;

		live.threshold_ns[segment[i]] = 1000;
		skb = received();
		live.threshold_ns[segment[i]] = INT64_MAX;
		copy(skb, 10);
		assert_true(journey()->flags & NF_JOURNEY_SLOW);
		/* It stays slow when it is forwarded. */
		live.threshold_ns[segment[i]] = 1000;
		skb = received();
		live.threshold_ns[segment[i]] = INT64_MAX;
		queue(skb);
		start_xmit(skb, NET_A);
		consume(skb);
		assert_true(journey()->flags & NF_JOURNEY_SLOW);
	}
	assert_int_equal(stand_in_records(), 4);
}

/* A slow start_xmit, or a slow total, makes a transmit slow. */
TEST(test_slow_transmit)
{
	static const enum nf_segment segment[] = {
		NF_SEGMENT_START_TO_XMIT,
		NF_SEGMENT_TX_TOTAL,
	};

	live.sample = 0;
	for (int i = 0; i < 2; i++) {
		struct sk_buff *skb = skb_new(NET_A);

		live.threshold_ns[segment[i]] = 1000;
		at(10000);
		queue(skb);
		at(11600);
		start_xmit(skb, NET_A);
		at(13200);
		end_xmit(skb, NET_A);
		live.threshold_ns[segment[i]] = INT64_MAX;
		at(14000);
		consume(skb);
		assert_int_equal(stand_in_records(), i + 1);
		assert_true(journey()->flags & NF_JOURNEY_SLOW);
		assert_int_equal(journey()->stage_ns[NF_STAGE_XMIT], 13200);
		assert_hist(NET_A, NF_SEGMENT_XMIT_TO_FREE, i + 1, (i + 1) * 800);
	}
}

TEST(test_throttled_and_ring_full)
{
	live.journey_interval_ns = 1000000;
	live.journey_burst_ns = 2000000;
	for (int i = 0; i < 5; i++)
		copy(received(), 10);
	assert_int_equal(events(NF_EVENT_RECORDED), 3);
	assert_int_equal(events(NF_EVENT_THROTTLED), 2);
	live.journey_interval_ns = 0;
	stand_in.ring_full = true;
	copy(received(), 10);
	assert_int_equal(events(NF_EVENT_THROTTLED), 3);
	stand_in.now += 10000000;
	copy(received(), 10);
	cpu_state(0)->journey_bucket.full_ns = 0;
	copy(received(), 10);
	assert_true(events(NF_EVENT_RING_FULL) >= 1);
	assert_int_equal(events(NF_EVENT_DELIVERED), 8);
	assert_hist(NET_A, NF_SEGMENT_RX_TOTAL, 8, hist(NET_A, NF_SEGMENT_RX_TOTAL).sum_ns);
	assert_balanced();
}

/* The task is the reader only in process context. */
TEST(test_task_and_cgroup)
{
	struct cgroup cgroup = {.kn = &(struct kernfs_node){.id = 77}};
	struct machine_socket s;
	struct sk_buff *skb;

	socket_init(&s, 1, IPPROTO_TCP);
	s.sk.sk_cgrp_data.cgroup = &cgroup;
	stand_in.cgroup = 55;
	in_task(true);
	copy(received(), 10);
	assert_true(journey()->flags & NF_JOURNEY_TASK);
	assert_int_equal(journey()->cgroup, 55);
	assert_int_equal(journey()->task.tid, 100);
	in_task(false);
	skb = received();
	skb->sk = &s.sk;
	copy(skb, 10);
	assert_false(journey()->flags & NF_JOURNEY_TASK);
	assert_int_equal(journey()->cgroup, 77);
	/* A socket that is being closed has no cgroup. */
	s.sk.__sk_common.skc_state = 6;
	skb = received();
	skb->sk = &s.sk;
	copy(skb, 10);
	assert_int_equal(journey()->cgroup, 0);
	copy(received(), 10);
	assert_int_equal(journey()->cgroup, 0);
}

/* The end of a transmit, in an interrupt. */
static void complete_one(void)
{
	struct sk_buff *skb = skb_new(NET_B);

	queue(skb);
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	consume(skb);
}

/* An interrupt sends a record of its own while a program fills one. */
static void interrupt_at_reserve(enum stand_in_point point)
{
	if (point != STAND_IN_RESERVE)
		return;
	stand_in.hook = NULL;
	complete_one();
}

TEST(test_interrupted_in_its_record)
{
	struct sk_buff *skb = received();
	const struct nf_journey_record *r;

	stand_in.hook = interrupt_at_reserve;
	at(20000);
	copy(skb, 10);
	assert_int_equal(stand_in_records(), 2);
	r = stand_in_record(1, NULL);
	assert_int_equal(r->stage_ns[NF_STAGE_RECEIVE], 13200);
	assert_int_equal(r->stage_ns[NF_STAGE_COPY], 20000);
	assert_balanced();
}

/* ---- kfree_skb that completes a transmit ---- */

/* xen-netfront frees completed skbs in the NET_TX softirq, without a reason. */
TEST(test_completed)
{
	enum { OTHER_REASON = 5 };
	struct sk_buff *skb = skb_new(NET_B);

	stand_in.number[0].name = "SKB_DROP_REASON_NOT_SPECIFIED";
	stand_in.number[0].value = 2;
	queue(skb);
	softirq_entry(NET_TX_SOFTIRQ);
	start_xmit(skb, NET_B);
	drop(skb, 0x1000, 2); /* still inside start_xmit: a drop */
	assert_int_equal(events(NF_EVENT_COMPLETED), 0);
	end_xmit(skb, NET_B);
	softirq_exit(NET_TX_SOFTIRQ);
	queue(skb);
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	softirq_entry(NET_TX_SOFTIRQ);
	drop(skb, 0x1000, OTHER_REASON);
	assert_int_equal(events(NF_EVENT_COMPLETED), 0);
	assert_int_equal(events(NF_EVENT_DROPPED), 2);
	queue(skb);
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	drop(skb, 0x1000, 2);
	assert_int_equal(events(NF_EVENT_COMPLETED), 1);
	assert_int_equal(events(NF_EVENT_DROPPED), 2);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_int_equal(journey()->outcome, NF_OUTCOME_TRANSMITTED);
	assert_balanced();
}

/* lo passes its skbs on: one that is freed there was dropped. */
TEST(test_not_completed_by_lo)
{
	struct sk_buff *skb = skb_new(LO);

	queue(skb);
	start_xmit(skb, LO);
	end_xmit(skb, LO);
	softirq_entry(NET_TX_SOFTIRQ);
	drop(skb, 0x1000, SKB_DROP_REASON_NOT_SPECIFIED);
	assert_int_equal(events(NF_EVENT_COMPLETED), 0);
	assert_int_equal(events(NF_EVENT_DROPPED), 1);
	/* Nor is a received skb, nor one that is at another device now. */
	skb = received();
	drop(skb, 0x1000, SKB_DROP_REASON_NOT_SPECIFIED);
	skb = skb_new(NET_B);
	queue(skb);
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	skb->dev = NET_A;
	drop(skb, 0x1000, SKB_DROP_REASON_NOT_SPECIFIED);
	assert_int_equal(events(NF_EVENT_COMPLETED), 0);
	assert_int_equal(events(NF_EVENT_DROPPED), 3);
	assert_balanced();
}

/* start_xmit linearized the skb: completed, but with a new head, so not timed. */
TEST(test_completed_with_a_new_head)
{
	struct sk_buff *skb = skb_new(NET_B);

	queue(skb);
	start_xmit(skb, NET_B);
	skb->head = machine.head[machine.skbs++];
	end_xmit(skb, NET_B);
	live.netback = 0x5000;
	live.netback_bytes = 0x100;
	drop(skb, 0x5100, 7); /* behind the function */
	assert_int_equal(events(NF_EVENT_COMPLETED), 0);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	queue(skb);
	start_xmit(skb, NET_B);
	skb->head = machine.head[machine.skbs++];
	end_xmit(skb, NET_B);
	drop(skb, 0x50ff, 7); /* xen-netback, in any context and with any reason */
	assert_int_equal(events(NF_EVENT_COMPLETED), 1);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_hist(NET_B, NF_SEGMENT_XMIT_TO_FREE, 0, 0);
	assert_balanced();
}
