/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows and limits, with a backend whose rates the test sets, in simulated time.  It checks each call of the
 * governor.
 */
#include <string.h>
#include <unistd.h>

#include "common/time.h"
#include "daemon/cost/governor.h"
#include "daemon/process/loop.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define AWAITED 64 /* packets of a journey */

static struct {
	struct loop *loop;
	struct loop_source *end;
	struct governor *governor;
	enum backend_level level;
	struct backend_following following;
	double hits_per_ns;  /* while stages are attached */
	uint64_t last_ns;    /* how long the last journey of a window takes */
	uint64_t opened_ns;  /* when journeys began */
	uint64_t closed_ns;  /* when journeys ceased to begin */
	uint64_t stood_ns;   /* the time for which the journeys of windows stand by their weights */
	uint64_t reading_ns; /* how long it takes to read the account while a window is open */
	uint64_t stop_ns;    /* how long the daemon is stopped in the next window */
	uint64_t stopped_ns; /* when that was over */
	uint64_t resumed_ns; /* when the next window opened then */
	uint64_t tail_ns;    /* the longest time from then until stages were detached */
	uint64_t hits, time_ns;
	unsigned int looks, most_looks; /* in a tail: whether its journeys have ended */
	unsigned int windows, wrong;
	bool limited; /* no level below BACKEND_NOTHING is right */
} run;

/* What the programs count until now. */
static void count(void)
{
	uint64_t now = time_monotonic();

	if (run.level <= BACKEND_NO_WAKE)
		run.hits += (uint64_t)(run.hits_per_ns * (double)(now - run.time_ns));
	run.time_ns = now;
}

static void set_level(struct backend *backend, enum backend_level level)
{
	(void)backend;
	count();
	run.wrong += run.limited && level != BACKEND_NOTHING;
	/* Journeys that count once must not run among those of windows. */
	run.wrong += level == BACKEND_ALL && run.following.window_shift;
	if (level == BACKEND_DROPS && run.level == BACKEND_NO_WAKE && run.following.window_shift &&
	    time_monotonic() - run.closed_ns > run.tail_ns)
		run.tail_ns = time_monotonic() - run.closed_ns;
	run.level = level;
}

static void follow(struct backend *backend, const struct backend_following *following)
{
	(void)backend;
	run.wrong += following->begin && run.level > BACKEND_NO_WAKE;
	run.wrong +=
		following->window_shift != run.following.window_shift && run.level < BACKEND_DROPS;
	run.windows += following->begin && !run.following.begin && following->window_shift;
	if (!run.following.begin && following->begin) {
		run.opened_ns = time_monotonic();
		if (run.stopped_ns && !run.resumed_ns)
			run.resumed_ns = run.opened_ns;
	}
	if (run.following.begin && !following->begin) {
		run.closed_ns = time_monotonic();
		run.stood_ns += following->window_shift
					? (run.closed_ns - run.opened_ns) << following->window_shift
					: 0;
		run.looks = 0;
	}
	run.following = *following;
}

static uint64_t awaited(const struct backend *backend, uint64_t now_ns, uint64_t enough)
{
	(void)backend;
	(void)enough;
	if (++run.looks > run.most_looks)
		run.most_looks = run.looks;
	return now_ns - run.closed_ns < run.last_ns ? AWAITED : 0;
}

static void cpu_cost(const struct backend *backend, uint32_t cpu, struct backend_cpu_cost *cost)
{
	(void)backend;
	(void)cpu;
	count();
	if (run.following.window_shift && run.following.begin) {
		usleep((useconds_t)(run.reading_ns / 1000));
		if (run.stop_ns && !run.stopped_ns) {
			for (uint64_t ns = 0; ns < run.stop_ns; ns += SECOND)
				usleep(1000000);
			run.stopped_ns = time_monotonic();
		}
	}
	*cost = (struct backend_cpu_cost){0};
	/* The counters of this kernel do not show them, as if they were only sent. */
	cost->hits[NF_PROBE_NET_DEV_QUEUE] = run.hits;
}

static double hook_ns(const struct backend *backend)
{
	(void)backend;
	return 45;
}

static uint32_t cpus(const struct backend *backend)
{
	(void)backend;
	return 1;
}

static const struct backend_ops ops = {.name = "test",
				       .set_level = set_level,
				       .follow = follow,
				       .awaited = awaited,
				       .cpu_cost = cpu_cost,
				       .hook_ns = hook_ns,
				       .cpus = cpus};
static struct backend backend = {.ops = &ops};

static int stop(void *userdata)
{
	(void)userdata;
	loop_exit(run.loop, 0);
	return 0;
}

static void turn(void)
{
	assert_int_equal(loop_run(run.loop), 0);
}

static void begin(uint64_t on, double hits_per_ns, uint64_t ms)
{
	const struct governor_settings settings = {
		.on = on, .host_budget = 10000, .cpu_budget = 30000};

	memset(&run, 0, sizeof(run));
	run.hits_per_ns = hits_per_ns;
	run.time_ns = time_monotonic();
	assert_int_equal(loop_new(&run.loop), 0);
	assert_int_equal(governor_new(&run.governor, run.loop, &backend, &settings), 0);
	assert_int_equal(loop_add_timer(run.loop, &run.end, ms * MS, 0, stop, NULL), 0);
}

static void end(void)
{
	loop_source_free(&run.end);
	governor_free(&run.governor);
	loop_free(&run.loop);
	assert_int_equal(run.wrong, 0);
}

TEST(a_flood_opens_windows)
{
	struct governor_state now;

	begin(1, 0.004, 4500);
	turn();
	governor_state(run.governor, &now);
	assert_true(now.window_shift >= 3);
	assert_int_equal(run.following.window_shift, now.window_shift);
	/* Attaching takes no time here, so windows are 200 ms apart. */
	assert_in_range(run.windows, 15, 30);
	assert_true(now.seen.share < 0.4);
	end();
}

/* Stages stay attached until the journeys of the window have ended, and not for much longer. */
TEST(a_tail_is_as_long_as_its_journeys)
{
	static const uint64_t ms[] = {0, 9, 1000}, least[] = {1, 16, 50};
	static const unsigned int looks[] = {2, 6, 7};

	for (size_t i = 0; i < 3; i++) {
		begin(1, 0.004, 3500);
		run.last_ns = ms[i] * MS;
		turn();
		assert_true(run.windows > 0);
		assert_in_range(run.tail_ns, least[i] * MS, least[i] * MS + MS);
		/* 1, 2, 4, 8, 16 … ms after the end of the window, and before stages are detached. */
		assert_int_equal(run.most_looks, looks[i]);
		if (ms[i] < 50)
			assert_true(governor_unseen(run.governor).detached <=
				    AWAITED); /* before the first */
		else
			assert_true(governor_unseen(run.governor).detached >=
				    (run.windows - 1) * AWAITED);
		end();
	}
}

/* A window that closes late stands for a longer time, so that the next one is due later. */
TEST(windows_stand_for_the_whole_time)
{
	const uint64_t ms = 120000;
	double part;

	begin(1, 0.004, ms);
	run.reading_ns = 3 * MS;
	turn();
	part = (double)run.stood_ns / (double)(ms * MS);
	print_message("%u windows stand for %.3f of the time\n", run.windows, part);
	assert_true(run.windows > 200);
	assert_true(part > 0.95 && part < 1.05);
	end();
}

/* Four hours with the lid closed. */
TEST(a_daemon_that_was_stopped_in_a_window)
{
	begin(1, 0.004, 4 * 3600 * 1000 + 30000);
	run.stop_ns = 4 * 3600 * SECOND;
	turn();
	assert_true(run.resumed_ns > 0);
	assert_in_range(run.resumed_ns - run.stopped_ns, 1, 6 * SECOND);
	end();
}

TEST(a_quiet_host_is_followed_all_the_time)
{
	struct governor_state now;

	begin(1, 0.000001, 1000);
	turn();
	governor_state(run.governor, &now);
	assert_int_equal(run.level, BACKEND_ALL);
	assert_true(now.seen.share > 0.99);
	assert_true(run.following.interval_ns > 0);
	end();
}

TEST(without_the_governor_nothing_is_shed)
{
	struct governor_state now;

	begin(0, 0.004, 1000);
	turn();
	governor_state(run.governor, &now);
	assert_int_equal(run.level, BACKEND_ALL);
	assert_int_equal(run.following.interval_ns, 0);
	assert_true(now.host > 0.01);
	end();
}

static int limit_now(void *userdata)
{
	(void)userdata;
	governor_limit(run.governor, BACKEND_NOTHING);
	run.limited = true;
	return 0;
}

static int hurry(void *userdata)
{
	(void)userdata;
	run.hits_per_ns = 0.004;
	governor_hurry(run.governor);
	return 0;
}

/* The next look at a quiet host is up to 200 ms away, and a second one would follow. */
TEST(a_backend_that_is_busy_ends_the_wait)
{
	struct loop_source *timer = NULL;
	struct governor_state now;

	begin(1, 0.000001, 630);
	assert_int_equal(loop_add_timer(run.loop, &timer, 470 * MS, 0, hurry, NULL), 0);
	turn();
	governor_state(run.governor, &now);
	assert_true(now.window_shift >= 3);
	loop_source_free(&timer);
	end();
}

TEST(a_limit_holds_whatever_the_load)
{
	struct loop_source *timer = NULL;

	begin(1, 0.004, 2500);
	assert_int_equal(loop_add_timer(run.loop, &timer, 1200 * MS, 0, limit_now, NULL), 0);
	turn();
	assert_int_equal(run.level, BACKEND_NOTHING);
	assert_false(run.following.begin);
	run.limited = false;
	governor_limit(run.governor, BACKEND_ALL);
	assert_true(run.level <= BACKEND_DROPS);
	loop_source_free(&timer);
	end();
}
