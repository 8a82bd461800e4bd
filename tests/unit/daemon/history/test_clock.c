/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals are what they were: each is found once, where it was and as long as it was, and gaps are gaps. */
#include <sqlite3.h>

#include "common/array.h"
#include "common/json.h"
#include "common/time.h"
#include "daemon/history/plan.h"
#include "tests/unit/daemon/history/scratch.h"

#define DAY INT64_C(86400)
/* A multiple of 2 h, in 2026. */
#define START (INT64_C(1791720000) / 7200 * 7200)

/* ---- the host ------------------------------------------------------------------------ */

static struct {
	int64_t boot, up_us; /* CLOCK_BOOTTIME */
	int64_t clock_us;    /* CLOCK_REALTIME less that */
	int64_t begun_us;    /* of the interval, CLOCK_BOOTTIME */
	struct archive *archive;
	struct series *series;
} host;

/* What happened: times are those that passed since the beginning of the test, whatever any clock said. */
struct happened {
	int64_t from_us, to_us;
	uint64_t drops;
};

static struct happened happened[20000];
static size_t count;
static int64_t passed_us; /* less host.up_us */

static void start_host(int64_t wall_s)
{
	host.boot++;
	host.up_us = 5 * US;
	host.clock_us = wall_s * US - host.up_us;
}

static void start_netflowd(void)
{
	host.archive = open_archive(&week);
	host.series = drops_of("X");
	host.begun_us = host.up_us;
}

static void stop_netflowd(void)
{
	archive_free(&host.archive);
	series_release(&host.series);
}

/* Of a record: neither text, nor JSON. */
static const uint8_t body[] = {1, 0, 2, '"', '2', 0, 0xff};

static struct batch *interval(uint64_t drops)
{
	struct batch *batch = new_batch(0, 0);

	batch->from_us = host.begun_us + host.clock_us;
	batch->to_us = host.up_us + host.clock_us;
	batch->boot = host.boot;
	batch->clock_us = host.clock_us;
	add_drops(batch, host.series, drops);
	assert_int_equal(
		batch_add_record(batch, HISTORY_RECORD_DROP, batch->to_us - 1, body, sizeof(body)),
		0);
	happened[count++] =
		(struct happened){passed_us + host.begun_us, passed_us + host.up_us, drops};
	host.begun_us = host.up_us;
	return batch;
}

/* As netflowd does: an interval ends with each multiple of 10 s. */
static void run(int64_t seconds)
{
	int64_t end = host.up_us + seconds * US;

	while (host.up_us < end) {
		int64_t wall = host.up_us + host.clock_us;
		int64_t next = wall - wall % (10 * US) + 10 * US - host.clock_us;

		host.up_us = next < end ? next : end;
		write_batch(host.archive, interval(1 + count % 3));
	}
}

/* The kernel reports it, and netflowd reads its counters; the interval ends by the clock that it began by. */
static void step(int64_t by_s)
{
	struct batch *batch;

	host.up_us += US / 200;
	batch = interval(1);
	batch->step_us = by_s * US;
	host.clock_us += by_s * US;
	write_batch(host.archive, batch);
}

static void reboot(int64_t off_s, int64_t wall_s)
{
	int64_t now_us = passed_us + host.up_us + off_s * US;

	stop_netflowd();
	start_host(wall_s);
	passed_us = now_us - host.up_us;
	start_netflowd();
}

static int64_t wall_s(void)
{
	return (host.up_us + host.clock_us + US - 1) / US;
}

static void begin(void)
{
	count = 0;
	host.boot = 0;
	start_host(START);
	passed_us = -host.up_us;
	start_netflowd();
}

/* ---- what the history says --------------------------------------------------------------- */

static uint64_t ask(int64_t since_us, int64_t until_us, struct reader_period *period)
{
	OWN_READER struct reader *reader = NULL;
	OWN_READER_ROWS struct reader_rows rows = {0};
	const struct reader_request request = {.directory = scratch,
					       .since_us = since_us,
					       .until_us = until_us,
					       .deadline_ns = UINT64_MAX};

	assert_int_equal(reader_open(&reader, &request), 0);
	assert_int_equal(reader_period(reader, false, period), 0);
	read_drops(reader, &rows);
	return rows.count ? rows.row[0].value[DROPS_PACKETS] : 0;
}

/* The drops of this time, by the clock of now; an interval is in it or it is not. */
static uint64_t expected(int64_t from_us, int64_t to_us)
{
	int64_t clock_us = host.clock_us - passed_us;
	uint64_t drops = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t from = happened[i].from_us + clock_us, to = happened[i].to_us + clock_us;

		if ((from < from_us - US && to > from_us + US) ||
		    (from < to_us - US && to > to_us + US))
			fail_msg("%.1f s are cut by %.1f or %.1f", (double)(to - from) / US,
				 (double)(from_us - from) / US, (double)(to_us - from) / US);
		if ((from + to) / 2 >= from_us && (from + to) / 2 < to_us)
			drops += happened[i].drops;
	}
	return drops;
}

/* All questions with these steps in the last seconds: each is answered for the time that it says, to the unit. */
static void check(int64_t last_s, int64_t width_s)
{
	int64_t now = wall_s();

	for (int64_t since = now - last_s; since < now; since += width_s) {
		struct reader_period period;
		uint64_t found = ask(since * US, (since + width_s) * US, &period);

		if (found != expected(period.from_us, period.to_us))
			fail_msg("%lld s before now, %lld s: %llu instead of %llu",
				 (long long)(now - since), (long long)width_s,
				 (unsigned long long)found,
				 (unsigned long long)expected(period.from_us, period.to_us));
		reader_period_clear(&period);
	}
}

static uint64_t all_drops(void)
{
	uint64_t drops = 0;

	for (size_t i = 0; i < count; i++)
		drops += happened[i].drops;
	return drops;
}

static void check_all(int64_t last_s)
{
	struct reader_period period;

	assert_int_equal(ask((wall_s() - last_s) * US, wall_s() * US, &period), all_drops());
	reader_period_clear(&period);
	check(last_s, 10);
	check(last_s, 30);
	check(last_s, 170);
	check(last_s, 700);
}

static void check_step(size_t index, int64_t by_s, int64_t at_us)
{
	struct reader_period period;

	ask((wall_s() - 2 * 3600) * US, wall_s() * US, &period);
	if (index >= period.steps)
		fail_msg("step %zu of %zu, by %lld", index, period.steps, (long long)by_s);
	assert_int_equal(period.step[index].by_us, by_s * US);
	assert_in_range(period.step[index].at_us, at_us - US, at_us + US);
	reader_period_clear(&period);
}

/* Whatever the clock did. */
static int compare_body(int64_t time_us, const void *found, size_t size, void *userdata)
{
	(void)time_us;
	assert_int_equal(size, sizeof(body));
	assert_memory_equal(found, body, size);
	++*(size_t *)userdata;
	return 0;
}

static size_t records(void)
{
	size_t found = 0;

	OWN_READER struct reader *reader = open_reader(wall_s() - 3 * 3600, wall_s() + 10);

	assert_int_equal(reader_records(reader, HISTORY_RECORD_DROP, compare_body, &found), 0);
	return found;
}

/* ---- a clock that is wrong for a while ------------------------------------------------------ */

/* `restart`: the clock is set while netflowd does not run. */
static void wrong_for_a_while(int64_t by_s, int64_t length_s, bool restart)
{
	int64_t ahead_us, back_us;
	struct reader_period period;

	begin();
	run(900);
	ahead_us = host.up_us + host.clock_us;
	if (restart) {
		stop_netflowd();
		host.clock_us += by_s * US;
		start_netflowd();
	} else {
		step(by_s);
	}
	run(length_s);
	/* Also by the wrong clock, what is there now is found. */
	assert_true(ask((wall_s() - 8) * US, wall_s() * US, &period) >= happened[count - 1].drops);
	reader_period_clear(&period);
	if (restart) {
		stop_netflowd();
		host.clock_us -= by_s * US;
		start_netflowd();
	} else {
		step(-by_s);
	}
	back_us = host.up_us + host.clock_us;
	run(900);
	check_all(2000 + length_s);
	assert_int_equal(records(), count);
	/* What passed is covered, or was while netflowd did not run. */
	ask((START + 60) * US, (wall_s() - 20) * US, &period);
	assert_int_equal(period.asked.gaps, 0);
	reader_period_clear(&period);
	check_step(0, -by_s, back_us);
	check_step(1, by_s, ahead_us);
	stop_netflowd();
}

EACH_TEST(make_scratch, remove_scratch);

TEST(test_wrong_for_a_while)
{
	static const int64_t by_s[] = {30, 3600, 8 * DAY, 30 * DAY};

	for (size_t i = 0; i < ARRAY_SIZE(by_s); i++)
		for (int restart = 0; restart < 2; restart++) {
			wrong_for_a_while(by_s[i], 13, restart);
			remove_scratch(NULL);
			make_scratch(NULL);
		}
	/* Over the ends of coarse buckets. */
	wrong_for_a_while(DAY + 600, 1500, false);
}

/* A board without a battery begins its history 8 days ahead; and its clock is never right before it goes off. */
TEST(test_wrong_at_startup)
{
	begin();
	host.clock_us += 8 * DAY * US;
	run(100);
	step(-8 * DAY);
	run(900);
	check_all(1100);
	/* Nothing says how long the host was off: what is there stays, and what follows is found. */
	reboot(60, START + 9 * DAY);
	run(300);
	reboot(60, START + 2000);
	count = 0;
	run(900);
	check(880, 30);
	stop_netflowd();
}

/* An alert fires while the clock is ahead: its incident is one of that time, and its event says so. */
TEST(test_incident)
{
	static const int64_t by_s[] = {30, 8 * DAY};
	char text[100], when[TIME_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(by_s); i++) {
		OWN_READER struct reader *reader = NULL;
		OWN_READER_ROWS struct reader_rows rows = {0};
		OWN_JSON json_t *incidents = json_array(), *one = NULL;
		struct batch *batch;
		int64_t fired_us;

		begin();
		step(by_s[i] + 600);
		run(100);
		host.up_us += 5 * US;
		batch = interval(1);
		fired_us = batch->to_us - 1;
		time_format_realtime(fired_us * 1000, when);
		snprintf(text, sizeof(text), "{\"time\":\"%s\",\"name\":\"%s\"}", when, when + 1);
		assert_int_equal(batch_add_event(batch, fired_us, text, "rule"), 0);
		write_batch(host.archive, batch);
		run(10);
		step(-by_s[i]);
		run(10);
		fired_us -= by_s[i] * US;
		time_format_realtime(fired_us * 1000, when);
		reader = open_reader(START, wall_s());
		assert_int_equal(reader_incidents(reader, incidents), 0);
		assert_int_equal(json_array_size(incidents), 1);
		one = json_incref(json_array_get(incidents, 0));
		assert_int_equal(json_integer_value(json_object_get(one, "time_us")), fired_us);
		assert_string_equal(
			json_string_value(json_object_get(json_object_get(one, "event"), "time")),
			when);
		json_decref(one);
		assert_int_equal(reader_use_incident(reader, 1, &one), 0);
		read_drops(reader, &rows);
		/* Those of the time since the clock was set. */
		assert_int_equal(rows.count, 1);
		assert_in_range(rows.row[0].value[DROPS_PACKETS], 10, 25);
		stop_netflowd();
		remove_scratch(NULL);
		make_scratch(NULL);
	}
}

/* What a wrong date deleted of 7 days: at most as much as passed while it was wrong. */
TEST(test_nothing_expires)
{
	struct reader_period period;

	begin();
	for (int i = 0; i < 30; i++)
		run(20);
	step(30 * DAY);
	run(3600);
	ask(START * US, (START + 600) * US, &period);
	assert_int_equal(period.begun_us, START * US);
	assert_int_equal(period.asked.covered_us, 600 * US);
	reader_period_clear(&period);
	stop_netflowd();
}

/* ---- intervals -------------------------------------------------------------------------------- */

/* netflowd was stopped for a while, and the kernel went on to count. */
TEST(test_long_interval)
{
	static const int64_t stops[] = {4, 12, 20, 33, 600};
	struct reader_period period;

	begin();
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) {
		run(607);
		host.up_us += stops[i] * US;
		write_batch(host.archive, interval(1055));
	}
	run(600);
	check_all(wall_s() - START);
	/* The stop of 20 s. */
	ask((START + 3 * 607 + 4 + 12 + 10) * US, (START + 3 * 607 + 4 + 12 + 20) * US, &period);
	assert_int_equal(period.step_s, 20);
	assert_true(period.from_us <= (START + 3 * 607 + 16) * US);
	assert_true(period.to_us >= (START + 3 * 607 + 36) * US);
	assert_int_equal(period.asked.gaps, 0);
	reader_period_clear(&period);
	stop_netflowd();
}

/* The time in which probes were detached is a gap, to the us, also beside a time in which netflowd did not run. */
TEST(test_pause)
{
	struct reader_period period;
	struct batch *batch;

	begin();
	run(100);
	host.up_us += 10 * US;
	batch = interval(5);
	batch_add_gap(batch, batch->from_us + 2 * US + 1, batch->from_us + 8 * US);
	write_batch(host.archive, batch);
	run(100);
	host.up_us += 10 * US;
	batch = interval(0);
	batch_add_gap(batch, batch->from_us + 9 * US, batch->to_us);
	write_batch(host.archive, batch);
	host.up_us += 10 * US;
	batch = interval(0);
	batch_add_gap(batch, batch->from_us, batch->to_us);
	write_batch(host.archive, batch);
	stop_netflowd();
	host.up_us += 30 * US;
	start_netflowd();
	run(100);
	assert_int_equal(ask(START * US, wall_s() * US, &period), all_drops());
	assert_int_equal(period.asked.gaps, 3);
	assert_int_equal(covered_gap(&period.asked, 2)->reason, READER_PAUSED);
	assert_int_equal(covered_gap(&period.asked, 2)->from_us, (START + 102) * US + 1);
	assert_int_equal(covered_gap(&period.asked, 2)->to_us, (START + 108) * US);
	assert_int_equal(covered_gap(&period.asked, 1)->reason, READER_PAUSED);
	assert_int_equal(covered_gap(&period.asked, 1)->from_us, (START + 219) * US);
	assert_int_equal(covered_gap(&period.asked, 1)->to_us, (START + 230) * US);
	assert_int_equal(covered_gap(&period.asked, 0)->reason, READER_UNKNOWN);
	assert_int_equal(covered_gap(&period.asked, 0)->from_us, (START + 230) * US);
	assert_int_equal(covered_gap(&period.asked, 0)->to_us, (START + 260) * US);
	reader_period_clear(&period);
	stop_netflowd();
}
