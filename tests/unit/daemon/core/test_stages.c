/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency records: stages in order, missing stages with reasons, segments by name. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/stages.h"
#include "tests/unit/test.h"

static struct stage_probes probes;
static struct nf_journey_record record;
static struct stages stages;

/* A packet with all stages, whose reader was woken. */
static void deliver(void)
{
	record = (struct nf_journey_record){
		.header = {.type = NF_RECORD_JOURNEY, .size = sizeof(record), .time_ns = 2000},
		.outcome = NF_OUTCOME_DELIVERED,
		.stage_ns = {[NF_STAGE_IRQ] = 100,
			     [NF_STAGE_SOFTIRQ_RAISE] = 110,
			     [NF_STAGE_SOFTIRQ_ENTRY] = 150,
			     [NF_STAGE_RECEIVE] = 200,
			     [NF_STAGE_SOCK_QUEUE] = 250,
			     [NF_STAGE_WAKEUP] = 260,
			     [NF_STAGE_RUN] = 1900,
			     [NF_STAGE_COPY] = 2000},
	};
}

static void transmit(void)
{
	record = (struct nf_journey_record){
		.header = {.type = NF_RECORD_JOURNEY, .size = sizeof(record), .time_ns = 500},
		.outcome = NF_OUTCOME_TRANSMITTED,
		.stage_ns = {[NF_STAGE_QUEUE] = 100,
			     [NF_STAGE_START_XMIT] = 110,
			     [NF_STAGE_XMIT] = 150,
			     [NF_STAGE_FREE] = 500},
	};
}

static void forward(void)
{
	record = (struct nf_journey_record){
		.header = {.type = NF_RECORD_JOURNEY, .size = sizeof(record), .time_ns = 900},
		.outcome = NF_OUTCOME_FORWARDED,
		.stage_ns = {[NF_STAGE_SOFTIRQ_RAISE] = 100,
			     [NF_STAGE_SOFTIRQ_ENTRY] = 120,
			     [NF_STAGE_RECEIVE] = 130,
			     [NF_STAGE_QUEUE] = 200,
			     [NF_STAGE_START_XMIT] = 700,
			     [NF_STAGE_XMIT] = 900},
	};
}

static int start(void **state)
{
	(void)state;
	memset(&probes, 0, sizeof(probes));
	deliver();
	return 0;
}

EACH_TEST(start, NULL);

/* Checks the names of the stages, in order. */
static void check_stages(const char *expected)
{
	char text[512] = "";

	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	for (size_t i = 0; i < stages.count; i++) {
		if (i) {
			strcat(text, " ");
			assert_true(stages.stage[i].time_ns >= stages.stage[i - 1].time_ns);
		}
		strcat(text, stage_name(stages.stage[i].stage));
	}
	assert_string_equal(text, expected);
	assert_int_equal(stages.total_ns,
			 stages.stage[stages.count - 1].time_ns - stages.stage[0].time_ns);
}

/* Checks the names of the missing stages, and that the reason of each contains `reason`. */
static void check_missing(const char *expected, const char *reason)
{
	char text[512] = "";

	for (size_t i = 0; i < stages.missing_count; i++) {
		if (i)
			strcat(text, " ");
		strcat(text, stage_name(stages.missing[i].stage));
		if (!strstr(stages.missing[i].reason, reason))
			fail_msg("\"%s\" is not in \"%s\"", reason, stages.missing[i].reason);
	}
	assert_string_equal(text, expected);
}

static void lose(enum nf_probe probe)
{
	snprintf(probes.without[probe], sizeof(probes.without[probe]), "probe %d is off", probe);
}

/* ---- complete paths ---------------------------------------------------------- */

TEST(test_delivered)
{
	check_stages("irq softirq_raise softirq_entry receive sock_queue wakeup run copy");
	check_missing("", "");
	assert_int_equal(stages.total_ns, 1900);
	assert_int_equal(stages.stage[stages.dominant].stage, NF_STAGE_WAKEUP);
}

/* No interrupt raised the softirq, and no reader was waiting. */
TEST(test_delivered_without_what_need_not_be)
{
	record.stage_ns[NF_STAGE_IRQ] = 0;
	record.stage_ns[NF_STAGE_WAKEUP] = record.stage_ns[NF_STAGE_RUN] = 0;
	check_stages("softirq_raise softirq_entry receive sock_queue copy");
	check_missing("", "");
}

TEST(test_raise_before_irq)
{
	record.stage_ns[NF_STAGE_SOFTIRQ_RAISE] = 90;
	check_stages("softirq_raise irq softirq_entry receive sock_queue wakeup run copy");
	check_missing("", "");
	assert_int_equal(stages.total_ns, 1910);
}

TEST(test_transmitted)
{
	transmit();
	check_stages("queue start_xmit xmit free");
	check_missing("", "");
	assert_int_equal(stages.stage[stages.dominant].stage, NF_STAGE_XMIT);
	record.stage_ns[NF_STAGE_FREE] = 0; /* the device passed the skb to its peer: lo, veth */
	check_stages("queue start_xmit xmit");
	check_missing("", "");
}

TEST(test_forwarded)
{
	forward();
	check_stages("softirq_raise softirq_entry receive queue start_xmit xmit");
	check_missing("", "");
	assert_int_equal(stages.stage[stages.dominant].stage, NF_STAGE_QUEUE);
}

/* Stages with equal times are in order. */
TEST(test_no_time_passed)
{
	for (int i = 0; i <= NF_STAGE_COPY; i++)
		record.stage_ns[i] = record.header.time_ns;
	check_stages(
		"irq softirq_raise softirq_entry receive gap_filled sock_queue wakeup run copy");
	assert_int_equal(stages.total_ns, 0);
	assert_int_equal(stages.dominant, 0);
}

/* Stages that do not belong to such a stages are ignored, whatever their values are. */
TEST(test_foreign_stages)
{
	record.stage_ns[NF_STAGE_QUEUE] = 300;
	record.stage_ns[NF_STAGE_FREE] = 400;
	check_stages("irq softirq_raise softirq_entry receive sock_queue wakeup run copy");
	transmit();
	record.stage_ns[NF_STAGE_RECEIVE] = 50;
	check_stages("queue start_xmit xmit free");
	check_missing("", "");
}

/* ---- missing stages ------------------------------------------------------------ */

TEST(test_taken_early)
{
	record.stage_ns[NF_STAGE_SOCK_QUEUE] = 0;
	check_stages("irq softirq_raise softirq_entry receive wakeup run copy");
	check_missing("sock_queue", "announced");
}

/* TCP's reader cannot be faster than the announcement, so the reason is another. */
TEST(test_taken_early_tcp)
{
	static const uint8_t ip[20] = {0x45, [3] = 20, [8] = 64, [9] = IPPROTO_TCP};

	record.stage_ns[NF_STAGE_SOCK_QUEUE] = 0;
	record.bytes.protocol = 0x0800;
	record.bytes.net_len = sizeof(ip);
	memcpy(record.bytes.net, ip, sizeof(ip));
	check_stages("irq softirq_raise softirq_entry receive wakeup run copy");
	check_missing("sock_queue", "at once");
}

/* A tun device received it outside a softirq, so the stages of a softirq are not missing. */
TEST(test_received_outside_a_softirq)
{
	record.stage_ns[NF_STAGE_IRQ] = record.stage_ns[NF_STAGE_SOFTIRQ_RAISE] = 0;
	record.stage_ns[NF_STAGE_SOFTIRQ_ENTRY] = 0;
	lose(NF_PROBE_IRQ_HANDLER_ENTRY);
	check_stages("receive sock_queue wakeup run copy");
	assert_int_equal(stages.missing_count, 0);
}

TEST(test_raise_taken_by_another_run)
{
	record.stage_ns[NF_STAGE_IRQ] = record.stage_ns[NF_STAGE_SOFTIRQ_RAISE] = 0;
	check_stages("softirq_entry receive sock_queue wakeup run copy");
	check_missing("softirq_raise", "raised again");
}

/* A softirq that raised itself found the packet while it polled the ring. */
TEST(test_found_by_polling_on)
{
	record.stage_ns[NF_STAGE_IRQ] = 0;
	record.flags = NF_JOURNEY_POLLED;
	check_stages("softirq_raise softirq_entry receive sock_queue wakeup run copy");
	check_missing("irq", "polled on");
}

TEST(test_segment_of_a_gso_skb)
{
	transmit();
	record.stage_ns[NF_STAGE_QUEUE] = 0;
	record.flags = NF_JOURNEY_NO_QUEUE;
	check_stages("start_xmit xmit free");
	check_missing("queue", "cut from a GSO skb after net_dev_queue");
}

TEST(test_freed_before_start)
{
	transmit();
	record.stage_ns[NF_STAGE_START_XMIT] = record.stage_ns[NF_STAGE_XMIT] = 0;
	check_stages("queue free");
	check_missing("start_xmit xmit", "freed before start_xmit");
}

TEST(test_received_by_the_peer_before_xmit)
{
	transmit();
	record.stage_ns[NF_STAGE_XMIT] = record.stage_ns[NF_STAGE_FREE] = 0;
	check_stages("queue start_xmit");
	check_missing("xmit", "before net_dev_xmit");
}

TEST(test_receive_side_lost)
{
	forward();
	for (int i = 0; i <= NF_STAGE_RECEIVE; i++)
		record.stage_ns[i] = 0;
	check_stages("queue start_xmit xmit");
	check_missing("receive", "overwritten");
}

/* ---- probes that are not attached --------------------------------------------------- */

/* For each probe: the stages that the BPF programs omit without it. */
TEST(test_probes_off)
{
#define B(stage) (1U << NF_STAGE_##stage)
	static const struct {
		enum nf_probe probe;
		void (*record)(void);
		unsigned int lost;
		const char *missing;
	} cases[] = {
		{NF_PROBE_IRQ_HANDLER_ENTRY, deliver, B(IRQ), "irq"},
		{NF_PROBE_IRQ_HANDLER_EXIT, deliver, B(IRQ), "irq"},
		{NF_PROBE_SOFTIRQ_RAISE, deliver, B(IRQ) | B(SOFTIRQ_RAISE), "irq softirq_raise"},
		{NF_PROBE_SOFTIRQ_ENTRY, deliver, B(IRQ) | B(SOFTIRQ_RAISE) | B(SOFTIRQ_ENTRY),
		 "irq softirq_raise softirq_entry"},
		{NF_PROBE_SK_DATA_READY, deliver, B(SOCK_QUEUE) | B(WAKEUP) | B(RUN),
		 "gap_filled sock_queue wakeup run"},
		{NF_PROBE_SCHED_WAKING, deliver, B(WAKEUP) | B(RUN), "wakeup run"},
		{NF_PROBE_SCHED_SWITCH, deliver, B(WAKEUP) | B(RUN), "wakeup run"},
		{NF_PROBE_NET_DEV_QUEUE, transmit, B(QUEUE), "queue"},
		{NF_PROBE_NET_DEV_START_XMIT, transmit, B(START_XMIT) | B(XMIT), "start_xmit xmit"},
		{NF_PROBE_NET_DEV_XMIT, transmit, B(XMIT), "xmit"},
		{NF_PROBE_NET_DEV_XMIT, forward, B(XMIT), "xmit"},
		{NF_PROBE_CONSUME_SKB, transmit, B(FREE), ""},
		{NF_PROBE_NAPI_POLL, deliver, 0, ""},
	};
#undef B

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(&probes, 0, sizeof(probes));
		lose(cases[i].probe);
		cases[i].record();
		if (cases[i].probe == NF_PROBE_NET_DEV_QUEUE)
			record.flags = NF_JOURNEY_NO_QUEUE;
		for (int stage = 0; stage < NF_STAGE_COUNT; stage++)
			if (cases[i].lost & 1U << stage)
				record.stage_ns[stage] = 0;
		assert_int_equal(stages_read(&stages, &record, &probes), 0);
		check_missing(cases[i].missing, probes.without[cases[i].probe]);
	}
}

/* ---- impossible times ---------------------------------------------------------------- */

/* With any time in one stage, no reported duration is negative, and no stage is after the end. */
TEST(test_one_stage_anywhere)
{
	static void (*const records[])(void) = {deliver, transmit, forward};
	static const uint64_t times[] = {1, 99, 125, 1000, 5000, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		for (size_t j = 0; j < ARRAY_SIZE(times); j++)
			for (int stage = 0; stage < NF_STAGE_COUNT; stage++) {
				int r;

				records[i]();
				if (!record.stage_ns[stage])
					continue;
				record.stage_ns[stage] = times[j];
				r = stages_read(&stages, &record, &probes);
				if (r < 0) {
					assert_int_equal(r, -ENODATA);
					continue;
				}
				for (size_t k = 1; k < stages.count; k++)
					assert_true(stages.stage[k].time_ns >=
						    stages.stage[k - 1].time_ns);
				assert_true(stages.stage[stages.count - 1].time_ns <=
					    record.header.time_ns);
				assert_true(stages.count >= 2);
				assert_in_range(stages.dominant, 0, stages.count - 2);
			}
}

TEST(test_out_of_order)
{
	record.stage_ns[NF_STAGE_SOCK_QUEUE] = 199; /* before `receive` */
	check_stages("irq softirq_raise softirq_entry receive wakeup run copy");
	check_missing("sock_queue", "out of order");
	deliver();
	record.stage_ns[NF_STAGE_SOFTIRQ_ENTRY] = 201; /* after `receive` */
	check_stages("irq softirq_raise receive sock_queue wakeup run copy");
	check_missing("softirq_entry", "out of order");
	deliver();
	record.stage_ns[NF_STAGE_RUN] = 2001; /* after the record's end */
	check_stages("irq softirq_raise softirq_entry receive sock_queue wakeup copy");
	check_missing("run", "out of order");
	deliver();
	record.stage_ns[NF_STAGE_IRQ] = 151; /* after the softirq that it should have raised */
	check_stages("softirq_raise softirq_entry receive sock_queue wakeup run copy");
	check_missing("irq", "out of order");
}

TEST(test_too_little)
{
	struct stages before;

	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	before = stages;
	record.stage_ns[NF_STAGE_RECEIVE] = 0;
	assert_int_equal(stages_read(&stages, &record, &probes), -ENODATA);
	transmit();
	for (int i = 0; i < NF_STAGE_COUNT; i++)
		if (i != NF_STAGE_START_XMIT)
			record.stage_ns[i] = 0;
	assert_int_equal(stages_read(&stages, &record, &probes), -ENODATA);
	memset(record.stage_ns, 0, sizeof(record.stage_ns));
	assert_int_equal(stages_read(&stages, &record, &probes), -ENODATA);
	deliver();
	record.outcome = NF_OUTCOME_FORWARDED + 1;
	assert_int_equal(stages_read(&stages, &record, &probes), -EINVAL);
	record.outcome = UINT8_MAX;
	assert_int_equal(stages_read(&stages, &record, &probes), -EINVAL);
	assert_memory_equal(&before, &stages, sizeof(stages));
}

/* ---- segments --------------------------------------------------------------------------- */

static void check_segment(const char *text, enum nf_stage from, enum nf_stage to)
{
	struct segment segment = {0};
	char nearest[SEGMENT_NAME_MAX];

	assert_int_equal(segment_parse(&segment, text, nearest), 0);
	assert_false(segment.total);
	assert_false(segment.one_way);
	assert_int_equal(segment.from, from);
	assert_int_equal(segment.to, to);
}

static void check_total(const char *text, enum nf_outcome outcome, enum nf_stage to)
{
	struct segment segment = {0};
	char nearest[SEGMENT_NAME_MAX];

	assert_int_equal(segment_parse(&segment, text, nearest), 0);
	assert_true(segment.one_way);
	assert_int_equal(segment.outcome, outcome);
	assert_int_equal(segment.to, to);
}

TEST(test_segment_names)
{
	struct segment segment = {.one_way = true};
	char text[SEGMENT_NAME_MAX];

	check_segment("receive_to_sock_queue", NF_STAGE_RECEIVE, NF_STAGE_SOCK_QUEUE);
	check_segment("receive→sock_queue", NF_STAGE_RECEIVE, NF_STAGE_SOCK_QUEUE);
	check_segment("receive->sock_queue", NF_STAGE_RECEIVE, NF_STAGE_SOCK_QUEUE);
	check_segment("rx receive→sock_queue", NF_STAGE_RECEIVE, NF_STAGE_SOCK_QUEUE);
	check_segment("raise_to_softirq", NF_STAGE_SOFTIRQ_RAISE, NF_STAGE_SOFTIRQ_ENTRY);
	check_segment("raise→softirq", NF_STAGE_SOFTIRQ_RAISE, NF_STAGE_SOFTIRQ_ENTRY);
	check_segment("softirq_raise_to_softirq_entry", NF_STAGE_SOFTIRQ_RAISE,
		      NF_STAGE_SOFTIRQ_ENTRY);
	check_segment("softirq->receive", NF_STAGE_SOFTIRQ_ENTRY, NF_STAGE_RECEIVE);
	check_segment("softirq_raise→irq", NF_STAGE_SOFTIRQ_RAISE, NF_STAGE_IRQ);
	check_segment("receive→queue", NF_STAGE_RECEIVE, NF_STAGE_QUEUE);
	check_segment("receive→copy", NF_STAGE_RECEIVE, NF_STAGE_COPY);
	check_total("rx_total", NF_OUTCOME_DELIVERED, NF_STAGE_COPY);
	check_total("forward_total", NF_OUTCOME_FORWARDED, NF_STAGE_XMIT);
	check_total("fwd total", NF_OUTCOME_FORWARDED, NF_STAGE_XMIT);
	check_total("tx_total", NF_OUTCOME_TRANSMITTED, NF_STAGE_XMIT);
	assert_int_equal(segment_parse(&segment, "total", text), 0);
	assert_true(segment.total);
	assert_false(segment.one_way);
	assert_string_equal(segment_between(NF_STAGE_SOFTIRQ_RAISE, NF_STAGE_SOFTIRQ_ENTRY).s,
			    "raise_to_softirq");
}

/* Every segment that has histograms can select records, and stands for the same stages there. */
TEST(test_segments_with_histograms)
{
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		const struct segment_histogram *histogram = &segment_histograms[i];
		struct segment segment = {0};
		char nearest[SEGMENT_NAME_MAX];

		assert_int_equal(segment_parse(&segment, histogram->name, nearest), 0);
		assert_int_equal(segment.total, histogram->total);
		assert_int_equal(segment.from, histogram->from);
		assert_int_equal(segment.to, histogram->to);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(histogram->name, segment_histograms[j].name);
	}
}

TEST(test_segment_unknown)
{
	static const struct {
		const char *text, *nearest;
	} cases[] = {
		{"recieve_to_copy", "receive_to_copy"},
		{"recieve→copy", "receive_to_copy"},
		{"recieve->copy", "receive_to_copy"},
		{"receive→sock_qeue", "receive_to_sock_queue"},
		{"softirq_raise→softirq_enty", "raise_to_softirq"},
		{"totla", "total"},
		{"tx_totla", "tx_total"},
		{"receiv", ""},
		{"copy→queue", NULL}, /* no stages has it */
		{"receive→receive", NULL},
		{"", ""},
		{"→", NULL},
		{"->", NULL},
		{"receive→copy→", "receive_to_copy"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		 "aaaaa"
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa→b",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct segment segment = {.from = NF_STAGE_FREE};
		char nearest[SEGMENT_NAME_MAX] = "not set";

		assert_int_equal(segment_parse(&segment, cases[i].text, nearest), -EINVAL);
		assert_int_equal(segment.from, NF_STAGE_FREE);
		assert_string_not_equal(nearest, "not set");
		if (cases[i].nearest)
			assert_string_equal(nearest, cases[i].nearest);
	}
}

TEST(test_segment_times)
{
	const struct segment total = {.total = true};
	const struct segment waiting = {.from = NF_STAGE_WAKEUP, .to = NF_STAGE_RUN};
	const struct segment apart = {.from = NF_STAGE_RECEIVE, .to = NF_STAGE_COPY};
	uint64_t ns = 0;

	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	assert_true(segment_time(&stages, &total, &ns));
	assert_int_equal(ns, 1900);
	assert_true(segment_time(&stages, &waiting, &ns));
	assert_int_equal(ns, 1640);
	assert_true(segment_time(&stages, &apart, &ns));
	assert_int_equal(ns, 1800);
	record.stage_ns[NF_STAGE_WAKEUP] = 0;
	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	assert_true(segment_time(&stages, &apart, &ns));
	assert_int_equal(ns, 1800);
	assert_false(segment_time(&stages, &waiting, &ns));
	assert_int_equal(ns, 1800);
}

/* The wait behind a gap is not the time that the stack took. */
TEST(test_segment_of_a_gap)
{
	const struct segment gap = {.from = NF_STAGE_RECEIVE, .to = NF_STAGE_GAP_FILLED};
	const struct segment stack = {.from = NF_STAGE_RECEIVE, .to = NF_STAGE_SOCK_QUEUE};
	uint64_t ns = 0;

	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	assert_true(segment_time(&stages, &stack, &ns));
	assert_false(segment_time(&stages, &gap, &ns));
	record.stage_ns[NF_STAGE_GAP_FILLED] = record.stage_ns[NF_STAGE_SOCK_QUEUE] - 1;
	check_stages(
		"irq softirq_raise softirq_entry receive gap_filled sock_queue wakeup run copy");
	check_missing("", "");
	assert_false(segment_time(&stages, &stack, &ns));
	assert_true(segment_time(&stages, &gap, &ns));
	assert_int_equal(ns,
			 record.stage_ns[NF_STAGE_GAP_FILLED] - record.stage_ns[NF_STAGE_RECEIVE]);
	assert_string_equal(segment_between(NF_STAGE_RECEIVE, NF_STAGE_GAP_FILLED).s, "gap_wait");
}

static uint64_t time_of(const char *name)
{
	struct segment segment;
	char nearest[SEGMENT_NAME_MAX];
	uint64_t ns = 0;

	assert_int_equal(stages_read(&stages, &record, &probes), 0);
	assert_int_equal(segment_parse(&segment, name, nearest), 0);
	return segment_time(&stages, &segment, &ns) ? ns : 0;
}

/* A direction's total is of no other stages, and ends where its histogram ends. */
TEST(test_total_times)
{
	assert_int_equal(time_of("rx_total"), 1900);
	assert_int_equal(time_of("forward_total"), 0);
	assert_int_equal(time_of("tx_total"), 0);
	assert_int_equal(time_of("total"), 1900);
	transmit();
	assert_int_equal(time_of("rx_total"), 0);
	assert_int_equal(time_of("forward_total"), 0);
	assert_int_equal(time_of("tx_total"), 50);
	assert_int_equal(time_of("total"), 400);
	record.stage_ns[NF_STAGE_QUEUE] = 0; /* cut from a GSO skb */
	assert_int_equal(time_of("tx_total"), 0);
	assert_int_equal(time_of("total"), 390);
	forward();
	assert_int_equal(time_of("rx_total"), 0);
	assert_int_equal(time_of("forward_total"), 800);
	assert_int_equal(time_of("tx_total"), 0);
	assert_int_equal(time_of("total"), 800);
}
