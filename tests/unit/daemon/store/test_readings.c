/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine of the readings, with a backend whose counters the test knows and whose walks take time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/probe/absent.h"
#include "daemon/process/loop.h"
#include "daemon/store/readings.h"
#include "tests/unit/test.h"

#define DEVICES 50
#define MS UINT64_C(1000000)

struct fake {
	struct backend backend;
	uint64_t value;	     /* what all counters read */
	uint64_t row_ns;     /* how long a device takes */
	int fail;	     /* errno of the walk of the drops */
	unsigned int walks;  /* of the devices, from their beginning */
	unsigned int slices; /* calls of devices() */
	uint64_t housekept;
};

static struct fake fake;

/* CPU time, so that a busy machine makes no difference. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

static void events(const struct backend *backend, uint64_t to[NF_PROBE_COUNT][NF_EVENT_COUNT])
{
	(void)backend;
	memset(to, 0, NF_PROBE_COUNT * sizeof(to[0]));
	to[NF_PROBE_KFREE_SKB][NF_EVENT_HIT] = fake.value;
	to[NF_PROBE_KFREE_SKB][NF_EVENT_COUNTED] = fake.value;
	to[NF_PROBE_KFREE_SKB][NF_EVENT_DROP_RECORDED] = fake.value;
	to[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_BEGUN] = fake.value;
}

static bool in_flight(const struct backend *backend, struct backend_cursor *cursor, uint64_t now_ns,
		      struct backend_in_flight *count)
{
	(void)backend;
	(void)now_ns;
	/* In two steps: all but one are young. */
	if (!cursor->next++) {
		count->young = fake.value - 1;
		return false;
	}
	count->stale++;
	return true;
}

static uint32_t cpus(const struct backend *backend)
{
	(void)backend;
	return 2;
}

static void probe(const struct backend *backend, enum nf_probe i, struct probe_status *status)
{
	(void)backend;
	*status = (struct probe_status){.missed_known = true, .missed = (uint64_t)i};
}

static int devices(const struct backend *backend, struct backend_cursor *cursor,
		   int (*visit)(const struct backend_device *, void *), void *userdata)
{
	int r = 0;

	(void)backend;
	fake.walks += !cursor->begun;
	fake.slices++;
	cursor->begun = true;
	while (cursor->next < DEVICES && r == 0) {
		struct backend_device device = {.ifindex = (uint32_t)cursor->next, .netns = 7};
		char name[NF_DEVICE_NAME];

		snprintf(name, sizeof(name), "d%u", (unsigned int)cursor->next);
		/* The first row is of the devices without a name. */
		device.name = cursor->next ? name : NULL;
		device.polls = fake.value;
		device.segment[NF_SEGMENT_TX_TOTAL].bucket[20 + cursor->next] = fake.value;
		device.segment[NF_SEGMENT_TX_TOTAL].max_ns = UINT64_C(1) << 30;
		device.segment[NF_SEGMENT_TX_TOTAL].sum_ns = 5;
		device.used = UINT32_C(1) << NF_SEGMENT_TX_TOTAL;
		spin(fake.row_ns);
		cursor->next++;
		r = visit(&device, userdata);
	}
	return r;
}

static int drops(const struct backend *backend, struct backend_cursor *cursor,
		 int (*visit)(const struct backend_drops *, void *), void *userdata)
{
	int r = -fake.fail;

	(void)backend;
	while (cursor->next < 3 && r == 0) {
		struct backend_drops row = {.packets = fake.value, .netns = (uint32_t)cursor->next};

		cursor->next++;
		r = visit(&row, userdata);
	}
	return r;
}

static const struct backend_ops ops = {
	.name = "fake",
	.events = events,
	.most_drawn = absent_most_drawn,
	.streams = absent_streams,
	.in_flight = in_flight,
	.cpus = cpus,
	.slots_events = absent_slots_events,
	.probe = probe,
	.devices = devices,
	.drops = drops,
};

/* A request, and how it was answered. */
struct asked {
	struct readings_request *request;
	int result;
	unsigned int answers;
	uint64_t value; /* of the first device, or of the events */
	uint64_t at_ns;
};

struct fixture {
	struct loop *loop;
	struct readings *readings;
	struct asked asked[10];
	unsigned int answered, wanted; /* the loop ends after this many answers */
};

static struct fixture fixture;

static int set_up(void **state)
{
	(void)state;
	fake = (struct fake){.backend.ops = &ops, .value = 10};
	fixture = (struct fixture){0};
	assert_int_equal(loop_new(&fixture.loop), 0);
	assert_int_equal(readings_new(&fixture.readings, fixture.loop, &fake.backend), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	readings_free(&fixture.readings);
	loop_free(&fixture.loop);
	return 0;
}

EACH_TEST(set_up, tear_down);

static void on_done(int result, void *userdata)
{
	const struct reading *reading = readings_latest(fixture.readings, READING_DEVICES);
	struct asked *asked = userdata;

	asked->request = NULL;
	asked->result = result;
	asked->answers++;
	asked->at_ns = time_monotonic();
	if (reading) {
		struct backend_device device;

		reading_device(reading, 0, &device);
		asked->value = device.polls;
	}
	if (++fixture.answered == fixture.wanted)
		loop_exit(fixture.loop, 0);
}

static void ask(unsigned int i, unsigned int parts, uint64_t max_age_ns)
{
	struct asked *asked = &fixture.asked[i];

	assert_int_equal(
		readings_get(fixture.readings, &asked->request, parts, max_age_ns, on_done, asked),
		0);
}

/* A loop runs only once. */
static void run(unsigned int wanted)
{
	fixture.wanted = wanted;
	if (fixture.answered < wanted)
		assert_int_equal(loop_run(fixture.loop), 0);
	assert_int_equal(fixture.answered, wanted);
}

/* ---- tests ----------------------------------------------------------------- */

TEST(test_ten_share_one_reading)
{
	for (unsigned int i = 0; i < 10; i++)
		ask(i, READING_BIT(DEVICES), 0);
	run(10);
	assert_int_equal(fake.walks, 1);
	assert_int_equal(readings_cost(fixture.readings, READING_DEVICES).readings, 1);
	assert_int_equal(readings_cost(fixture.readings, READING_DEVICES).requests, 10);
	for (unsigned int i = 0; i < 10; i++) {
		assert_int_equal(fixture.asked[i].answers, 1);
		assert_int_equal(fixture.asked[i].value, 10);
	}
}

static int change_and_ask(void *userdata)
{
	(void)userdata;
	fake.value = 4217;
	ask(1, READING_BIT(DEVICES), 0);
	return 0;
}

/* A reading under way does not answer a call that came after its beginning. */
TEST(test_a_call_sees_what_was_before_it)
{
	struct loop_source *timer;

	fake.row_ns = MS;
	ask(0, READING_BIT(DEVICES), 0);
	assert_int_equal(loop_add_timer(fixture.loop, &timer, 20 * MS, 0, change_and_ask, NULL), 0);
	run(2);
	loop_source_free(&timer);
	assert_int_equal(fake.walks, 2);
	assert_int_equal(fixture.asked[0].value, 10);
	assert_int_equal(fixture.asked[1].value, 4217);
}

TEST(test_an_old_reading_is_enough)
{
	ask(0, READING_BIT(DEVICES), 0);
	run(1);
	fake.value = 99;
	fixture.wanted = 0;
	ask(1, READING_BIT(DEVICES), 3600 * TIME_NS_PER_SECOND);
	assert_int_equal(fixture.asked[1].answers, 1);
	assert_null(fixture.asked[1].request);
	assert_int_equal(fixture.asked[1].value, 10);
	assert_int_equal(fake.walks, 1);
}

static unsigned int turns;

static int count_turn(void *userdata)
{
	struct loop_source **source = userdata;

	turns++;
	return loop_source_set_enabled(*source, true);
}

/* 50 ms of reading, in slices between which other handlers run. */
TEST(test_slices)
{
	struct loop_source *other = NULL;

	fake.row_ns = MS;
	turns = 0;
	assert_int_equal(loop_add_defer(fixture.loop, &other, count_turn, &other), 0);
	ask(0, READING_BIT(DEVICES), 0);
	run(1);
	loop_source_free(&other);
	assert_true(fake.slices >= DEVICES);
	assert_true(turns >= DEVICES);
	assert_true(loop_turns(fixture.loop).cpu_ns < 10 * MS);
	assert_true(readings_cost(fixture.readings, READING_DEVICES).longest_cpu_ns > 20 * MS);
}

static int ask_again(void *userdata)
{
	uint64_t *end_ns = userdata;

	if (!fixture.asked[0].request) {
		if (time_monotonic() > *end_ns)
			loop_exit(fixture.loop, 0);
		ask(0, READING_BIT(DEVICES), 0);
	}
	return 0;
}

/* A client that asks in a loop gets the burst and then the share of the part, and no more. */
TEST(test_strangers_do_not_cost_more)
{
	uint64_t end_ns = time_monotonic() + 3 * TIME_NS_PER_SECOND, most_ns;
	struct loop_source *timer;

	fake.row_ns = MS / 4;
	assert_int_equal(loop_add_timer(fixture.loop, &timer, MS, MS, ask_again, &end_ns), 0);
	fixture.wanted = UINT32_MAX;
	assert_int_equal(loop_run(fixture.loop), 0);
	loop_source_free(&timer);
	/* 2 % of 5 s at once and of the 3 s, and the last reading. */
	most_ns = (5000 + 3500) * MS / 50 + DEVICES * MS / 2;
	assert_true(readings_cost(fixture.readings, READING_DEVICES).cpu_ns < most_ns);
	assert_true(fixture.answered >= 5);
}

TEST(test_devices_are_kept_whole)
{
	struct backend_device device;
	const struct reading *reading;
	struct nf_hist hist;

	ask(0, READING_BIT(DEVICES), 0);
	run(1);
	reading = readings_latest(fixture.readings, READING_DEVICES);
	assert_int_equal(reading_count(reading), DEVICES);
	assert_null(reading_device_name(reading, 0));
	assert_string_equal(reading_device_name(reading, 33), "d33");
	reading_device(reading, 33, &device);
	assert_string_equal(device.name, "d33");
	assert_int_equal(device.ifindex, 33);
	assert_int_equal(device.netns, 7);
	assert_int_equal(device.polls, 10);
	reading_segment(reading, 33, NF_SEGMENT_TX_TOTAL, &hist);
	for (int i = 0; i < NF_HIST_BUCKETS; i++)
		assert_int_equal(hist.bucket[i], i == 20 + 33 ? 10 : 0);
	assert_int_equal(hist.sum_ns, 5);
	reading_segment(reading, 33, NF_SEGMENT_RX_TOTAL, &hist);
	assert_int_equal(hist.max_ns, 0);
	assert_int_equal(reading_all_devices(reading, NF_SEGMENT_TX_TOTAL)->sum_ns, 5 * DEVICES);
	assert_int_equal(reading_all_devices(reading, NF_SEGMENT_TX_TOTAL)->bucket[53], 10);
	assert_int_equal(reading_worst(reading, 33)->segment, NF_SEGMENT_TX_TOTAL);
	assert_int_equal(reading_worst(reading, 33)->count, 10);
	assert_true(reading_worst(reading, 33)->p99_ns > reading_worst(reading, 32)->p99_ns);
}

/* A reading outlasts the next one while it is held. */
TEST(test_a_held_reading_stays)
{
	const struct reading *held;

	assert_int_equal(readings_take(fixture.readings, READING_BIT(DROPS)), 0);
	held = reading_hold(readings_latest(fixture.readings, READING_DROPS));
	fake.value = 11;
	assert_int_equal(readings_take(fixture.readings, READING_BIT(DROPS)), 0);
	assert_int_equal(reading_count(held), 3);
	assert_int_equal(reading_drops(held, 2)->packets, 10);
	assert_int_equal(
		reading_drops(readings_latest(fixture.readings, READING_DROPS), 2)->packets, 11);
	reading_release(&held);
	assert_null(held);
}

TEST(test_the_ledger)
{
	const struct reading_counters *counters;

	ask(0, READING_BIT(LEDGER) | READING_BIT(COUNTERS), 0);
	run(1);
	counters = reading_counters(readings_latest(fixture.readings, READING_LEDGER));
	assert_int_equal(counters->in_flight.young, 9);
	assert_int_equal(counters->in_flight.stale, 1);
	assert_true(counters->equation[READING_EQUATION_INFLIGHT].balanced);
	assert_true(counters->equation[READING_EQUATION_DROPS].balanced);
	assert_int_equal(counters->equation[READING_EQUATION_DROPS].moved, 0);
	assert_int_equal(counters->missed[NF_PROBE_KFREE_SKB], NF_PROBE_KFREE_SKB);
}

TEST(test_a_failure_ends_the_request)
{
	fake.fail = ENOMEM;
	ask(0, READING_BIT(DROPS) | READING_BIT(COUNTERS), 0);
	ask(1, READING_BIT(COUNTERS), 0);
	run(2);
	assert_int_equal(fixture.asked[0].result, -ENOMEM);
	assert_int_equal(fixture.asked[1].result, 0);
	assert_null(readings_latest(fixture.readings, READING_DROPS));
}

TEST(test_a_forgotten_request)
{
	ask(0, READING_BIT(DEVICES), 0);
	ask(1, READING_BIT(DEVICES), 0);
	readings_forget(&fixture.asked[0].request);
	assert_null(fixture.asked[0].request);
	run(1);
	assert_int_equal(fixture.asked[0].answers, 0);
	assert_int_equal(fixture.asked[1].answers, 1);
}

static uint64_t unseen_now;

static struct reading_unseen unseen(void *userdata)
{
	(void)userdata;
	return (struct reading_unseen){unseen_now, unseen_now / 10, unseen_now / 5};
}

/* A reading of counters while the host has received that many packets since it booted; 0: that cannot be read. */
static void expect_host(const char *softnet, uint32_t packets, uint64_t received,
			uint64_t unseen_packets)
{
	const struct reading_counters *counters;
	FILE *file = packets ? fopen(softnet, "w") : NULL;

	if (file) {
		fprintf(file, "%08x 00000000 00000000\n", packets);
		fclose(file);
	} else {
		assert_int_equal(remove(softnet), 0);
	}
	assert_int_equal(readings_take(fixture.readings, READING_BIT(COUNTERS)), 0);
	counters = reading_counters(readings_latest(fixture.readings, READING_COUNTERS));
	assert_true(counters->host.known);
	assert_int_equal(counters->host.received, received);
	assert_int_equal(counters->host.unseen.packets, unseen_packets);
	assert_int_equal(counters->host.unseen.undrawn, unseen_packets / 10);
}

/* What the host received counts from the first reading on, and never falls. */
TEST(test_the_host)
{
	char proc[] = "/tmp/test_readings_XXXXXX", net[64], softnet[96];

	assert_int_equal(readings_take(fixture.readings, READING_BIT(COUNTERS)), 0);
	assert_false(
		reading_counters(readings_latest(fixture.readings, READING_COUNTERS))->host.known);
	assert_non_null(mkdtemp(proc));
	snprintf(net, sizeof(net), "%s/net", proc);
	snprintf(softnet, sizeof(softnet), "%s/softnet_stat", net);
	assert_int_equal(mkdir(net, 0700), 0);
	assert_int_equal(readings_count_traffic(fixture.readings, proc, unseen, NULL), 0);
	unseen_now = 0;
	expect_host(softnet, 5000, 0, 0);
	unseen_now = 30;
	expect_host(softnet, 5100, 100, 30);
	unseen_now = 0;
	expect_host(softnet, 0, 100, 30);
	unseen_now = 70;
	expect_host(softnet, 5200, 200, 70);
	remove(softnet);
	rmdir(net);
	rmdir(proc);
}

/* What a row can lack: since the start, and since a base.  Drops have a number of their own. */
TEST_WITH(test_unended, NULL, NULL)
{
	struct reading_counters base = {.host.unseen.detached = 1},
				now = {.host.unseen.detached = 4};
	struct reading_unended unended;

	base.events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_OVERWRITTEN_PACKETS] = 10;
	now.events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_OVERWRITTEN_PACKETS] = 30;
	base.missed[NF_PROBE_NET_DEV_XMIT] = 100;
	now.missed[NF_PROBE_NET_DEV_XMIT] = 150;
	now.missed[NF_PROBE_NETIF_RECEIVE_SKB] = 250;
	now.missed[NF_PROBE_KFREE_SKB] = 1000;
	unended = reading_unended(&now, NULL);
	assert_int_equal(reading_unended_packets(unended), 4 + 30 + 400);
	unended = reading_unended(&now, &base);
	assert_int_equal(unended.detached, 3);
	assert_int_equal(unended.overwritten, 20);
	assert_int_equal(unended.missed, 300);
	assert_int_equal(reading_unended_packets(unended), 323);
}

/* Of N packets one is drawn, so a row of a few may have none of them. */
TEST_WITH(test_missable, NULL, NULL)
{
	struct reading_counters base = {.most_drawn = 1}, now = {.most_drawn = 4};
	uint64_t(*events)[NF_EVENT_COUNT] = now.events;

	assert_int_equal(reading_missable(&base, NULL), 0);
	events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_PASSED] = 5;
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_PASSED] = 2;
	assert_int_equal(reading_missable(&now, NULL), 7);
	assert_int_equal(reading_missable(&now, &base), 7);
	base.events[NF_PROBE_NETIF_RECEIVE_SKB][NF_EVENT_PASSED] = 4;
	assert_int_equal(reading_missable(&now, &base), 3);
	events[NF_PROBE_NET_DEV_QUEUE][NF_EVENT_PASSED] = 1000000;
	assert_int_equal(reading_missable(&now, &base), 12);
}
