/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When scans run: the first one before the loop, all others in their thread, and none while they are off. */
#include <errno.h>
#include <stdbool.h>

#include "daemon/elsewhere/elsewhere.h"
#include "daemon/process/loop.h"
#include "tests/unit/test.h"

#define MS 1000000ULL
#define HOUR (3600 * 1000 * MS)

static struct loop *loop;
static struct elsewhere *elsewhere;

static int setup(void **state)
{
	int r = loop_new(&loop);

	(void)state;
	return r < 0 ? r : elsewhere_new(&elsewhere, loop);
}

static int teardown(void **state)
{
	(void)state;
	elsewhere_free(&elsewhere);
	loop_free(&loop);
	return 0;
}

EACH_TEST(setup, teardown);

static uint64_t wanted, ticks;
static bool turned_off;

static void turn_off_and_on(void)
{
	assert_int_equal(elsewhere_set(elsewhere, 0), 0);
	/* What an old scan found says nothing about the host any more. */
	assert_null(elsewhere_state(elsewhere).findings);
	assert_int_equal(elsewhere_state(elsewhere).interval_ns, 0);
	assert_int_equal(elsewhere_state(elsewhere).late_ns, 0);
	assert_int_equal(elsewhere_set(elsewhere, HOUR), 0);
	turned_off = true;
}

static int look(void *userdata)
{
	uint64_t scans = elsewhere_state(elsewhere).scans;

	if (userdata && scans >= 2 && !turned_off)
		turn_off_and_on();
	if (scans >= wanted || ++ticks >= 1000)
		loop_exit(loop, 0);
	return 0;
}

/* Run the loop until `scans` scans have succeeded, for 10 s at most. */
static void run_until(uint64_t scans, void *with_reload)
{
	struct loop_source *timer = NULL;

	wanted = scans;
	ticks = 0;
	turned_off = false;
	assert_int_equal(loop_add_timer(loop, &timer, 0, 10 * MS, look, with_reload), 0);
	assert_int_equal(loop_run(loop), 0);
	loop_source_free(&timer);
	assert_true(elsewhere_state(elsewhere).scans >= scans);
}

TEST(test_the_first_scan_precedes_the_loop)
{
	assert_int_equal(elsewhere_start(elsewhere, HOUR), 0);
	assert_int_equal(elsewhere_state(elsewhere).scans, 1);
	assert_non_null(elsewhere_state(elsewhere).findings);
}

/* A reload, which is a handler of the loop, waits for no scan. */
TEST(test_a_reload_turns_scans_on)
{
	assert_int_equal(elsewhere_start(elsewhere, 0), 0);
	assert_null(elsewhere_state(elsewhere).findings);
	assert_int_equal(elsewhere_set(elsewhere, HOUR), 0);
	assert_int_equal(elsewhere_state(elsewhere).scans, 0);
	assert_null(elsewhere_state(elsewhere).findings);
	run_until(1, NULL);
	assert_non_null(elsewhere_state(elsewhere).findings);
	assert_int_equal(elsewhere_state(elsewhere).error, 0);
}

TEST(test_a_reload_turns_scans_off_and_on)
{
	assert_int_equal(elsewhere_start(elsewhere, 1 * MS), 0);
	run_until(3, &turned_off);
	assert_true(turned_off);
	assert_non_null(elsewhere_state(elsewhere).findings);
}
