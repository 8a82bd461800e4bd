/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of causes: what is one cause, how the table stays bounded, and that a restarted daemon knows it again. */
#include <time.h>

#include "daemon/history/baseline.h"
#include "daemon/history/baseline_key.h"
#include "daemon/history/baseline_view.h"
#include "daemon/history/plan.h"
#include "tests/unit/daemon/history/scratch.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* A boundary of all levels. */
#define BEGIN 1774742400

/* ---- keys ------------------------------------------------------------------------- */

static const char *key_of(const struct baseline_cause *cause)
{
	static char key[BASELINE_KEY_MAX];

	baseline_key(cause, key);
	return key;
}

static const char *key_with(const char *location, const char *device, bool host)
{
	return key_of(&(struct baseline_cause){.reason = "NO_SOCKET",
					       .number = 3,
					       .function = location,
					       .class = "fault",
					       .protocol = "ipv4/udp",
					       .device = device,
					       .host = host});
}

TEST(test_keys)
{
	static const struct {
		const char *name, *group;
	} devices[] = {
		{"eth0", "eth0"},
		{"eth12", "eth12"},
		{"veth1a2b3c4", "veth*"},
		{"br-8f3ad2c81e20", "br-*"},
		{"cali0123456789a", "cali*"},
		{"tap3f0a11bc-5e", "tap*"},
		{"eth0.100", "eth0.*"},
		{"bond0.7", "bond0.*"},
		{"enp129s0f1np1", "enp129s0f1np1"},
		{"cafe", "cafe"},
		{"deadbeef01", "deadbeef01"},
		{"bridge", "bridge"},
		{".5", ".5"},
		{"", ""},
		{"caf\xc3\xa9", "caf?"},
		{"caf\xff", "caf?"},
	};
	char expected[BASELINE_KEY_MAX];

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		snprintf(expected, sizeof(expected),
			 "NO_SOCKET\tudp_rcv\tfault\tipv4/udp\thost\t%s", devices[i].group);
		assert_string_equal(key_with("udp_rcv+0x1f", devices[i].name, true), expected);
	}
	/* Names that containers choose do not count, nor what a compiler or a boot changes. */
	snprintf(expected, sizeof(expected), "NO_SOCKET\tudp_rcv\tfault\tipv4/udp\t\t");
	assert_string_equal(key_with("udp_rcv+0x1f", "mine", false), expected);
	assert_string_equal(key_with("udp_rcv.isra.0+0x2c", "other", false), expected);
	assert_string_equal(key_with("udp_rcv", NULL, false), expected);
	assert_string_equal(key_with("0xffffffff81234567", "x", false),
			    "NO_SOCKET\t\tfault\tipv4/udp\t\t");
	assert_string_equal(key_of(&(struct baseline_cause){.number = 77, .function = "f+0x1"}),
			    "#77\tf\t\t\t\t");
	assert_string_equal(key_of(&(struct baseline_cause){.number = -1, .function = "f+0x1"}),
			    "\tf\t\t\t\t");
	assert_int_equal(baseline_key_family("NO_SOCKET\tudp_rcv\tfault\tipv4/udp\t\t"),
			 strlen("NO_SOCKET\tudp_rcv\tfault"));
}

TEST(test_long_names)
{
	char name[1024];
	const struct baseline_cause cause = {.reason = name,
					     .function = name,
					     .class = name,
					     .protocol = name,
					     .device = name,
					     .host = true};

	memset(name, 'z', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_true(strlen(key_of(&cause)) < BASELINE_KEY_MAX);
	/* Nothing is cut off but names. */
	assert_int_equal(strlen(key_of(&cause)), 64 + 128 + 16 + 32 + 4 + 64 + 5);
}

/* ---- a table ------------------------------------------------------------------------ */

static struct baseline *table;

static int make_table(void **state)
{
	if (make_scratch(state) < 0)
		return -1;
	return baseline_new(&table);
}

static int free_table(void **state)
{
	baseline_free(&table);
	return remove_scratch(state);
}

EACH_TEST(make_table, free_table);

static struct baseline_view *show(void)
{
	struct baseline_view *view = NULL;

	assert_int_equal(baseline_show(table, &view), 0);
	return view;
}

static void present(int64_t now_s)
{
	baseline_set_present(table, now_s * US);
}

/* A covered time, with packets of a cause in each ten minutes. */
static void steady(const char *key, int64_t from_s, int64_t to_s, uint64_t packets)
{
	for (int64_t at = from_s; at < to_s; at += BASELINE_STEP_S) {
		present(at + BASELINE_STEP_S);
		baseline_cover_time(table, at * US, (at + BASELINE_STEP_S) * US);
		assert_int_equal(baseline_add(table, key, at, packets), 0);
	}
}

static enum baseline_mark mark_at(const char *key, int64_t last_s)
{
	OWN_BASELINE_VIEW struct baseline_view *view = show();
	struct baseline_rate rate;

	baseline_view_find(view, key, last_s * US > view->seen_us ? last_s * US : 0, &rate);
	return rate.mark;
}

static enum baseline_mark mark(const char *key)
{
	return mark_at(key, 0);
}

static const char old[] = "A\tf\tfault\tudp\thost\teth0";
static const char other[] = "B\tg\tfault\tudp\thost\teth0";

TEST(test_a_day)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;
	struct baseline_rate rate;

	/* Nothing is marked before there is a day. */
	steady(old, BEGIN, BEGIN + 23 * HOUR, 60);
	assert_int_equal(mark(old), BASELINE_NONE);
	assert_int_equal(mark_at(other, BEGIN + 30 * HOUR), BASELINE_NONE);
	steady(old, BEGIN + 23 * HOUR, BEGIN + 26 * HOUR, 60);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	/* A cause that the table does not have, before and after its view. */
	assert_int_equal(mark_at(other, BEGIN + 26 * HOUR - 1), BASELINE_NONE);
	assert_int_equal(mark_at(other, BEGIN + 26 * HOUR + 1), BASELINE_NEW);
	assert_int_equal(baseline_add(table, other, BEGIN + 26 * HOUR - 1, 1), 0);
	view = show();
	baseline_view_find(view, other, 0, &rate);
	assert_int_equal(rate.mark, BASELINE_NEW);
	assert_int_equal(rate.first, 0);
	assert_int_equal(view->bucket_s, BEGIN + 26 * HOUR - BASELINE_STEP_S);
	assert_int_equal(view->causes, 2);
	/* What has ended for longer than the table's time is forgotten. */
	steady(other, BEGIN + 26 * HOUR, BEGIN + 53 * HOUR, 60);
	baseline_view_release(&view);
	view = show();
	assert_int_equal(view->causes, 1);
	assert_int_equal(view->families, 1);
	assert_int_equal(mark(old), BASELINE_NONE);
	assert_int_equal(mark(other), BASELINE_BACKGROUND);
}

TEST(test_clock)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;

	steady(old, BEGIN, BEGIN + 26 * HOUR, 60);
	/* Set back by an hour: its buckets are forgotten, but the first, which has both times, and both packets. */
	steady(old, BEGIN + 25 * HOUR, BEGIN + 26 * HOUR, 60);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	view = show();
	assert_int_equal(view->cover.covered_s, 26 * HOUR + BASELINE_STEP_S);
	baseline_view_release(&view);
	/* Far ahead, and back: the old time is gone in both cases. */
	present(BEGIN + 400 * DAY);
	assert_int_equal(mark(old), BASELINE_NONE);
	steady(old, BEGIN + 400 * DAY, BEGIN + 400 * DAY + HOUR, 60);
	steady(old, BEGIN, BEGIN + 27 * HOUR, 60);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	present(0);
	present(-5);
	baseline_cover_time(table, -10 * US, 5 * US);
	assert_int_equal(baseline_add(table, old, -5, 1), 0);
	assert_int_equal(baseline_add(table, old, INT64_MAX, 1), 0);
	assert_int_equal(mark(old), BASELINE_NONE);
}

/* ---- bounds -------------------------------------------------------------------------------- */

static void add_key(const char *format, int family, int number, int64_t at)
{
	char key[BASELINE_KEY_MAX];

	snprintf(key, sizeof(key), format, family, number);
	assert_int_equal(baseline_add(table, key, at, 1), 0);
}

/* A stranger makes devices, each a cause of one reason at one function: his own family becomes one cause. */
TEST(test_a_stranger)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;

	steady(old, BEGIN, BEGIN + 26 * HOUR, 60);
	for (int i = 0; i < 100000; i++)
		add_key("S%d\ts\tfault\tudp\thost\tx%dx", 0, i, BEGIN + 26 * HOUR - 1);
	view = show();
	assert_int_equal(view->causes, 2);
	assert_int_equal(view->folded, 1);
	assert_false(view->full);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	/* Of his family, all causes have one mark. */
	assert_int_equal(mark("S0\ts\tfault\tudp\thost\tx1x"), BASELINE_NEW);
	assert_int_equal(mark("S0\ts\tfault\tudp\thost\tnever"), BASELINE_NEW);
	/* A sum is the sum: 100,000 packets. */
	for (size_t i = 0; i < view->count; i++)
		if (!strcmp(view->shown[i].key, "S0\ts\tfault"))
			assert_true(view->shown[i].rate.per_second > 23 &&
				    view->shown[i].rate.per_second < 28);
}

/* 100,000 causes of 2,000 families, more than the table has room for with one cause each device. */
TEST(test_many_causes)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;

	steady(old, BEGIN, BEGIN + 26 * HOUR, 60);
	for (int number = 0; number < 50; number++)
		for (int family = 0; family < 2000; family++)
			add_key("M%d\tm\tfault\tudp\thost\te%d", family, number,
				BEGIN + 26 * HOUR - 1);
	view = show();
	assert_true(view->causes <= BASELINE_CAUSES);
	assert_true(view->causes >= 2000);
	assert_false(view->full);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	assert_int_equal(mark("M1999\tm\tfault\tudp\thost\te49"), BASELINE_NEW);
}

/* More families than the kernel's code can have. */
TEST(test_full)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;

	steady(old, BEGIN, BEGIN + 26 * HOUR, 60);
	for (int family = 0; family < 100000; family++)
		add_key("F%d\tm\tfault\tudp\thost\te%d", family, 0, BEGIN + 26 * HOUR - 1);
	view = show();
	assert_int_equal(view->causes, BASELINE_CAUSES);
	assert_int_equal(view->families, BASELINE_CAUSES);
	assert_true(view->full);
	assert_int_equal(mark(old), BASELINE_BACKGROUND);
	assert_int_equal(mark("F1\tm\tfault\tudp\thost\te0"), BASELINE_NEW);
	/* What it has no room for has no mark, and is not called new. */
	assert_int_equal(mark_at("F99999\tm\tfault\tudp\thost\te0", BEGIN + 30 * HOUR),
			 BASELINE_NONE);
	/* A day later, there is room again. */
	steady(old, BEGIN + 26 * HOUR, BEGIN + 53 * HOUR, 60);
	baseline_view_release(&view);
	view = show();
	assert_int_equal(view->causes, 1);
	assert_false(view->full);
}

/* ---- batches and the file -------------------------------------------------------------------- */

static struct series *series;

static const struct drop_row cause = {
	.key = {.reason = "A",
		.numbered = 1,
		.reason_number = 3,
		.class = KNOWLEDGE_FAULT,
		.location = "f+0x12",
		.device = {.name = "eth0", .netns = 7, .netns_name = "host"},
		.protocol = "ipv4/udp"},
	.host = true};
static const char key[] = "A\tf\tfault\tipv4/udp\thost\teth0";

/* Batches from one time to another, written to the file, and added to the table if `live`. */
static void play(struct archive *archive, int64_t from_s, int64_t to_s, uint64_t packets,
		 enum coverage_state drops, bool live)
{
	for (int64_t at = from_s; at < to_s; at += 10) {
		struct batch *batch = new_batch(at, at + 10);

		if (packets)
			add_drops(batch, series, packets);
		if (drops != COVERAGE_FULL)
			assert_int_equal(
				coverage_add(&batch->coverage, COVERAGE_DROPS, drops, strdup("x")),
				0);
		if (live)
			assert_int_equal(baseline_add_batch(table, batch), 0);
		write_batch(archive, batch);
	}
}

static void compare_views(const struct baseline_view *a, const struct baseline_view *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->bucket_s, b->bucket_s);
	assert_memory_equal(&a->cover, &b->cover, sizeof(a->cover));
	for (size_t i = 0; i < a->count; i++) {
		assert_string_equal(a->shown[i].key, b->shown[i].key);
		assert_int_equal(a->shown[i].rate.mark, b->shown[i].rate.mark);
		assert_int_equal(a->shown[i].rate.first, b->shown[i].rate.first);
		assert_true(a->shown[i].rate.per_second == b->shown[i].rate.per_second);
		assert_true(a->shown[i].rate.usual == b->shown[i].rate.usual);
	}
}

/* What is read from the file is what the batches gave, at any moment between the boundaries of levels. */
TEST(test_restart)
{
	static const int64_t ends[] = {26 * HOUR, 26 * HOUR + 10, 26 * HOUR + 70, 26 * HOUR + 1230,
				       27 * HOUR + 599};
	OWN_ARCHIVE struct archive *archive = open_archive(&week);
	int64_t at = BEGIN;

	series = series_new_drops(&cause);
	assert_string_equal(series->cause, key);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		OWN_BASELINE_VIEW struct baseline_view *live = NULL, *loaded = NULL;
		struct baseline *mine = table;

		/* Whole intervals: the last one ends before the time of the question. */
		play(archive, at, BEGIN + ends[i] / 10 * 10, 3, COVERAGE_FULL, true);
		at = BEGIN + ends[i] / 10 * 10;
		live = show();
		archive_free(&archive);
		archive = open_archive(&week);
		table = NULL;
		assert_int_equal(baseline_new(&table), 0);
		assert_int_equal(archive_read_baseline(archive, table, at * US), 0);
		loaded = show();
		baseline_free(&table);
		table = mine;
		compare_views(live, loaded);
		assert_int_equal(live->shown[0].rate.mark, BASELINE_BACKGROUND);
	}
	series_release(&series);
}

/* Time in which netflowd did not run, or could not count, is not covered. */
TEST(test_not_covered)
{
	OWN_ARCHIVE struct archive *archive = open_archive(&week);
	OWN_BASELINE_VIEW struct baseline_view *live = NULL, *loaded = NULL;

	series = series_new_drops(&cause);
	play(archive, BEGIN, BEGIN + 20 * HOUR, 3, COVERAGE_DEGRADED, true);
	play(archive, BEGIN + 20 * HOUR, BEGIN + 22 * HOUR, 0, COVERAGE_UNAVAILABLE, true);
	play(archive, BEGIN + 24 * HOUR, BEGIN + 26 * HOUR, 3, COVERAGE_FULL, true);
	live = show();
	assert_int_equal(live->cover.covered_s, 22 * HOUR);
	assert_int_equal(live->shown[0].rate.mark, BASELINE_BACKGROUND);
	baseline_free(&table);
	assert_int_equal(baseline_new(&table), 0);
	assert_int_equal(archive_read_baseline(archive, table, (BEGIN + 26 * HOUR) * US), 0);
	loaded = show();
	compare_views(live, loaded);
	series_release(&series);
}

/* Sums whose device is no longer known belong to no cause. */
TEST(test_gone)
{
	struct series *gone = series_new_drops(
		&(struct drop_row){.key = {.reason = "A", .location = "f+0x1"}, .lost = DROP_GONE});
	struct series *napi = series_new(HISTORY_NAPI, &(struct series_name){.cpu = 1});

	assert_string_equal(gone->cause, "");
	assert_string_equal(napi->cause, "");
	series_release(&gone);
	series_release(&napi);
}

/* What the table of a large host costs: printed, and not slower than a generous bound. */
TEST(test_cost)
{
	OWN_BASELINE_VIEW struct baseline_view *view = NULL;
	struct timespec begin, middle, end;
	double adding, showing;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int age = BASELINE_BUCKETS; age > 0; age--) {
		int64_t at = BEGIN + (int64_t)(BASELINE_BUCKETS - age) * BASELINE_STEP_S;

		present(at + BASELINE_STEP_S);
		baseline_cover_time(table, at * US, (at + BASELINE_STEP_S) * US);
		for (int i = 0; i < BASELINE_CAUSES; i++)
			add_key("C%d\tc\tfault\tudp\thost\te%d", i / 50, i % 50, at);
	}
	clock_gettime(CLOCK_MONOTONIC, &middle);
	view = show();
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_int_equal(view->causes, BASELINE_CAUSES);
	adding = (double)(middle.tv_sec - begin.tv_sec) +
		 (double)(middle.tv_nsec - begin.tv_nsec) / 1e9;
	showing =
		(double)(end.tv_sec - middle.tv_sec) + (double)(end.tv_nsec - middle.tv_nsec) / 1e9;
	print_message("adding %d causes: %.2f ms; a view of them: %.2f ms\n", BASELINE_CAUSES,
		      adding / BASELINE_BUCKETS * 1e3, showing * 1e3);
	assert_true(showing < 2);
}
