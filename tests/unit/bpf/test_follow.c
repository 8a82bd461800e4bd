/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/follow.h: which journeys are followed, and what they stand for. */
#include "tests/unit/bpf/path.h"

#define LO (&machine.dev[0][0])
#define NET_A (&machine.dev[0][1])
#define NET_B (&machine.dev[0][2])
#define JIFFY_NS 4000000
#define INTERVAL_NS 50000
#define BEGIN_NS 2000000000

static int follow_begin(void **state)
{
	path_begin(state);
	nf_passed_jiffies = 0;
	settings.governor = true;
	live.interval_ns = INTERVAL_NS;
	/* Longer ago than any skb that was passed over. */
	stand_in.jiffies = 1000;
	stand_in.random = 0x5eed1234;
	return 0;
}

EACH_TEST(follow_begin, path_end);

static struct nf_gate *gate(enum nf_gate_index index)
{
	return &cpu_state(0)->gate[index];
}

/* From now on one in 2^shift is followed, at the rate of the test. */
static void set_shift(enum nf_gate_index index, __u8 shift)
{
	*gate(index) = (struct nf_gate){.shift = shift,
					.next_shift = shift,
					.since_ns = stand_in.now,
					.since_jiffies = stand_in.jiffies};
	live.interval_ns = 0;
}

/* The next one is passed over. */
static void pass(enum nf_gate_index index)
{
	set_shift(index, 4);
	gate(index)->chosen = 15;
}

/* The next one is followed, as one of 16. */
static void choose(enum nf_gate_index index)
{
	set_shift(index, 4);
}

static void advance(__u64 ns)
{
	stand_in.now += ns;
	stand_in.jiffies = 1000 + stand_in.now / JIFFY_NS;
}

/* ---- drawing ---- */

/* The first CPU with a high rate wakes the daemon, once until it wants to know again. */
TEST(test_a_load_wakes_the_daemon)
{
	const struct nf_record *r;
	size_t size;

	live.busy_shift = 3;
	set_shift(NF_GATE_RX, 0);
	live.interval_ns = 4000;
	/* First 1 in 2 would do, and 1 in 4 leaves room, then 1 in 4 would do.  N doubles at most. */
	gate(NF_GATE_RX)->packets = NF_GATE_PACKETS;
	nf_gate_measure(gate(NF_GATE_RX), stand_in.now + 64000);
	assert_int_equal(gate(NF_GATE_RX)->next_shift, 1);
	assert_int_equal(stand_in_records(), 0);
	gate(NF_GATE_RX)->packets = NF_GATE_PACKETS;
	nf_gate_measure(gate(NF_GATE_RX), stand_in.now + 64000 + 32000);
	assert_int_equal(gate(NF_GATE_RX)->next_shift, 1);
	r = stand_in_record(-1, &size);
	assert_int_equal(size, sizeof(*r));
	assert_int_equal(r->type, NF_RECORD_BUSY);
	assert_int_equal(r->size, sizeof(*r));
	assert_int_equal(live.busy_shift, 0);
	gate(NF_GATE_RX)->packets = NF_GATE_PACKETS;
	nf_gate_measure(gate(NF_GATE_RX), stand_in.now + 64000 + 32000 + 1000);
	assert_int_equal(stand_in_records(), 1);
}

/* Each position of a block is chosen, none much more often than others. */
TEST(test_one_of_each_block)
{
	__u32 chosen[16] = {0}, blocks = 4096;

	set_shift(NF_GATE_TX, 4);
	for (__u32 b = 0; b < blocks; b++) {
		__u32 drawn = 0;

		for (__u32 i = 0; i < 16; i++)
			if (nf_gate_packet(cpu_state(0), NF_GATE_TX) != NF_PASSES) {
				chosen[i]++;
				drawn++;
			}
		assert_int_equal(drawn, 1);
	}
	for (__u32 i = 0; i < 16; i++)
		assert_in_range(chosen[i], blocks / 16 * 3 / 4, blocks / 16 * 5 / 4);
}

/* Send packets `gap` ns apart for `ns`; how many were followed. */
static __u64 send(__u64 gap, __u64 ns)
{
	__u64 end = stand_in.now + ns, begun = events(NF_EVENT_BEGUN);

	while (stand_in.now < end) {
		struct sk_buff *skb = &machine.skb[0];

		skb_fill(skb, machine.head[0], NET_A, 100);
		queue(skb);
		start_xmit(skb, NET_A);
		end_xmit(skb, NET_A);
		consume(skb);
		advance(gap);
	}
	assert_balanced();
	return events(NF_EVENT_BEGUN) - begun;
}

/* A burst is met within a ms, before any daemon runs; and a fall of the rate within two jiffies. */
TEST(test_rate)
{
	machine.skbs = 1;
	assert_int_equal(send(100000, 20000000), 200); /* 10,000 per second: all */
	assert_int_equal(gate(NF_GATE_TX)->shift, 0);
	send(1000, 1000000);
	assert_int_equal(gate(NF_GATE_TX)->shift, 6); /* 50 µs / 1 µs */
	assert_in_range(send(1000, 100000000), 100000 / 64 - 2, 100000 / 64 + 2);
	send(4000, 20000000);
	assert_int_equal(gate(NF_GATE_TX)->shift, 5); /* 12.5, and room */
	assert_int_equal(gate(NF_GATE_TX)->most_shift, 6);
	send(1000000, 3 * JIFFY_NS);
	assert_int_equal(gate(NF_GATE_TX)->shift, 0);
	assert_in_range(send(100000, 20000000), 195, 200);
}

/* The weights of what was followed add up to what there was. */
TEST(test_estimate)
{
	struct hist_sum sum;
	__u64 sent = 0;

	machine.skbs = 1;
	for (int i = 0; i < 50; i++) {
		send(1000, 10000000);
		send(7000, 10000000);
		send(200000, 10000000);
		sent += 10000 + 1429 + 50;
	}
	sum = hist(NET_A, NF_SEGMENT_QUEUE_TO_START);
	assert_in_range(sum.count, sent * 99 / 100, sent * 101 / 100);
	assert_true(events(NF_EVENT_BEGUN) < sent / 8);
	assert_int_equal(events(NF_EVENT_BEGUN) + events(NF_EVENT_PASSED), sent);
}

#define SIZES 6

/* The margin is true for bursts that end within a block: of each size, 19 of 20 are inside. */
TEST(test_short_bursts)
{
	__u32 outside[SIZES] = {0}, bursts = 200;

	machine.skbs = 1;
	for (__u32 i = 0; i < bursts * SIZES; i++) {
		const struct nf_hist *now;
		__u64 packets = (40 << i % SIZES) + i * 7 % (40 << i % SIZES);
		struct nf_hist before = *hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START);
		double error = -(double)packets, variance;

		send(500, packets * 500);
		now = hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START);
		for (int j = 0; j < NF_HIST_BUCKETS; j++)
			error += (double)(now->bucket[j] - before.bucket[j]);
		variance = (double)(now->variance - before.variance);
		outside[i % SIZES] += error * error > 1.96 * 1.96 * variance + 1;
		advance(120000000);
	}
	for (int i = 0; i < SIZES; i++)
		assert_in_range(outside[i], 0, bursts / 20);
}

/* A rate that only just needs another N does not make N change all the time. */
TEST(test_hysteresis)
{
	__u32 changes = 0, before;

	machine.skbs = 1;
	send(3100, 20000000);
	before = gate(NF_GATE_TX)->shift;
	for (int i = 0; i < 200; i++) {
		send(i % 2 ? 3200 : 3050, 1000000); /* 15.6 and 16.4 in an interval */
		changes += gate(NF_GATE_TX)->shift != before;
		before = gate(NF_GATE_TX)->shift;
	}
	assert_in_range(changes, 0, 1);
}

/* Without an interval all are followed, and their count is exact. */
TEST(test_all)
{
	machine.skbs = 1;
	live.interval_ns = 0;
	assert_int_equal(send(500, 1000000), 2000);
	assert_int_equal(hist(NET_A, NF_SEGMENT_QUEUE_TO_START).count, 2000);
	assert_int_equal(hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START)->variance, 0);
	assert_int_equal(hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START)->journeys, 2000);
}

TEST(test_hold)
{
	struct sk_buff *skb = skb_new(NET_A);

	queue(skb);
	live.hold = 1;
	queue(skb_new(NET_A));
	receive(skb_new(NET_A));
	assert_int_equal(events(NF_EVENT_PASSED), 2);
	start_xmit(skb, NET_A); /* one that has begun is followed on */
	end_xmit(skb, NET_A);
	consume(skb);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_balanced();
}

/* ---- weights ---- */

TEST(test_weight)
{
	assert_int_equal(nf_weight_of(0, 0).weight, 1);
	assert_int_equal(nf_weight_of(0, 5).variance, 0);
	assert_int_equal(nf_weight_of(4, 0).weight, 16);
	assert_int_equal(nf_weight_of(4, 0).variance, 16 * 15);
	live.window_shift = 2;
	assert_int_equal(nf_weight_of(4, 0).weight, 64);
	settings.governor = false;
	assert_int_equal(nf_weight_of(4, 0).weight, 1);
}

/* n journeys of one draw have at least n² times the variance of one. */
TEST(test_variance_of_a_draw)
{
	__u64 sum = 0;
	__u32 drawn = 0;

	for (__u64 n = 1; n <= 300; n++) {
		sum += nf_weight_of(4, nf_rank_next(cpu_state(0), &drawn)).variance;
		assert_in_range(sum, n * n * 240, 2 * n * n * 240);
	}
}

/* What one draw of a run chooses; packets between runs are drawn by themselves. */
TEST(test_most_packets_of_a_run)
{
	for (int packets = 1; packets <= 3; packets += 2) {
		softirq_raise(NET_RX_SOFTIRQ);
		softirq_entry(NET_RX_SOFTIRQ);
		for (int i = 0; i < packets; i++)
			receive(skb_new(NET_A));
		softirq_exit(NET_RX_SOFTIRQ);
		assert_int_equal(gate(NF_GATE_RX)->most_rank, nf_rank(packets));
	}
	for (int i = 0; i < 10; i++)
		receive(skb_new(NET_A));
	receive_in_softirq(skb_new(NET_A), stand_in.now, stand_in.now, stand_in.now);
	assert_int_equal(gate(NF_GATE_RX)->most_rank, 2); /* 3 of 4 */
}

/* A poll stands for those of its window's time.  In the tail of the window, none counts. */
TEST(test_polls_of_a_window)
{
	struct napi_struct napi = {.dev = NET_A};
	struct nf_device_stats *stats;

	live.window_shift = 2;
	napi_poll(&napi, 64, 64);
	stats = nf_device_stats(nf_device_slot(NET_A));
	assert_int_equal(stats->polls, 4);
	assert_int_equal(stats->poll_packets, 256);
	live.hold = 1;
	napi_poll(&napi, 64, 64);
	assert_int_equal(stats->polls, 4);
	assert_int_equal(stats->full_budgets, 4);
}

/* In windows, all journeys of a window are one draw. */
TEST(test_variance_of_a_window)
{
	__u32 drawn = 0;

	live.window = 1;
	assert_int_equal(nf_rank_next(cpu_state(0), &drawn), 0);
	drawn = 0;
	assert_int_equal(nf_rank_next(cpu_state(0), &drawn), 1);
	live.window = 2;
	assert_int_equal(nf_rank_next(cpu_state(0), &drawn), 0);
}

TEST(test_records_say_the_weight)
{
	struct sk_buff *skb = skb_new(NET_A);

	choose(NF_GATE_TX);
	live.threshold_ns[NF_SEGMENT_QUEUE_TO_START] = 100;
	at(10000);
	queue(skb);
	at(20000);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	consume(skb);
	assert_int_equal(journey()->weight_shift, 4);
	assert_int_equal(events(NF_EVENT_SLOW_UNSEEN), 15);
	assert_hist(NET_A, NF_SEGMENT_QUEUE_TO_START, 16, 16 * 10000);
	assert_int_equal(hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START)->journeys, 1);
	assert_int_equal(hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START)->variance, 240);
	assert_int_equal(hist_on(0, NET_A, NF_SEGMENT_QUEUE_TO_START)->max_ns, 10000);
}

/* ---- receive ---- */

/* Weights add up where the kernel counts the same packets: not where GRO merges them behind its count. */
TEST(test_weights_of_the_received)
{
	struct sk_buff *skb = skb_new(LO);
	struct nf_device_stats *stats;

	settings.gro = 1 << 14;
	choose(NF_GATE_DIRECT);
	receive(skb_new(NET_A));
	stats = nf_device_stats(nf_device_slot(NET_A));
	assert_int_equal(stats->received, 16);
	assert_int_equal(stats->received_variance, 240);
	NET_A->features = settings.gro;
	choose(NF_GATE_DIRECT);
	receive(skb_new(NET_A));
	assert_int_equal(stats->received, 16);
	NET_A->features = settings.gro = 0; /* not known */
	choose(NF_GATE_DIRECT);
	receive(skb_new(NET_A));
	assert_int_equal(stats->received, 16);
	choose(NF_GATE_TX);
	queue(skb);
	start_xmit(skb, LO);
	receive(skb);
	assert_int_equal(nf_device_stats(nf_device_slot(LO))->received, 16);
	settings.gro = 1 << 14;
	settings.governor = false;
	receive(skb_new(NET_A));
	assert_int_equal(stats->received, 16);
}

static __u64 clocks;

static void count_clocks(enum stand_in_point point)
{
	clocks += point == STAND_IN_CLOCK;
}

/* Neither the interrupt nor the softirq of a run that is not followed reads the clock. */
TEST(test_run_without_a_clock)
{
	pass(NF_GATE_RX);
	softirq_entry(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	stand_in.hook = count_clocks;
	clocks = 0;
	irq_entry(30);
	softirq_raise(NET_RX_SOFTIRQ);
	irq_exit(30);
	softirq_entry(NET_RX_SOFTIRQ);
	for (int i = 0; i < 10; i++)
		receive(skb_new(NET_A));
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(clocks, 0);
	assert_int_equal(events(NF_EVENT_PASSED), 10);
	assert_int_equal(events(NF_EVENT_BEGUN), 0);
}

/* A run that is followed, after others that are not, has all its times. */
TEST(test_followed_run)
{
	struct sk_buff *skb = skb_new(NET_A);

	pass(NF_GATE_RX);
	receive_in_softirq(skb_new(NET_A), 1000, 2000, 3000); /* drawn before: followed */
	receive_in_softirq(skb_new(NET_A), 4000, 5000, 6000);
	choose(NF_GATE_RX);
	receive_in_softirq(skb_new(NET_A), 7000, 8000, 9000);
	at(10000);
	irq_entry(30);
	at(10400);
	softirq_raise(NET_RX_SOFTIRQ);
	irq_exit(30);
	at(11000);
	softirq_entry(NET_RX_SOFTIRQ);
	at(12000);
	receive(skb);
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	assert_non_null(entry_of(skb));
	assert_int_equal(entry_of(skb)->rx.irq, 2000 >> NF_TICK_SHIFT);
	assert_int_equal(entry_of(skb)->rx.raise, 1600 >> NF_TICK_SHIFT);
	assert_int_equal(entry_of(skb)->rx.entry, 1000 >> NF_TICK_SHIFT);
	assert_int_equal(nf_inflight_share(entry_of(skb)).shift, 4);
	assert_hist(NET_A, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1 + 16, 1000 + 16 * 600);
}

/* An interrupt that nobody timed is not the interrupt of a later run. */
TEST(test_untimed_interrupt)
{
	struct sk_buff *skb = skb_new(NET_A);

	pass(NF_GATE_RX);
	receive_in_softirq(skb_new(NET_A), 1000, 2000, 3000);
	irq_entry(30);
	softirq_raise(NET_RX_SOFTIRQ);
	irq_exit(30);
	softirq_entry(NET_RX_SOFTIRQ);
	irq_entry(30); /* finds its device being polled */
	irq_exit(30);
	softirq_exit(NET_RX_SOFTIRQ);
	choose(NF_GATE_RX);
	softirq_entry(NET_RX_SOFTIRQ);
	at(7000);
	softirq_raise(NET_RX_SOFTIRQ); /* polls on */
	softirq_exit(NET_RX_SOFTIRQ);
	at(8000);
	softirq_entry(NET_RX_SOFTIRQ);
	at(9000);
	receive(skb);
	assert_int_equal(entry_of(skb)->rx.irq, 0);
	assert_int_equal(entry_of(skb)->rx.raise, 2000 >> NF_TICK_SHIFT);
	assert_int_equal(entry_of(skb)->flags & NF_INFLIGHT_POLLED, NF_INFLIGHT_POLLED);
}

/* An interrupt during a run that is not followed brings the packets of the next one, which is. */
TEST(test_interrupt_before_a_followed_run)
{
	struct sk_buff *skb = skb_new(NET_A);

	pass(NF_GATE_RX);
	softirq_entry(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	choose(NF_GATE_RX);
	softirq_entry(NET_RX_SOFTIRQ);
	at(5000);
	irq_entry(30);
	softirq_raise(NET_RX_SOFTIRQ);
	irq_exit(30);
	softirq_exit(NET_RX_SOFTIRQ);
	at(6000);
	softirq_entry(NET_RX_SOFTIRQ);
	at(7000);
	receive(skb);
	assert_int_equal(entry_of(skb)->rx.irq, 2000 >> NF_TICK_SHIFT);
}

/* Outside of NET_RX each packet is drawn. */
TEST(test_direct)
{
	struct sk_buff *skb = skb_new(NET_A);

	pass(NF_GATE_DIRECT);
	receive(skb);
	assert_null(entry_of(skb));
	choose(NF_GATE_DIRECT);
	receive(skb);
	assert_int_equal(nf_inflight_share(entry_of(skb)).shift, 4);
}

/* What lo receives is followed if its transmit was. */
TEST(test_lo)
{
	struct sk_buff *a = skb_new(LO), *b = skb_new(LO);

	choose(NF_GATE_TX);
	at(10000);
	queue(a);
	at(10500);
	start_xmit(a, LO);
	softirq_raise(NET_RX_SOFTIRQ);
	end_xmit(a, LO);
	gate(NF_GATE_TX)->chosen = 15;
	queue(b);
	start_xmit(b, LO);
	end_xmit(b, LO);
	cpu_state(0)->next_run = NF_PASSES;
	at(12000);
	softirq_entry(NET_RX_SOFTIRQ);
	at(13000);
	receive(a);
	receive(b);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_null(entry_of(b));
	assert_int_equal(nf_inflight_share(entry_of(a)).shift, 4);
	assert_int_equal(entry_of(a)->rx.raise, 2500 >> NF_TICK_SHIFT);
	assert_int_equal(entry_of(a)->rx.entry, 1000 >> NF_TICK_SHIFT);
	assert_hist(LO, NF_SEGMENT_RAISE_TO_SOFTIRQ, 16, 16 * 1500);
	/* Neither is it followed if its run is: it would count twice. */
	cpu_state(0)->next_run = 0;
	softirq_entry(NET_RX_SOFTIRQ);
	receive(b);
	assert_null(entry_of(b));
	assert_balanced();
}

/* Sent and received in one run: the skb waited from start_xmit on. */
TEST(test_lo_in_one_run)
{
	struct sk_buff *skb = skb_new(LO);

	cpu_state(0)->next_run = NF_PASSES;
	softirq_entry(NET_RX_SOFTIRQ);
	at(10000);
	queue(skb);
	at(10000);
	start_xmit(skb, LO);
	end_xmit(skb, LO);
	at(11600);
	receive(skb);
	assert_int_equal(entry_of(skb)->rx.entry, 1600 >> NF_TICK_SHIFT);
	assert_int_equal(entry_of(skb)->rx.raise, 0);
}

/* Received by another CPU, whose run did not expect it: only the wait is known. */
TEST(test_lo_on_another_cpu)
{
	struct sk_buff *skb = skb_new(LO);

	cpu_state(1)->next_run = NF_PASSES;
	at(10000);
	queue(skb);
	at(10000);
	start_xmit(skb, LO);
	end_xmit(skb, LO);
	on_cpu(1);
	softirq_entry(NET_RX_SOFTIRQ);
	at(11600);
	receive(skb);
	assert_int_equal(entry_of(skb)->rx.entry, 0);
	assert_int_equal(entry_of(skb)->rx.raise, 1600 >> NF_TICK_SHIFT);
	assert_hist(LO, NF_SEGMENT_RAISE_TO_SOFTIRQ, 0, 0);
	assert_hist(LO, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 0, 0);
}

/* ---- forwarding ---- */

/* A forwarded skb is drawn once, where it was received. */
TEST(test_forwarded)
{
	struct sk_buff *a = skb_new(NET_A), *b = skb_new(NET_A);

	choose(NF_GATE_DIRECT);
	receive(a);
	receive(b);
	a->skb_iif = b->skb_iif = 2;
	a->dev = b->dev = NET_B;
	set_shift(NF_GATE_TX, 0);
	queue(a);
	queue(b);
	assert_null(entry_of(b));
	assert_int_equal(entry_of(a)->journey, NF_JOURNEY_FORWARD);
	start_xmit(b, NET_B);
	end_xmit(b, NET_B);
	start_xmit(a, NET_B);
	end_xmit(a, NET_B);
	consume(a);
	assert_int_equal(events(NF_EVENT_FORWARDED), 1);
	assert_int_equal(hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE).count, 16);
	assert_int_equal(hist(NET_B, NF_SEGMENT_START_TO_XMIT).count, 16);
	assert_balanced();
}

/* A router copies the head of the clones that it forwards, and so does what stands between receive and a socket. */
static void new_head(struct sk_buff *skb)
{
	skb->head = machine.head[machine.skbs++];
	skb->cloned = 0;
}

TEST(test_forwarded_with_a_new_head)
{
	struct sk_buff *skb = skb_new(NET_A), *passed = skb_new(NET_A);

	skb->cloned = 1;
	choose(NF_GATE_DIRECT);
	receive(skb);
	receive(passed);
	skb->skb_iif = passed->skb_iif = 2;
	new_head(skb);
	new_head(passed);
	skb->dev = passed->dev = NET_B;
	queue(passed);
	queue(skb);
	new_head(skb); /* a VLAN tag */
	start_xmit(skb, NET_B);
	end_xmit(skb, NET_B);
	consume(skb);
	assert_null(entry_of(passed));
	assert_int_equal(events(NF_EVENT_INVALIDATED), 0);
	assert_int_equal(events(NF_EVENT_FORWARDED), 1);
	assert_int_equal(hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE).count, 16);
	assert_int_equal(hist(NET_B, NF_SEGMENT_START_TO_XMIT).count, 16);
	assert_balanced();
}

/* A clone in the memory of an skb that was freed silently is another one, and so is what comes much later. */
TEST(test_not_a_new_head)
{
	struct sk_buff *skb = skb_new(NET_A), *late = skb_new(NET_A);

	receive(skb);
	receive(late);
	skb->skb_iif = late->skb_iif = 2;
	new_head(skb);
	new_head(late);
	skb->cloned = 1;
	queue(skb);
	advance(2000000000);
	queue(late);
	assert_null(entry_of(skb));
	assert_null(entry_of(late));
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_balanced();
}

/* IPv6 frees a received skb whose head has too little room for a tunnel, and passes on a clone. */
static struct sk_buff *part(struct sk_buff *skb)
{
	static struct dst_entry dst = {.dev = NET_B};
	struct sk_buff *clone = skb_new(NET_B);

	receive(skb);
	skb->skb_iif = clone->skb_iif = 2;
	skb->cloned = 1;
	skb->_skb_refdst = (unsigned long)&dst | 1;
	clone->mac_header = skb->network_header - 14;
	clone->network_header = skb->network_header;
	clone->len = skb->len + 14;
	new_head(clone);
	consume(skb);
	return clone;
}

TEST(test_clone_that_is_forwarded)
{
	struct sk_buff *skb = skb_new(NET_A), *clone;

	choose(NF_GATE_DIRECT);
	clone = part(skb);
	queue(clone);
	assert_null(entry_of(skb));
	assert_int_equal(entry_of(clone)->journey, NF_JOURNEY_FORWARD);
	start_xmit(clone, NET_B);
	end_xmit(clone, NET_B);
	consume(clone);
	assert_int_equal(events(NF_EVENT_BEGUN), 1);
	assert_int_equal(events(NF_EVENT_CONSUMED), 0);
	assert_int_equal(events(NF_EVENT_FORWARDED), 1);
	assert_int_equal(hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE).count, 16);
	assert_int_equal(hist(NET_B, NF_SEGMENT_START_TO_XMIT).count, 16);
	assert_balanced();
}

/* Another CPU gets the memory of the skb that was freed before the clone is queued. */
TEST(test_memory_that_another_cpu_takes)
{
	struct sk_buff *skb = skb_new(NET_A), *clone;

	choose(NF_GATE_DIRECT);
	clone = part(skb);
	assert_int_equal(in_flight(), 1);
	on_cpu(1);
	choose(NF_GATE_DIRECT);
	new_head(skb);
	receive(skb);
	on_cpu(0);
	queue(clone);
	assert_int_equal(entry_of(skb)->journey, NF_JOURNEY_RX);
	assert_int_equal(entry_of(clone)->journey, NF_JOURNEY_FORWARD);
	assert_int_equal(events(NF_EVENT_BEGUN), 2);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 0);
	assert_int_equal(hist(NET_B, NF_SEGMENT_RECEIVE_TO_QUEUE).count, 16);
	assert_balanced();
}

/* No skb is queued after the first of two: its clone is lost. */
TEST(test_clone_that_is_not_queued)
{
	for (int i = 0; i < 2; i++) {
		choose(NF_GATE_DIRECT);
		part(skb_new(NET_A));
		assert_balanced();
	}
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	assert_int_equal(in_flight(), 1);
}

/* Another length, another device, a head that is not its own: other packets. */
TEST(test_not_the_clone)
{
	for (int i = 0; i < 4; i++) {
		struct sk_buff *skb = skb_new(NET_A), *other;

		choose(NF_GATE_DIRECT);
		other = part(skb);
		other->len += i == 0;
		other->dev = i == 1 ? NET_A : NET_B;
		other->cloned = i == 2;
		if (i == 3)
			queue(skb_new(NET_B)); /* it came first */
		queue(other);
		assert_null(entry_of(other));
		assert_null(entry_of(skb));
	}
	assert_int_equal(events(NF_EVENT_INVALIDATED), 4);
	assert_int_equal(events(NF_EVENT_FORWARDED), 0);
	assert_balanced();
}

/* This host consumes what has a route to lo, and what nobody shares. */
TEST(test_consumed_here)
{
	struct dst_entry here = {.dev = &machine.dev[0][0]}, there = {.dev = NET_B};

	machine.dev[0][0].flags = IFF_LOOPBACK;
	for (int i = 0; i < 2; i++) {
		struct sk_buff *skb = skb_new(NET_A);

		choose(NF_GATE_DIRECT);
		receive(skb);
		skb->skb_iif = 2;
		skb->cloned = i == 0;
		skb->_skb_refdst = (unsigned long)(i ? &there : &here);
		consume(skb);
		assert_null(entry_of(skb));
	}
	assert_int_equal(events(NF_EVENT_CONSUMED), 2);
	assert_balanced();
}

/* A bridge gives clones of a followed skb to several ports. */
TEST(test_copies_of_a_bridge)
{
	struct sk_buff *skb = skb_new(NET_A), *copy = skb_new(NET_A), *other = skb_new(NET_A);

	choose(NF_GATE_DIRECT);
	receive(skb);
	skb->skb_iif = copy->skb_iif = other->skb_iif = 2;
	copy->head = skb->head;
	copy->cloned = skb->cloned = 1;
	queue(copy);
	queue(other);
	assert_int_equal(nf_inflight_share(entry_of(copy)).shift, 4);
	assert_null(entry_of(other));
	assert_balanced();
}

/* Inside start_xmit of a tunnel: its packet was drawn, and the new head, or the new skb, is not drawn again. */
TEST(test_tunnel)
{
	struct sk_buff *skb = skb_new(NET_A), *passed = skb_new(NET_A), *inner = skb_new(NET_B);

	choose(NF_GATE_TX);
	queue(skb);
	start_xmit(skb, NET_A);
	set_shift(NF_GATE_TX, 0);
	new_head(skb);
	skb->dev = NET_B;
	queue(skb);
	queue(inner);
	assert_int_equal(events(NF_EVENT_TRANSMITTED), 1);
	assert_int_equal(nf_inflight_share(entry_of(skb)).shift, 4);
	assert_int_equal(nf_inflight_share(entry_of(inner)).shift, 4);
	end_xmit(skb, NET_A);
	pass(NF_GATE_TX);
	queue(passed);
	start_xmit(passed, NET_A);
	set_shift(NF_GATE_TX, 0);
	queue(passed);
	assert_null(entry_of(passed));
	/* The end of a transmit that nobody saw: no softirq runs inside of one. */
	softirq_entry(NET_RX_SOFTIRQ);
	queue(passed);
	assert_non_null(entry_of(passed));
	assert_balanced();
}

/* The receiving end of a tunnel gives a GSO skb a new head, and forgets skb_iif: it is followed if it was before. */
TEST(test_out_of_a_tunnel)
{
	struct sk_buff *skb = skb_new(NET_A), *passed = skb_new(NET_A), *late = skb_new(NET_A);

	choose(NF_GATE_DIRECT);
	receive(skb);
	receive(passed);
	choose(NF_GATE_DIRECT);
	receive(late);
	new_head(skb);
	new_head(passed);
	new_head(late);
	skb->dev = passed->dev = late->dev = LO;
	receive(skb);
	receive(passed);
	assert_int_equal(nf_inflight_share(entry_of(skb)).shift, 4);
	assert_null(entry_of(passed));
	advance(2000000000);
	receive(late);
	assert_null(entry_of(late));
	assert_balanced();
}

/* What a veth with a program of XDP receives is drawn there, once, whatever was drawn before. */
TEST(test_veth_with_xdp)
{
	struct sk_buff *a = skb_new(LO), *b = skb_new(LO), *fresh = skb_new(LO);

	LO->xdp_state[XDP_MODE_DRV].prog = (void *)LO;
	choose(NF_GATE_TX);
	queue(a);
	start_xmit(a, LO);
	end_xmit(a, LO);
	set_shift(NF_GATE_TX, 0);
	queue(b);
	start_xmit(b, LO);
	end_xmit(b, LO);
	cpu_state(0)->next_run = NF_PASSES;
	softirq_entry(NET_RX_SOFTIRQ);
	receive(a);
	softirq_exit(NET_RX_SOFTIRQ);
	cpu_state(0)->next_run = 3;
	softirq_entry(NET_RX_SOFTIRQ);
	receive(b);
	receive(fresh);
	assert_null(entry_of(a));
	assert_int_equal(nf_inflight_share(entry_of(b)).shift, 3);
	assert_int_equal(nf_inflight_share(entry_of(fresh)).shift, 3);
	assert_int_equal(entry_of(fresh)->rx.entry, 0);
	assert_balanced();
}

/* An skb that a veth built around a frame; XDP has taken its pointers out. */
static struct sk_buff *redirected(struct net_device *dev)
{
	struct sk_buff *skb = skb_new(dev);
	struct xdp_frame *frame = (void *)skb->head;

	skb->head_frag = 1;
	skb->mac_header = sizeof(*frame) + 6;
	*frame = (struct xdp_frame){.headroom = 6};
	return skb;
}

/* What XDP redirects to the peer of a veth without a program is drawn there: it was not sent. */
TEST(test_redirected)
{
	struct sk_buff *skb = redirected(LO), *routed = redirected(LO), *other = redirected(LO);
	struct sk_buff *whole = redirected(LO), *card = redirected(NET_A), *passed = redirected(LO);

	nf_device_slot(LO);
	routed->slow_gro = 1;
	((struct xdp_frame *)other->head)->headroom++;
	((struct xdp_frame *)whole->head)->dev_rx = LO;
	cpu_state(0)->next_run = 3;
	at(BEGIN_NS);
	softirq_raise(NET_RX_SOFTIRQ);
	softirq_entry(NET_RX_SOFTIRQ);
	receive(skb);
	receive(routed);
	receive(other);
	receive(whole);
	receive(card);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(nf_inflight_share(entry_of(skb)).shift, 3);
	assert_int_equal(entry_of(skb)->rx.entry, 0);
	assert_null(entry_of(routed));
	assert_null(entry_of(other));
	assert_null(entry_of(whole));
	assert_int_not_equal(entry_of(card)->rx.entry, 0);
	cpu_state(0)->next_run = NF_PASSES;
	softirq_entry(NET_RX_SOFTIRQ);
	receive(passed);
	assert_null(entry_of(passed));
	assert_balanced();
}

/* A segment of GSO begins at start_xmit, but not where it may be an skb that was passed over. */
TEST(test_segments)
{
	struct sk_buff *skb = skb_new(NET_A);

	pass(NF_GATE_TX);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	assert_null(entry_of(skb));
	set_shift(NF_GATE_TX, 0);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	assert_int_equal(entry_of(skb)->flags & NF_INFLIGHT_NO_QUEUE, NF_INFLIGHT_NO_QUEUE);
	/* Another CPU passes over some, which may be sent here. */
	nf_passed_jiffies = stand_in.jiffies;
	skb = skb_new(NET_A);
	start_xmit(skb, NET_A);
	assert_null(entry_of(skb));
}

/* An skb of `segments` segments is queued and then cut, for a device that takes no such skbs. */
static void cut(struct sk_buff *skb, struct net_device *dev, __u32 segments)
{
	skb_fill(skb, skb->head, dev, 100);
	skb_segmented(skb, NF_SKB_GSO_UDP_L4, segments);
	queue(skb);
	consume(skb);
}

/* The next segment is sent; whether it is followed. */
static bool send_segment(struct net_device *dev)
{
	struct sk_buff *skb = skb_new(dev);

	start_xmit(skb, dev);
	end_xmit(skb, dev);
	return entry_of(skb);
}

/* While packets are passed over, the segments of an skb are followed if it is, and stand for as many as it. */
TEST(test_segments_of_a_followed_skb)
{
	struct sk_buff *skb = skb_new(NET_A);

	choose(NF_GATE_TX);
	cut(skb, NET_A, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(send_segment(NET_A));
		assert_int_equal(entry_of(&machine.skb[machine.skbs - 1])->flags &
					 NF_INFLIGHT_NO_QUEUE,
				 NF_INFLIGHT_NO_QUEUE);
	}
	/* They vary together: 3 x 3 of 16 x 15, rounded up to a power of two. */
	assert_int_equal(hist(NET_A, NF_SEGMENT_START_TO_XMIT).count, 3 * 16);
	assert_int_equal(
		nf_device_stats(nf_device_slot(NET_A))->hist[NF_SEGMENT_START_TO_XMIT].variance,
		(1 + 3 + 7) * 16 * 15);
	/* The next skb is another one, and so are the segments of one that is not followed. */
	assert_false(send_segment(NET_A));
	pass(NF_GATE_TX);
	cut(skb, NET_A, 3);
	assert_false(send_segment(NET_A));
	assert_balanced();
}

/* The kernel cuts all skbs that it takes from a qdisc at once, and sends their segments then. */
TEST(test_segments_of_several_skbs)
{
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 2);
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 3);
	/* Another device's are not theirs. */
	assert_false(send_segment(NET_B));
	for (int i = 0; i < 5; i++)
		assert_true(send_segment(NET_A));
	assert_false(send_segment(NET_A));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 0);
	/* Those of one device that have not come are missing when another one's are expected. */
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 2);
	choose(NF_GATE_TX);
	cut(skb_new(NET_B), NET_B, 2);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 2 * 16);
	assert_true(send_segment(NET_B));
	assert_balanced();
}

/* The entry is another skb's, in whose memory this one is: its segments are not those of a followed one. */
TEST(test_segments_of_another_skb)
{
	struct sk_buff *skb = skb_new(NET_A), *later = skb_new(NET_A);

	choose(NF_GATE_TX);
	queue(skb);
	skb_fill(skb, later->head, NET_A, 100);
	skb_segmented(skb, NF_SKB_GSO_UDP_L4, 3);
	consume(skb);
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	pass(NF_GATE_TX);
	assert_false(send_segment(NET_A));
	assert_balanced();
}

/* A device with partial GSO gets fewer skbs, of several segments each. */
TEST(test_segments_of_several_segments)
{
	struct sk_buff *skb = skb_new(NET_A);

	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 10);
	skb_segmented(skb, NF_SKB_GSO_UDP_L4, 8);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	assert_non_null(entry_of(skb));
	assert_true(send_segment(NET_A));
	assert_true(send_segment(NET_A));
	assert_false(send_segment(NET_A));
	/* A copy of the whole skb is all that comes. */
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 3);
	skb = skb_new(NET_A);
	skb_segmented(skb, NF_SKB_GSO_UDP_L4, 3);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	assert_non_null(entry_of(skb));
	assert_false(send_segment(NET_A));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 0);
	assert_balanced();
}

/* What the driver refused comes later, and nothing tells it from packets that were passed over. */
TEST(test_segments_that_went_back)
{
	advance(0);
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 3);
	advance(JIFFY_NS);
	assert_true(send_segment(NET_A));
	advance(JIFFY_NS);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 0);
	assert_false(send_segment(NET_A));
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 2 * 16);
	/* Nor do segments begin after a window. */
	choose(NF_GATE_TX);
	cut(skb_new(NET_A), NET_A, 3);
	live.hold = true;
	assert_false(send_segment(NET_A));
	assert_balanced();
}

/* ---- the memory of skbs ---- */

/* An skb that is not followed has the memory of one that was: its stages are not those of that one. */
TEST(test_reused)
{
	struct sk_buff *skb = skb_new(NET_A);

	receive(skb);
	skb->skb_iif = 2;
	assert_non_null(entry_of(skb));
	skb_fill(skb, skb->head, NET_A,
		 100); /* freed silently: the same memory, and the same head */
	pass(NF_GATE_TX);
	queue(skb);
	assert_null(entry_of(skb));
	assert_int_equal(events(NF_EVENT_INVALIDATED), 1);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	consume(skb);
	assert_int_equal(hist(NET_A, NF_SEGMENT_START_TO_XMIT).count, 0);
	assert_balanced();
}

/* Stages were detached while the skb was in flight. */
TEST(test_older_than_the_stages)
{
	struct sk_buff *skb = skb_new(NET_A), *other = skb_new(NET_A);

	at(10000);
	queue(skb);
	queue(other);
	live.since_ns = 20000;
	at(30000);
	start_xmit(skb, NET_A);
	consume(other);
	assert_int_equal(entry_of(skb)->flags & NF_INFLIGHT_NO_QUEUE, NF_INFLIGHT_NO_QUEUE);
	assert_null(entry_of(other));
	assert_int_equal(events(NF_EVENT_INVALIDATED), 2);
	assert_int_equal(hist(NET_A, NF_SEGMENT_QUEUE_TO_START).count, 0);
	assert_balanced();
}

/* What was followed for 16, and lost its entry, is missing 16 times; what outlasted a window the daemon counts. */
TEST(test_overwritten)
{
	struct sk_buff *skb[3];

	skbs_of_one_set(skb, 3);
	for (int i = 0; i < 3; i++) {
		choose(NF_GATE_TX);
		queue(skb[i]);
		advance(1000);
	}
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 1);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 16);
	live.since_ns = stand_in.now;
	choose(NF_GATE_TX);
	queue(skb[0]);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN), 2);
	assert_int_equal(events(NF_EVENT_OVERWRITTEN_PACKETS), 16);
	assert_balanced();
}

TEST(test_presence)
{
	struct sk_buff *skb[2];

	skbs_of_one_set(skb, 2);
	assert_false(nf_inflight_may_have(nf_address(skb[0])));
	queue(skb[0]);
	assert_true(nf_inflight_may_have(nf_address(skb[0])));
	queue(skb[1]);
	consume(skb[0]);
	assert_true(nf_inflight_may_have(nf_address(skb[1])));
	consume(skb[1]);
	assert_false(nf_inflight_may_have(nf_address(skb[0])));
	assert_balanced();
}

static struct sk_buff *intruder;
static enum stand_in_point intrudes;

/* Another CPU begins a journey in the same set in the middle of an end. */
static void intrude(enum stand_in_point point)
{
	struct sk_buff *skb = intruder;

	if (point != intrudes || !skb)
		return;
	intruder = NULL;
	on_cpu(1);
	queue(skb);
	on_cpu(0);
}

TEST(test_presence_races)
{
	static const enum stand_in_point points[] = {STAND_IN_BEFORE_EXCHANGE,
						     STAND_IN_AFTER_EXCHANGE, STAND_IN_LOOKUP};

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		struct sk_buff *skb[2];

		skbs_of_one_set(skb, 2);
		queue(skb[0]);
		intruder = skb[1];
		intrudes = points[i];
		stand_in.hook = intrude;
		consume(skb[0]);
		stand_in.hook = NULL;
		assert_null(intruder);
		if (entry_of(skb[1]))
			assert_true(nf_inflight_may_have(nf_address(skb[1])));
		consume(skb[1]);
		assert_balanced();
	}
}

/* ---- drops ---- */

#define NET_TX_ACTION 0xffffffff81234560ULL

static __u64 drop_flags(void)
{
	size_t size;
	const struct nf_drop_record *r = stand_in_record(-1, &size);

	return r->flags;
}

/* Whether the task was involved is not known before a softirq began or ended on this CPU. */
TEST(test_task_not_known)
{
	in_task(true);
	cpu_state(0)->known = 0;
	drop(skb_new(NET_A), 1, 2);
	assert_int_equal(drop_flags() & (NF_DROP_TASK | NF_DROP_TASK_UNKNOWN),
			 NF_DROP_TASK_UNKNOWN);
	softirq_exit(NET_TX_SOFTIRQ);
	drop(skb_new(NET_A), 1, 2);
	assert_int_equal(drop_flags() & (NF_DROP_TASK | NF_DROP_TASK_UNKNOWN), NF_DROP_TASK);
	cpu_state(0)->closed = 1;
	drop(skb_new(NET_A), 1, 2);
	assert_int_equal(drop_flags() & (NF_DROP_TASK | NF_DROP_TASK_UNKNOWN),
			 NF_DROP_TASK_UNKNOWN);
}

/* A driver completes transmits that are not followed: no drops, whatever is attached. */
TEST(test_completions_that_are_not_followed)
{
	struct sk_buff *skb = skb_new(NET_A);

	stand_in.number[0].name = "SKB_DROP_REASON_NOT_SPECIFIED";
	stand_in.number[0].value = 2;
	live.net_tx_action = NET_TX_ACTION;
	cpu_state(0)->closed = 1;
	drop(skb, NET_TX_ACTION, 2);
	assert_int_equal(events(NF_EVENT_COMPLETED), 1);
	assert_int_equal(events(NF_EVENT_COUNTED), 0);
	drop(skb, NET_TX_ACTION, 3);	 /* with a reason */
	drop(skb, NET_TX_ACTION + 1, 2); /* elsewhere */
	drop(skb_new(LO), NET_TX_ACTION, 2);
	skb->network_header = 0; /* a buffer for reception */
	drop(skb, NET_TX_ACTION, 2);
	assert_int_equal(events(NF_EVENT_COMPLETED), 1);
	assert_int_equal(events(NF_EVENT_COUNTED), 4);
}

/* Where symbols are hidden, the first completion that was followed shows where they are. */
TEST(test_learns_where_completions_are)
{
	struct sk_buff *skb = skb_new(NET_A);

	stand_in.number[0].name = "SKB_DROP_REASON_NOT_SPECIFIED";
	stand_in.number[0].value = 2;
	queue(skb);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	softirq_entry(NET_TX_SOFTIRQ);
	drop(skb, NET_TX_ACTION, 2);
	softirq_exit(NET_TX_SOFTIRQ);
	assert_int_equal(live.net_tx_action, NET_TX_ACTION);
	drop(skb_new(NET_A), NET_TX_ACTION, 2);
	assert_int_equal(events(NF_EVENT_COMPLETED), 2);
}

/* ---- readers ---- */

static struct machine_socket sock;

static struct sk_buff *arrives(bool followed)
{
	struct sk_buff *skb = skb_new(NET_A);

	cpu_state(0)->next_run = followed ? 4 : NF_PASSES;
	softirq_entry(NET_RX_SOFTIRQ);
	receive(skb);
	skb->skb_iif = 2;
	queue_udp(&sock, skb);
	data_ready(&sock.sk);
	softirq_exit(NET_RX_SOFTIRQ);
	return skb;
}

static void read_one(void)
{
	assert_non_null(queue_take(&sock.sk.sk_receive_queue));
	recv_length(&sock.sk, 72, 0);
}

/* The reader of a followed datagram is timed, behind and before others. */
TEST(test_reader)
{
	live.interval_ns = 0;
	socket_init(&sock, SOCK_DGRAM, IPPROTO_UDP);
	arrives(false);
	arrives(false);
	arrives(true);
	arrives(false);
	read_one();
	read_one();
	assert_int_equal(events(NF_EVENT_DELIVERED), 0);
	read_one();
	assert_int_equal(events(NF_EVENT_DELIVERED), 1);
	read_one();
	arrives(false);
	read_one();
	arrives(true);
	arrives(true);
	read_one();
	read_one();
	assert_int_equal(events(NF_EVENT_DELIVERED), 3);
	assert_int_equal(hist(NET_A, NF_SEGMENT_RECEIVE_TO_COPY).count, 3 * 16);
	assert_int_equal(hist(NET_A, NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE).count, 3 * 16);
	assert_balanced();
}

/* While nothing followed is in the queue, a read changes nothing of its socket. */
TEST(test_reader_at_rest)
{
	struct nf_reader before, *r;

	live.interval_ns = 0;
	socket_init(&sock, SOCK_DGRAM, IPPROTO_UDP);
	arrives(true);
	read_one();
	r = nf_reader_at(nf_address(&sock.sk));
	before = *r;
	assert_int_equal(before.last, 0);
	arrives(false);
	read_one();
	assert_memory_equal(r, &before, sizeof(before));
}

/* ---- cost ---- */

/* One call in some thousand times itself, without the clock. */
TEST(test_timing)
{
	struct nf_timing *timing = &cpu_state(0)->timing[NF_PROBE_NAPI_POLL];
	struct napi_struct napi = {.dev = NET_A};

	stand_in.step = 10;
	napi_poll(&napi, 1, 64);
	assert_int_equal(timing->runs, 0);
	cpu_state(0)->calls[NF_PROBE_NAPI_POLL] = NF_TIMED_ONE_IN - 1;
	stand_in.hook = NULL;
	napi_poll(&napi, 1, 64);
	assert_int_equal(timing->runs, 1);
	assert_int_equal(timing->ns, 0); /* nothing but the clock */
	assert_int_equal(cpu_state(0)->timed, 0);
	cpu_state(0)->calls[NF_PROBE_NET_DEV_QUEUE] = NF_TIMED_ONE_IN - 1;
	queue(skb_new(NET_A)); /* reads the clock once */
	assert_int_equal(cpu_state(0)->timing[NF_PROBE_NET_DEV_QUEUE].ns, 10);
	napi_poll(&napi, 1, 64);
	assert_int_equal(timing->runs, 1);
}

/* A hit of the programs that measure the hook, with these times between their clocks. */
static void hit_of_hooks(__u64 gap, __u64 hooks)
{
	static __u64 now = 1000;

	at(now);
	nf_hook_first(NULL);
	at(now + gap);
	nf_hook_second(NULL);
	at(now + gap + hooks);
	nf_hook_third(NULL);
	now += 10000;
}

TEST(test_shortest_hooks)
{
	const struct nf_hook *hook = &cpu_state(0)->hook;

	stand_in.step = 0;
	hit_of_hooks(100, 470);
	hit_of_hooks(5000, 440);
	hit_of_hooks(80, 9000);
	assert_int_equal(hook->gap_ns, 80);
	assert_int_equal(hook->hooks_ns, 440);
}
