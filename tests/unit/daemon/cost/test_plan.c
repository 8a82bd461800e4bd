/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan against a simulated host: rates, hooks and programs have known costs, and the levers take effect. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/cost/plan.h"
#include "tests/unit/test.h"

#define SECOND UINT64_C(1000000000)
#define TICK (SECOND / 10)
#define MINUTES 2

static const struct plan_budget budget = {.host = 0.01, .cpu = 0.03};

/* What runs on the one busy CPU of a host, a second. */
struct load {
	double stages; /* hits */
	double wakes;
	double packets;	 /* per direction */
	double slow_ns;	 /* more, of each hit of a stage, followed or not */
	double followed; /* ns of a journey */
	double received; /* packets that netif_receive_skb() sees */
	double daemon;	 /* the share of the host that the daemon itself takes; 0: little */
	uint32_t cpus;
};

static struct {
	struct plan plan;
	uint64_t now;
	double window_s; /* until the next window is over */
	bool no_pace;	 /* the kernel's counters cannot be read */
	double cost;	 /* means of a second, in units of the budget */
	unsigned int changes, ticks_above, longest_above;
} host;

static void begin(void)
{
	memset(&host, 0, sizeof(host));
	host.now = SECOND;
	plan_begin(&host.plan, &budget);
}

static struct account_totals measure(const struct load *load)
{
	double interval = (double)host.plan.interval_ns / 1e9;
	double each = fmax(fmin(load->packets, 1 / interval), load->packets / 4096);
	struct account_totals t = {.elapsed_ns = TICK,
				   .daemon = load->daemon > 0 ? load->daemon : 0.0002};

	t.worst.hooks[ACCOUNT_STAGES] = load->stages * 49e-9;
	t.worst.programs[ACCOUNT_STAGES] =
		load->stages * load->slow_ns * 1e-9 + 2 * each * load->followed * 1e-9;
	t.hits[ACCOUNT_STAGES] = load->stages;
	t.packets = load->received;
	if (host.plan.step == PLAN_ALL) {
		t.worst.hooks[ACCOUNT_WAKE] = load->wakes * 49e-9;
		t.hits[ACCOUNT_WAKE] = load->wakes;
		t.switches = load->wakes / 2;
	}
	for (int i = 0; i < ACCOUNT_GROUPS; i++) {
		t.host.hooks[i] = t.worst.hooks[i] / load->cpus;
		t.host.programs[i] = t.worst.programs[i] / load->cpus;
	}
	return t;
}

static double cost_of(const struct account_totals *t)
{
	double worst = 0, all = t->daemon;

	for (int i = 0; i < ACCOUNT_GROUPS; i++) {
		worst += t->worst.hooks[i] + t->worst.programs[i];
		all += t->host.hooks[i] + t->host.programs[i];
	}
	return fmax(worst / budget.cpu, all / budget.host);
}

/* The share of the time that stages are attached. */
static double duty(void)
{
	uint64_t window_ns = host.plan.period_ns >> plan_window_shift(&host.plan);

	if (!plan_window_shift(&host.plan))
		return 1;
	return (double)(window_ns + host.plan.tail_ns) / (double)host.plan.period_ns;
}

/* 100 ms.  Windows are simulated by their share of the time, and one observation in each period. */
static void tick(const struct load *load)
{
	const struct pace pace = {.packets = host.no_pace ? -1 : load->received,
				  .switches = host.no_pace ? -1 : load->wakes / 2};
	struct account_totals t = measure(load);
	int step = host.plan.step;
	double cost = cost_of(&t) * duty();
	bool windows = step >= PLAN_WINDOWS, attached = true;

	host.cost += 0.2 * (cost - host.cost);
	host.ticks_above = host.cost > 1 ? host.ticks_above + 1 : 0;
	if (host.ticks_above > host.longest_above)
		host.longest_above = host.ticks_above;
	host.now += TICK;
	host.window_s = windows ? host.window_s + 0.1 : 0;
	if (windows) {
		attached = host.window_s >= (plan_foresees(&host.plan) ? 5 : 2);
		if (attached)
			host.window_s = 0;
	}
	plan_observe(&host.plan, &budget, &t, &pace, attached, host.now);
	host.changes += host.plan.step != step;
}

static void run(const struct load *load, unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds * 10; i++)
		tick(load);
}

static const struct load idle = {
	.stages = 200, .wakes = 500, .packets = 20, .followed = 400, .received = 20, .cpus = 2};
static const struct load flood = {
	.stages = 4e6, .wakes = 1e5, .packets = 4e5, .followed = 400, .received = 4e5, .cpus = 2};

TEST(an_idle_host_sheds_nothing)
{
	begin();
	run(&idle, 60);
	assert_int_equal(host.plan.step, PLAN_ALL);
	assert_int_equal(host.changes, 0);
	assert_true(host.cost < 0.1);
}

TEST(a_flood_is_kept_within_the_budget_without_swinging)
{
	begin();
	run(&flood, 5);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	host.changes = 0;
	host.longest_above = host.ticks_above = 0;
	run(&flood, 60 * MINUTES);
	assert_int_equal(host.changes, 0);
	assert_int_equal(host.longest_above, 0);
	assert_true(host.cost > 0.2);
}

/* With one window in some seconds, the seconds that have one are in the budget, too. */
TEST(a_window_fits_into_its_second)
{
	struct account_totals t;
	uint64_t window_ns;

	begin();
	host.plan.period_ns = 2400 * (SECOND / 1000);
	run(&flood, 30);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	window_ns = host.plan.period_ns >> plan_window_shift(&host.plan);
	t = measure(&flood);
	assert_true(cost_of(&t) * (double)(window_ns + host.plan.tail_ns) / 1e9 <= 1);
	/* The next longer one would not. */
	assert_true(cost_of(&t) * (double)(2 * window_ns + host.plan.tail_ns) / 1e9 > 0.7);
}

/* Packets that are passed over can take more than the budget.  No interval helps, so windows keep their journeys. */
TEST(the_interval_does_not_grow_in_vain)
{
	static const struct load slow = {.stages = 4e6,
					 .packets = 4e5,
					 .slow_ns = 50,
					 .followed = 400,
					 .received = 4e5,
					 .cpus = 2};
	double followed;

	begin();
	run(&slow, 60);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	followed = 2 * 400 / (double)host.plan.interval_ns;
	assert_true(followed >= 0.05 * slow.stages * slow.slow_ns / 1e9);
	assert_true(followed <= 0.2 * slow.stages * slow.slow_ns / 1e9);
	assert_true(host.cost < 1);
	assert_int_equal(host.ticks_above, 0);
	/* Where nothing is passed over, it still has its longest. */
	run(&idle, 10);
	assert_int_equal(host.plan.longest_ns, PLAN_INTERVAL_MAX_NS);
}

/* A long tail counts at once, so that its second fits, and is forgotten within some windows. */
TEST(windows_are_the_longer_the_shorter_their_tail)
{
	uint32_t before;

	begin();
	plan_tail(&host.plan, PLAN_TAIL_MOST_NS);
	assert_int_equal(host.plan.tail_ns, PLAN_TAIL_MOST_NS);
	run(&flood, 30);
	before = plan_window_shift(&host.plan);
	assert_true(before > 2);
	for (int i = 0; i < 20; i++)
		plan_tail(&host.plan, SECOND / 1000);
	assert_in_range(host.plan.tail_ns, SECOND / 1000, SECOND / 500);
	run(&flood, 60);
	assert_true(plan_window_shift(&host.plan) < before);
}

TEST(steps_of_load_are_followed_within_two_seconds)
{
	begin();
	for (int i = 0; i < 12 * MINUTES; i++) {
		run(&flood, 5);
		assert_true(host.longest_above < 20);
		assert_true(host.plan.step >= PLAN_WINDOWS);
		run(&idle, 1);
		assert_int_equal(host.plan.step, PLAN_ALL);
		run(&idle, 4);
	}
	/* Up at once, and down at once. */
	assert_true(host.changes <= 5U * 12 * MINUTES);
}

/* Packets are only sent: nothing but a window shows the end of the load. */
TEST(a_load_that_no_counter_shows_is_followed_within_a_period)
{
	struct load sent = flood;

	sent.received = 10;
	begin();
	for (int i = 0; i < 6 * MINUTES; i++) {
		run(&sent, 10);
		assert_true(host.longest_above < 20);
		assert_true(host.plan.step >= PLAN_WINDOWS);
		run(&idle, 3);
		assert_int_equal(host.plan.step, PLAN_ALL);
		run(&idle, 7);
	}
	host.no_pace = true;
	run(&flood, 10);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	run(&idle, 6);
	assert_int_equal(host.plan.step, PLAN_ALL);
}

/* What follows a burst is followed at once.  A load that comes and goes is one. */
TEST(short_pauses_are_the_end_of_a_load_once)
{
	begin();
	run(&flood, 5);
	tick(&idle);
	tick(&idle);
	assert_int_equal(host.plan.step, PLAN_ALL);
	tick(&flood);
	host.changes = 0;
	for (int i = 0; i < 1200; i++)
		tick(i / 4 % 2 ? &flood : &idle);
	assert_true(host.changes <= 60);
	run(&idle, 1);
	assert_int_equal(host.plan.step, PLAN_ALL);
}

/* 20,000 datagrams a second between two namespaces: all hooks fit, and all programs would not. */
TEST(a_load_whose_hooks_fit_only_has_fewer_journeys)
{
	static const struct load load = {.stages = 1.6e5,
					 .wakes = 6e4,
					 .packets = 2e4,
					 .slow_ns = 5,
					 .followed = 1100,
					 .received = 2e4,
					 .cpus = 2};

	begin();
	run(&load, 12);
	assert_int_equal(host.changes, 0);
	assert_int_equal(host.plan.step, PLAN_ALL);
	assert_true(host.longest_above < 10);
	assert_true(host.cost > 0.5 && host.cost < 1);
	/* A hundred journeys in 2 s, at least. */
	assert_true(host.plan.interval_ns < 2 * SECOND / 100);
	run(&idle, 1);
	assert_in_range(host.plan.interval_ns, 1, 60000);
}

/* The daemon's own attaching, and a moment with more than the hooks may take, detach nothing. */
TEST(what_passes_detaches_nothing)
{
	struct account_totals t;
	const struct pace pace = {.packets = -1, .switches = -1};

	begin();
	run(&idle, 5);
	t = measure(&idle);
	t.switching = 0.02;
	t.elapsed_ns = SECOND / 50;
	for (int i = 0; i < 50; i++)
		plan_observe(&host.plan, &budget, &t, &pace, true, host.now += SECOND / 50);
	assert_int_equal(host.plan.step, PLAN_ALL);
	t.host.hooks[ACCOUNT_STAGES] = 0.02;
	plan_observe(&host.plan, &budget, &t, &pace, true, host.now += SECOND / 50);
	assert_int_equal(host.plan.step, PLAN_ALL);
	t.elapsed_ns = SECOND / 5;
	plan_observe(&host.plan, &budget, &t, &pace, true, host.now += SECOND / 5);
	assert_true(host.plan.step >= PLAN_WINDOWS);
}

/*
 * The same load as measured on a slow machine of two CPUs: 8 hooks of a packet, 45 ns of each program for a packet that
 * it passes over, and a daemon that takes a fifth of the budget.  `rate` is that of packets.
 */
static struct load slow_machine(double rate)
{
	return (struct load){.stages = 8.2 * rate,
			     .wakes = 5 * rate,
			     .packets = rate,
			     .slow_ns = 40,
			     .followed = 700,
			     .received = rate,
			     .daemon = 0.002,
			     .cpus = 2};
}

/* A sender that was stopped makes up for it: for a moment hooks take more than they may. */
TEST(a_moment_of_a_higher_rate_opens_no_windows)
{
	const struct load usual = slow_machine(18000), more = slow_machine(45000);

	begin();
	run(&idle, 2);
	for (int i = 0; i < 60 * 10; i++) {
		tick(i % 10 ? &usual : &more);
		assert_true(host.plan.step < PLAN_WINDOWS);
	}
	assert_true(host.cost > 0.5 && host.cost < 1.1);
}

/* Shorter windows would not fit, because attaching takes time: but without windows the load fits. */
TEST(windows_end_when_the_hooks_fit)
{
	const struct load usual = slow_machine(18000), more = slow_machine(300000);
	unsigned int ticks = 0;

	begin();
	run(&more, 3);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	host.plan.switching = 0.3;
	while (host.plan.step >= PLAN_WINDOWS && ticks++ < 600)
		tick(&usual);
	/* The first observation shows it, and a window lasts for that long. */
	assert_true(ticks < 10);
	host.changes = 0;
	run(&usual, 60);
	assert_true(host.plan.step < PLAN_WINDOWS);
	assert_true(host.changes <= 1);
}

TEST(many_packets_and_few_hooks_only_raise_the_interval)
{
	static const struct load load = {
		.stages = 5e4, .packets = 5e3, .followed = 4000, .received = 5e3, .cpus = 2};

	begin();
	run(&load, 60);
	assert_int_equal(host.plan.step, PLAN_ALL);
	assert_true(host.cost <= 1);
	assert_true(host.plan.interval_ns > UINT64_C(53334));
}

TEST(the_scheduler_s_probes_are_shed_before_stages)
{
	static const struct load load = {.stages = 2e4,
					 .wakes = 1e6,
					 .packets = 2e3,
					 .followed = 400,
					 .received = 2e3,
					 .cpus = 2};

	begin();
	run(&load, 5);
	assert_true(host.plan.step <= PLAN_NO_WAKE);
	host.changes = 0;
	run(&load, 60 * MINUTES);
	/* The kernel counts its switches, so that nothing must be tried. */
	assert_int_equal(host.changes, 0);
	run(&idle, 1);
	assert_int_equal(host.plan.step, PLAN_ALL);
	host.no_pace = true;
	host.changes = 0;
	run(&load, 60 * MINUTES);
	/* It is tried again after 2, 4, 8, 16, 30, 30, 30 s at the soonest. */
	assert_true(host.changes <= 2 * 8);
	assert_true(host.longest_above < 20);
	run(&idle, 70);
	assert_int_equal(host.plan.step, PLAN_ALL);
}

TEST(a_program_that_is_slow_is_shed_as_well)
{
	static const struct load load = {.stages = 1e5,
					 .packets = 1e4,
					 .slow_ns = 5000,
					 .followed = 400,
					 .received = 1e4,
					 .cpus = 2};

	begin();
	run(&load, 10);
	host.longest_above = host.ticks_above = 0;
	run(&load, 60);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	assert_int_equal(host.longest_above, 0);
}

TEST(one_hot_cpu_of_many_counts)
{
	struct load load = flood;

	load.cpus = 255;
	begin();
	run(&load, 5);
	assert_true(host.plan.step >= PLAN_WINDOWS);
	host.longest_above = host.ticks_above = 0;
	run(&load, 30);
	assert_int_equal(host.longest_above, 0);
}
