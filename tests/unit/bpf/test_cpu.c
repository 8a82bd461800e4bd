/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf/cpu.h and bpf/softirq.h: which interrupt, raise and softirq bring a packet. */
#include "tests/unit/bpf/path.h"

#define NET_A (&machine.dev[0][1])
#define LO (&machine.dev[0][0])

enum { IRQ_NIC = 40, IRQ_NIC2 = 41, IRQ_DISK = 42, BLOCK_SOFTIRQ = 4 };

/* An interrupt handler that raises NET_RX. */
static void interrupt(__u32 irq, __u64 ns, __u64 raise_ns)
{
	at(ns);
	irq_entry(irq);
	at(raise_ns);
	softirq_raise(NET_RX_SOFTIRQ);
	irq_exit(irq);
}

/* The stages of the skb that is received at `ns`: its journey ends at once. */
static const __u64 *stages_of(struct net_device *dev, __u64 ns)
{
	struct sk_buff *skb = skb_new(dev);

	at(ns);
	receive(skb);
	skb->skb_iif = dev->ifindex;
	at(ns + 1600);
	copy(skb, 10);
	return journey()->stage_ns;
}

EACH_TEST(path_begin, path_end);

TEST(test_interrupt_raise_entry)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	assert_int_equal(stage[NF_STAGE_RECEIVE], 13200);
	assert_hist(NET_A, NF_SEGMENT_IRQ_TO_SOFTIRQ, 1, 1600);
	assert_hist(NET_A, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1, 1440);
	assert_hist(NET_A, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 1, 1600);
	assert_false(journey()->flags & NF_JOURNEY_POLLED);
}

/* Two devices raise on one CPU before the softirq runs: its wait begins with the first raise. */
TEST(test_two_napis_raise)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	interrupt(IRQ_NIC2, 11200, 11360);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_hist(NET_A, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1, 1440);
	assert_hist(NET_A, NF_SEGMENT_IRQ_TO_SOFTIRQ, 1, 1600);
}

/* Each CPU has a softirq of its own. */
TEST(test_cpus_apart)
{
	const __u64 *stage;

	on_cpu(1);
	interrupt(IRQ_NIC, 10000, 10160);
	on_cpu(2);
	interrupt(IRQ_NIC2, 10800, 10960);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 10800);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10960);
	assert_int_equal(journey()->header.cpu, 2);
}

/* The second run has a raise of its own; what brought the first one is over. */
TEST(test_runs_apart)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(12000);
	softirq_exit(NET_RX_SOFTIRQ);
	interrupt(IRQ_NIC, 20000, 20160);
	at(21600);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 23200);
	assert_int_equal(stage[NF_STAGE_IRQ], 20000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 20160);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 21600);
}

/* A raise of another softirq, and the run of one, change nothing. */
TEST(test_other_vectors)
{
	const __u64 *stage;

	at(8000);
	softirq_raise(BLOCK_SOFTIRQ);
	assert_int_equal(event_of(NF_PROBE_SOFTIRQ_RAISE, NF_EVENT_HIT), 0);
	softirq_entry(BLOCK_SOFTIRQ);
	interrupt(IRQ_NIC, 10000, 10160);
	softirq_exit(BLOCK_SOFTIRQ);
	at(11200);
	softirq_entry(BLOCK_SOFTIRQ);
	softirq_exit(BLOCK_SOFTIRQ);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10160);
}

/* An interrupt of a device that raises nothing does not bring packets. */
TEST(test_interrupt_of_a_disk)
{
	const __u64 *stage;

	at(9000);
	irq_entry(IRQ_DISK);
	irq_exit(IRQ_DISK);
	at(9600);
	softirq_raise(NET_RX_SOFTIRQ);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(11700);
	irq_entry(IRQ_DISK); /* on top of the softirq */
	irq_exit(IRQ_DISK);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 0);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 9600);
	assert_hist(NET_A, NF_SEGMENT_IRQ_TO_SOFTIRQ, 0, 0);
	/* Nor does it bring those of the run that the softirq then raises itself. */
	at(16000);
	irq_entry(IRQ_DISK);
	irq_exit(IRQ_DISK);
	at(16160);
	softirq_raise(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	at(17600);
	softirq_entry(NET_RX_SOFTIRQ);
	assert_int_equal(stages_of(NET_A, 19200)[NF_STAGE_IRQ], 0);
	assert_true(journey()->flags & NF_JOURNEY_POLLED);
}

/* Packets of process context and of threaded NAPI have no softirq. */
TEST(test_outside_net_rx)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 0);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 0);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 0);
	softirq_entry(BLOCK_SOFTIRQ);
	stage = stages_of(NET_A, 23200);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 0);
	assert_hist(NET_A, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 0, 0);
}

/* Without the probe softirq_exit nobody knows where a softirq ends. */
TEST(test_without_softirq_exit)
{
	settings.softirq_exit = false;
	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	assert_int_equal(stages_of(NET_A, 13200)[NF_STAGE_SOFTIRQ_ENTRY], 0);
}

/* The handler finds its device being polled and raises nothing; the softirq raises itself. */
TEST(test_interrupt_during_poll)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160); /* the line is known as one that raises NET_RX */
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(12000);
	irq_entry(IRQ_NIC);
	irq_exit(IRQ_NIC);
	at(12800);
	softirq_raise(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	at(14400);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 16000);
	assert_int_equal(stage[NF_STAGE_IRQ], 12000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 12800);
	assert_false(journey()->flags & NF_JOURNEY_POLLED);
}

/* The budget was used up: the softirq raises itself, and the packets have no interrupt. */
TEST(test_polling_on)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(12800);
	softirq_raise(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	at(14400);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 16000);
	assert_int_equal(stage[NF_STAGE_IRQ], 0);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 12800);
	assert_true(journey()->flags & NF_JOURNEY_POLLED);
	/* The next run has an interrupt again. */
	softirq_exit(NET_RX_SOFTIRQ);
	interrupt(IRQ_NIC, 20000, 20160);
	at(21600);
	softirq_entry(NET_RX_SOFTIRQ);
	assert_int_equal(stages_of(NET_A, 23200)[NF_STAGE_IRQ], 20000);
	assert_false(journey()->flags & NF_JOURNEY_POLLED);
}

/* An interrupt from before this run that found its device being polled is served by now. */
TEST(test_old_interrupt_is_forgotten)
{
	interrupt(IRQ_NIC, 10000, 10160);
	at(10400);
	irq_entry(IRQ_NIC);
	irq_exit(IRQ_NIC);
	at(11600);
	softirq_entry(NET_RX_SOFTIRQ);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(cpu_state(0)->again_ns, 0);
	/* One that came during the run stays for the next one. */
	at(21600);
	softirq_entry(NET_RX_SOFTIRQ);
	at(22400);
	irq_entry(IRQ_NIC);
	irq_exit(IRQ_NIC);
	softirq_exit(NET_RX_SOFTIRQ);
	assert_int_equal(cpu_state(0)->again_ns, 22400);
}

/* The handler raises NET_RX after the entry: the run that is going on serves it. */
TEST(test_overtaken)
{
	const __u64 *stage;

	at(10000);
	softirq_entry(NET_RX_SOFTIRQ);
	interrupt(IRQ_NIC, 11200, 11360);
	stage = stages_of(NET_A, 13200);
	assert_int_equal(stage[NF_STAGE_IRQ], 11200);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 11360);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 11360);
	assert_hist(NET_A, NF_SEGMENT_RAISE_TO_SOFTIRQ, 1, 0);
	assert_hist(NET_A, NF_SEGMENT_SOFTIRQ_TO_RECEIVE, 1, 1840);
}

/* lo raises NET_RX inside start_xmit: the wait begins where the transmit began. */
TEST(test_raise_inside_start_xmit)
{
	struct sk_buff *skb = skb_new(LO);

	at(10000);
	queue(skb);
	at(11200);
	start_xmit(skb, LO);
	at(12000);
	softirq_raise(NET_RX_SOFTIRQ);
	assert_int_equal(cpu_state(0)->raise_ns, 11200);
	end_xmit(skb, LO);
	at(14400);
	softirq_entry(NET_RX_SOFTIRQ);
	at(16000);
	receive(skb);
	skb->skb_iif = 1;
	at(17600);
	copy(skb, 10);
	assert_int_equal(journey()->stage_ns[NF_STAGE_SOFTIRQ_RAISE], 11200);
	assert_int_equal(journey()->stage_ns[NF_STAGE_IRQ], 0);
	/* In a handler on top of start_xmit the clock counts. */
	softirq_exit(NET_RX_SOFTIRQ);
	at(20000);
	start_xmit(skb, LO);
	interrupt(IRQ_NIC, 21600, 21760);
	assert_int_equal(cpu_state(0)->raise_ns, 21760);
	assert_int_equal(cpu_state(0)->raise_irq_ns, 21600);
}

/* A device beyond the last level of start_xmit has no start of its own. */
TEST(test_raise_in_deep_start_xmit)
{
	struct sk_buff *skb[NF_XMIT_DEPTH + 2];

	for (int i = 0; i < NF_XMIT_DEPTH + 2; i++) {
		skb[i] = skb_new(NET_A);
		at(10000 + 160 * i);
		start_xmit(skb[i], NET_A);
	}
	assert_int_equal(cpu_state(0)->context.xmit_depth, NF_XMIT_DEPTH);
	at(20000);
	softirq_raise(NET_RX_SOFTIRQ);
	assert_int_equal(cpu_state(0)->raise_ns, 10000 + 160 * (NF_XMIT_DEPTH - 1));
	/* The end of a start that was not kept ends no other transmit. */
	end_xmit(skb[NF_XMIT_DEPTH], NET_A);
	assert_int_equal(cpu_state(0)->context.xmit_depth, 0);
	assert_hist(NET_A, NF_SEGMENT_START_TO_XMIT, 0, 0);
}

/* The task is involved only on its own stack, outside softirqs and interrupt handlers. */
TEST(test_in_task)
{
	__u64 *ctx = machine.ctx[0];
	volatile __u64 scratch;

	in_task(true);
	assert_true(nf_in_task(cpu_state(0), ctx, &scratch));
	softirq_entry(BLOCK_SOFTIRQ);
	assert_false(nf_in_task(cpu_state(0), ctx, &scratch));
	softirq_exit(BLOCK_SOFTIRQ);
	irq_entry(IRQ_DISK);
	assert_false(nf_in_task(cpu_state(0), ctx, &scratch));
	irq_exit(IRQ_DISK);
	assert_true(nf_in_task(cpu_state(0), ctx, &scratch));
	assert_false(nf_in_task(cpu_state(0), ctx + settings.stack_size / sizeof(*ctx), &scratch));
	in_task(false);
	assert_false(nf_in_task(cpu_state(0), ctx, &scratch));
}

/* A CPU that has no state, because it is not possible: no program does anything. */
TEST(test_impossible_cpu)
{
	struct sk_buff *skb = skb_new(NET_A);

	on_cpu(MACHINE_CPUS);
	interrupt(IRQ_NIC, 10000, 10160);
	softirq_entry(NET_RX_SOFTIRQ);
	receive(skb);
	queue(skb);
	start_xmit(skb, NET_A);
	end_xmit(skb, NET_A);
	consume(skb);
	drop(skb, 0x1000, 3);
	copy(skb, 10);
	assert_int_equal(events(NF_EVENT_HIT), 0);
	assert_int_equal(events(NF_EVENT_BEGUN), 0);
	assert_int_equal(in_flight(), 0);
}

/* Before 6.1 an interrupt can start a program again in the middle of its addition. */
TEST(test_atomic_additions)
{
	settings.no_reentry = false;
	irq_entry(IRQ_NIC);
	irq_entry(IRQ_NIC);
	assert_int_equal(event_of(NF_PROBE_IRQ_HANDLER_ENTRY, NF_EVENT_HIT), 2);
}

/* ---- PREEMPT_RT: tasks serve softirqs, and preempt each other there ---- */

/*
 * Tasks like A have the same first context, number 36, and TASK_LIKE_BOTH the same second one, number 37.  That is the
 * first one of TASK_B.
 */
enum {
	TASK_A = 100,
	TASK_B = 101,
	TASK_LIKE_A = TASK_A + NF_CONTEXTS,
	TASK_LIKE_BOTH = TASK_A + NF_CONTEXTS * NF_CONTEXTS,
};

/* The task runs from now on; `serving`: inside a softirq. */
static void as_task(__u32 tid, bool serving)
{
	settings.preempt_rt = true;
	stand_in.tid = tid;
	machine.task.softirq_disable_cnt = serving ? 1 << 8 : 0;
}

/* A softirq inside that of a preempted task leaves the stages of the outer one as they are. */
TEST(test_rt_softirqs)
{
	const __u64 *stage;

	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	as_task(TASK_A, true);
	softirq_entry(NET_RX_SOFTIRQ);
	interrupt(IRQ_NIC2, 12000, 12160);
	at(12800);
	as_task(TASK_B, true);
	softirq_entry(NET_RX_SOFTIRQ);
	stage = stages_of(NET_A, 13600);
	assert_int_equal(stage[NF_STAGE_IRQ], 12000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 12800);
	softirq_exit(NET_RX_SOFTIRQ);
	as_task(TASK_A, true);
	stage = stages_of(NET_A, 20000);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_RAISE], 10160);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	/* The kernel skips the end of this softirq: what comes after is in none. */
	as_task(TASK_A, false);
	stage = stages_of(NET_A, 30000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 0);
	assert_int_equal(stage[NF_STAGE_RECEIVE], 30000);
}

/* Transmits of two tasks on one CPU end in the order in which they began. */
TEST(test_rt_transmits)
{
	struct sk_buff *a = skb_new(NET_A), *b = skb_new(NET_A);

	as_task(TASK_A, false);
	at(10000);
	start_xmit(a, NET_A);
	as_task(TASK_B, false);
	at(10800);
	start_xmit(b, NET_A);
	as_task(TASK_A, false);
	at(11600);
	end_xmit(a, NET_A);
	as_task(TASK_B, false);
	at(13200);
	end_xmit(b, NET_A);
	assert_hist(NET_A, NF_SEGMENT_START_TO_XMIT, 2, 1600 + 2400);
}

/* The interrupt is at 10000, the softirq begins at 11600, and the transmit at 11760. */
static void a_sends_in_a_softirq(struct sk_buff *skb)
{
	interrupt(IRQ_NIC, 10000, 10160);
	at(11600);
	as_task(TASK_A, true);
	softirq_entry(NET_RX_SOFTIRQ);
	at(11760);
	start_xmit(skb, NET_A);
}

/* Tasks of one CPU with the same first context: each keeps its stages, whoever runs in between. */
TEST(test_rt_tasks_with_like_ids)
{
	struct sk_buff *a = skb_new(NET_A), *b = skb_new(NET_A);
	const __u64 *stage;

	a_sends_in_a_softirq(a);
	/* It only passes. */
	as_task(TASK_LIKE_BOTH, false);
	stage = stages_of(NET_A, 11920);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 0);
	interrupt(IRQ_NIC2, 12000, 12160);
	at(12800);
	as_task(TASK_LIKE_A, true);
	softirq_entry(NET_RX_SOFTIRQ);
	at(12960);
	start_xmit(b, NET_A);
	as_task(TASK_A, true);
	stage = stages_of(NET_A, 13600);
	assert_int_equal(stage[NF_STAGE_IRQ], 10000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 11600);
	at(14400);
	end_xmit(a, NET_A);
	softirq_exit(NET_RX_SOFTIRQ);
	/* Its first context is free now, but it keeps the one that it has. */
	as_task(TASK_LIKE_A, true);
	stage = stages_of(NET_A, 15200);
	assert_int_equal(stage[NF_STAGE_IRQ], 12000);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 12800);
	at(16000);
	end_xmit(b, NET_A);
	assert_hist(NET_A, NF_SEGMENT_START_TO_XMIT, 2, 14400 - 11760 + 16000 - 12960);
}

/* Others need both contexts that a task can have: one of them loses its stages, and gets no others'. */
TEST(test_rt_tasks_without_a_context)
{
	struct sk_buff *a = skb_new(NET_A), *b = skb_new(NET_A);
	const __u64 *stage;

	a_sends_in_a_softirq(a);
	as_task(TASK_B, true);
	softirq_entry(NET_RX_SOFTIRQ);
	interrupt(IRQ_NIC2, 12000, 12160);
	at(12800);
	as_task(TASK_LIKE_BOTH, true);
	softirq_entry(NET_RX_SOFTIRQ);
	start_xmit(b, NET_A);
	as_task(TASK_A, true);
	stage = stages_of(NET_A, 13600);
	assert_int_equal(stage[NF_STAGE_IRQ], 0);
	assert_int_equal(stage[NF_STAGE_SOFTIRQ_ENTRY], 0);
	at(14400);
	end_xmit(a, NET_A);
	assert_hist(NET_A, NF_SEGMENT_START_TO_XMIT, 0, 0);
	/* From the next softirq and transmit on, it has everything again. */
	at(16000);
	softirq_entry(NET_RX_SOFTIRQ);
	assert_int_equal(stages_of(NET_A, 17600)[NF_STAGE_SOFTIRQ_ENTRY], 16000);
	at(18400);
	start_xmit(a, NET_A);
	at(20000);
	end_xmit(a, NET_A);
	assert_hist(NET_A, NF_SEGMENT_START_TO_XMIT, 1, 1600);
}

/* A task in a softirq is not involved in its drops. */
TEST(test_rt_in_task)
{
	volatile __u64 scratch;

	in_task(true);
	as_task(TASK_A, false);
	assert_true(nf_in_task(cpu_state(0), machine.ctx[0], &scratch));
	as_task(TASK_A, true);
	assert_false(nf_in_task(cpu_state(0), machine.ctx[0], &scratch));
}
