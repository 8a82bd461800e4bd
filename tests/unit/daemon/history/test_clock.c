/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals are what they were: each is found once, where it was and as long as it was, and gaps are gaps. */
#include <sqlite3.h>

#include "common/array.h"
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
	host.series = series_new(HISTORY_DROPS, "{\"reason\":\"X\"}");
	host.begun_us = host.up_us;
}

static void stop_netflowd(void)
{
	archive_free(&host.archive);
	series_release(&host.series);
}

static struct batch *interval(uint64_t drops)
{
	struct batch *batch = new_batch(0, 0);

	batch->from_us = host.begun_us + host.clock_us;
	batch->to_us = host.up_us + host.clock_us;
	add_drops(batch, host.series, drops);
	assert_int_equal(
		batch_add_record(batch, HISTORY_RECORD_DROP, batch->to_us - 1, strdup("{}"), NULL),
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

static int64_t wall_s(void)
{
	return (host.up_us + host.clock_us + US - 1) / US;
}

static void run_sql(const char *sql)
{
	char path[256];
	sqlite3 *db = NULL;

	snprintf(path, sizeof(path), "%s/" ARCHIVE_FILE, scratch);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
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
	assert_int_equal(reader_sums(reader, HISTORY_DROPS, NULL, NULL, &rows), 0);
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

/* ---- intervals -------------------------------------------------------------------------------- */

/* netflowd was stopped for a while, and the kernel went on to count. */
static void test_long_interval(void **state)
{
	static const int64_t stops[] = {4, 12, 20, 33, 600};
	struct reader_period period;

	(void)state;
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
static void test_pause(void **state)
{
	struct reader_period period;
	struct batch *batch;

	(void)state;
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

/* Files of earlier versions, also one that cannot be upgraded because nothing can be written. */
static void test_versions(void **state)
{
	(void)state;
	for (int version = 1; version <= 5; version++) {
		char sql[200];

		begin();
		run(600);
		stop_netflowd();
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE span DROP COLUMN kind; PRAGMA user_version = %d", version);
		run_sql(sql);
		check(600, 170);
		start_netflowd();
		check(600, 170);
		run(600);
		check(1200, 170);
		host.up_us += 20 * US;
		write_batch(host.archive, interval(7));
		check(1220, 10);
		stop_netflowd();
		start_netflowd();
		stop_netflowd();
		remove_scratch(NULL);
		make_scratch(NULL);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scratch, remove_scratch)
	const struct CMUnitTest tests[] = {
		TEST(test_long_interval),
		TEST(test_pause),
		TEST(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
