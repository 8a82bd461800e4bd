/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live view: readings from invented replies, and the frames that show them. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/live/frame.h"
#include "cli/live/reading.h"
#include "cli/live/view.h"
#include "cli/show/drop_lines.h"
#include "cli/show/ledger.h"
#include "tests/unit/test.h"

/* The replies of a daemon, and the calls that it received. */
struct answers {
	const char *status;
	const char *drops;
	const char *latency;
	const char *napi;
	int fail_at; /* the number of the call that fails; 0: none */
	int calls;
	int64_t measure_ms;
};

static int answer(void *data, const char *method, json_t *parameters, int64_t extra_ms,
		  json_t **reply)
{
	struct answers *answers = data;
	const char *text = answers->status;

	answers->calls++;
	if (!strcmp(method, "io.netflowd.GetStatus"))
		answers->measure_ms = extra_ms;
	json_decref(parameters);
	if (answers->calls == answers->fail_at)
		return -ECONNRESET;
	if (!strcmp(method, "io.netflowd.GetDrops"))
		text = answers->drops;
	if (!strcmp(method, "io.netflowd.GetLatency"))
		text = answers->latency;
	if (!strcmp(method, "io.netflowd.GetNapi"))
		text = answers->napi;
	*reply = json_loads(text, 0, NULL);
	assert_non_null(*reply);
	return 0;
}

static const char status_early[] =
	"{\"daemon\":{\"uptime_ns\":1000000000,\"version\":\"1\"},\"host\":{\"name\":\"h\"},"
	"\"packets\":{\"received\":100,\"delivered\":50,\"transmitted\":10,\"dropped\":5}}";
static const char status_late[] =
	"{\"time\":\"2026-11-21T09:30:00.123456789+01:00\","
	"\"daemon\":{\"uptime_ns\":3000000000,\"version\":\"1\"},\"host\":{\"name\":\"h\"},"
	"\"packets\":{\"received\":2100,\"delivered\":50,\"transmitted\":30},"
	"\"cost\":{\"programs_cpu_percent\":1.5},"
	"\"drops\":{\"calls\":5,\"hits\":5,\"missed\":0,\"counted\":5,\"unkeyed\":0,\"completed\":0,"
	"\"recorded\":3,\"throttled\":2,"
	"\"ring_full\":0,\"balanced\":true},"
	"\"inflight\":{\"begun\":9,\"delivered\":4,\"consumed\":1,\"transmitted\":2,"
	"\"forwarded\":0,\"dropped\":1,\"overwritten\":1,\"invalidated\":0,\"torn\":0,"
	"\"in_flight\":1,\"stale\":0,\"balanced\":true},"
	"\"slots\":{\"calls\":4,\"hits\":4,\"missed\":0,\"counted\":4,\"unkeyed\":0,\"chosen\":1,\"recorded\":1,"
	"\"throttled\":0,\"ring_full\":0,\"unended\":0,\"balanced\":true},"
	"\"tcp_bytes\":{\"copied\":0,\"delivered\":0,\"merged\":0,\"untracked\":0},"
	"\"latency\":{\"chosen\":3,\"recorded\":1,\"throttled\":2,\"ring_full\":0}}";
static const char drops_early[] =
	"{\"rows\":[{\"cause\":\"f\",\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\","
	"\"location\":\"f+0x1\",\"packets\":10}]}";
/* more, a new location, and a reason without a name */
static const char drops_late[] =
	"{\"rows\":[{\"cause\":\"f\",\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\","
	"\"location\":\"f+0x1\",\"packets\":15,\"baseline\":{\"mark\":\"grown\"}},"
	"{\"cause\":\"g\",\"reason\":\"MIC_FAIL\",\"subsystem\":\"mac80211\",\"location\":\"g\","
	"\"packets\":900},{\"cause\":\"h\",\"reason_number\":77,\"location\":\"h\",\"packets\":1}]}";
static const char latency_early[] =
	"{\"segments\":[{\"direction\":\"rx\",\"segment\":\"receive_to_copy\",\"device\":\"a\","
	"\"max_ns\":1000,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":5},"
	"{\"from_ns\":896,\"below_ns\":1024,\"count\":1}]}]}";
static const char latency_late[] =
	"{\"segments\":[{\"direction\":\"rx\",\"segment\":\"receive_to_copy\",\"device\":\"a\","
	"\"max_ns\":1000,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":25},"
	"{\"from_ns\":896,\"below_ns\":1024,\"count\":1}]},"
	"{\"direction\":\"rx\",\"segment\":\"receive_to_copy\",\"device\":\"b\","
	"\"max_ns\":600,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":1}]},"
	"{\"direction\":\"tx\",\"segment\":\"xmit_to_free\",\"max_ns\":70000,"
	"\"buckets\":[{\"from_ns\":65536,\"below_ns\":81920,\"count\":2}]},"
	"{\"direction\":\"tx\",\"segment\":\"not yet invented\"}]}";

static const char napi_early[] =
	"{\"napi\":[{\"device\":\"a\",\"netns\":1,\"cpu\":0,\"polls\":10,\"packets\":20,"
	"\"full_budgets\":1}],\"cpus\":[{\"cpu\":0,\"processed\":1000,\"dropped\":0,"
	"\"time_squeeze\":5}]}";
/* a new device and a new CPU */
static const char napi_late[] =
	"{\"napi\":[{\"device\":\"a\",\"netns\":1,\"cpu\":0,\"polls\":30,\"packets\":120,"
	"\"full_budgets\":1},{\"cpu\":1,\"polls\":4,\"packets\":4,\"full_budgets\":0}],"
	"\"cpus\":[{\"cpu\":0,\"processed\":3000,\"dropped\":2,\"time_squeeze\":5},"
	"{\"cpu\":1,\"processed\":7,\"dropped\":0,\"time_squeeze\":0}]}";

static const struct answers early = {
	.status = status_early,
	.drops = drops_early,
	.latency = latency_early,
	.napi = napi_early,
};
static const struct answers late = {
	.status = status_late,
	.drops = drops_late,
	.latency = latency_late,
	.napi = napi_late,
};

/* Takes a second reading two seconds after the first. */
static void read_twice(struct live_reading **before, struct live_reading **now)
{
	const struct reading_scope plain = {}, measured = {.measure_ms = 100};
	struct answers first = early, second = late;

	assert_int_equal(reading_new(before, NULL, answer, &first, &plain), 0);
	assert_int_equal(first.calls, 4);
	assert_int_equal(first.measure_ms, 0);
	(*before)->drops_ns -= 2000000000;
	(*before)->latency_ns -= 2000000000;
	(*before)->polls_ns -= 2000000000;
	assert_int_equal(reading_new(now, *before, answer, &second, &measured), 0);
	assert_int_equal(second.measure_ms, 100);
}

static void assert_about(double value, double expected)
{
	assert_true(value > expected * 0.9 && value <= expected);
}

TEST(test_packets)
{
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;

	read_twice(&before, &now);
	assert_true(before->packets_per_second[READING_RECEIVED] < 0);
	assert_true(now->packets_per_second[READING_RECEIVED] == 1000);
	assert_true(now->packets_per_second[READING_DELIVERED] == 0);
	assert_true(now->packets_per_second[READING_TRANSMITTED] == 10);
	/* a missing value is not 0 */
	assert_true(now->packets_per_second[READING_DROPPED] < 0);
}

/* A burst of 20,000 in two seconds, of which the probes saw 100 and the kernel says the rest. */
TEST(test_counted)
{
	const struct answers first = {
		.status = "{\"daemon\":{\"uptime_ns\":1000000000},\"latency\":{\"passed\":0},"
			  "\"packets\":{\"received\":10,\"delivered\":5,\"transmitted\":10,"
			  "\"counted\":{\"received\":10,\"unseen\":0,\"sent\":10,"
			  "\"sent_elapsed_ns\":900000000}}}",
		.drops = "{}",
		.latency = "{}",
		.napi = "{}"};
	const struct answers second = {
		.status = "{\"daemon\":{\"uptime_ns\":3000000000},\"latency\":{\"passed\":0},"
			  "\"packets\":{\"received\":110,\"delivered\":55,\"transmitted\":110,"
			  "\"counted\":{\"received\":20010,\"unseen\":12000,\"sent\":16010,"
			  "\"sent_elapsed_ns\":2500000000}}}",
		.drops = "{}",
		.latency = "{\"segments\":[{\"direction\":\"rx\",\"segment\":\"rx_total\","
			   "\"count\":8000,\"followed\":50,\"max_ns\":600,\"buckets\":[{"
			   "\"from_ns\":512,\"below_ns\":640,\"count\":8000}]}]}",
		.napi = "{}"};
	const struct reading_scope all = {}, one = {.device = "a"};
	struct answers early_answers = first, late_answers = second, again = second;
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;
	OWN_READING struct live_reading *of_one = NULL;

	assert_int_equal(reading_new(&before, NULL, answer, &early_answers, &all), 0);
	before->latency_ns -= 2000000000;
	assert_int_equal(reading_new(&now, before, answer, &late_answers, &all), 0);
	assert_false(now->whole);
	assert_true(now->packets_per_second[READING_RECEIVED] == 10000);
	assert_true(now->packets_per_second[READING_TRANSMITTED] == 10000);
	assert_about(now->packets_per_second[READING_DELIVERED], 4000);
	assert_true(now->unseen_percent == 60);
	/* Of all devices, nothing estimates what was delivered. */
	assert_int_equal(reading_new(&of_one, before, answer, &again, &one), 0);
	assert_true(of_one->packets_per_second[READING_DELIVERED] < 0);
}

/* Counters of a namespace without a process cannot be read: the probes saw 100 sent packets, the counters show 6. */
TEST(test_counted_in_part)
{
	const struct reading_scope all = {};
	struct answers first = {
		.status = "{\"daemon\":{\"uptime_ns\":1000000000},\"latency\":{\"passed\":0},"
			  "\"packets\":{\"received\":10,\"transmitted\":10,\"counted\":{"
			  "\"received\":10,\"unseen\":0,\"sent\":10,"
			  "\"sent_elapsed_ns\":1000000000}}}",
		.drops = "{}",
		.latency = "{}",
		.napi = "{}"};
	struct answers second = first;
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;

	second.status = "{\"daemon\":{\"uptime_ns\":3000000000},\"latency\":{\"passed\":1},"
			"\"packets\":{\"received\":110,\"transmitted\":110,\"counted\":{"
			"\"received\":210,\"unseen\":100,\"sent\":16,"
			"\"sent_elapsed_ns\":3000000000}}}";
	assert_int_equal(reading_new(&before, NULL, answer, &first, &all), 0);
	assert_int_equal(reading_new(&now, before, answer, &second, &all), 0);
	assert_false(now->whole);
	assert_true(now->packets_per_second[READING_TRANSMITTED] == 50);
}

TEST(test_drops)
{
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;

	read_twice(&before, &now);
	assert_true(before->drops.at[0].per_second < 0);
	assert_int_equal(now->drops.count, 3);
	assert_string_equal(now->drops.at[0].reason, "MIC_FAIL (mac80211)");
	assert_about(now->drops.at[0].per_second, 450);
	assert_string_equal(now->drops.at[1].reason, "NO_SOCKET");
	assert_int_equal(now->drops.at[1].packets, 15);
	assert_about(now->drops.at[1].per_second, 2.5);
	assert_string_equal(now->drops.at[1].mark, "grown");
	assert_null(now->drops.at[0].mark);
	assert_string_equal(now->drops.at[2].reason, "77");
}

/* A cause that an earlier reply had no row for may have been counted for a month. */
TEST(test_drops_behind_the_last_row)
{
	static const char part[] =
		"{\"matched\":101,\"rows\":[{\"cause\":\"f\",\"location\":\"f+0x1\",\"packets\":10}]}";
	const struct reading_scope plain = {};
	struct answers first = early, second = late;
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;

	first.drops = part;
	assert_int_equal(reading_new(&before, NULL, answer, &first, &plain), 0);
	before->drops_ns -= 2000000000;
	assert_int_equal(reading_new(&now, before, answer, &second, &plain), 0);
	assert_string_equal(now->drops.at[0].cause, "f");
	assert_about(now->drops.at[0].per_second, 2.5);
	assert_true(now->drops.at[1].per_second < 0);
	assert_true(now->drops.at[2].per_second < 0);
}

TEST(test_latency)
{
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;
	const struct reading_segment *copy, *free_;

	read_twice(&before, &now);
	copy = &now->segments[READING_RECEIVE_TO_COPY];
	assert_int_equal(copy->all.total, 27);
	assert_int_equal(copy->interval.total, 21);
	assert_int_equal(copy->interval.count, 1);
	assert_about(copy->per_second, 10.5);
	/* the maximum is older than the interval, so the interval's last bucket limits it */
	assert_int_equal(copy->interval_max_ns, 639);
	free_ = &now->segments[READING_XMIT_TO_FREE];
	assert_int_equal(free_->interval_max_ns, 70000);
	assert_int_equal(now->segments[READING_RX_TOTAL].interval.total, 0);
	assert_true(now->segments[READING_RX_TOTAL].per_second == 0);
}

TEST(test_polls)
{
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;
	const struct reading_scope scope = {.device = "a"};
	struct answers answers = late;
	OWN_READING struct live_reading *one = NULL;

	read_twice(&before, &now);
	assert_true(before->polls.devices[0].polls_rate < 0);
	assert_true(before->polls.cpus[0].processed_rate < 0);
	assert_int_equal(now->polls.devices_count, 2);
	assert_about(now->polls.devices[0].polls_rate, 10);
	assert_about(now->polls.devices[0].packets_rate, 50);
	assert_true(now->polls.devices[0].full_rate == 0);
	assert_string_equal(now->polls.devices[1].name, "(backlog)");
	assert_about(now->polls.devices[1].polls_rate, 2);
	assert_about(now->polls.cpus[0].processed_rate, 1000);
	assert_about(now->polls.cpus[0].dropped_rate, 1);
	/* no rate: the CPU has no earlier counter */
	assert_true(now->polls.cpus[1].processed_rate < 0);
	assert_int_equal(reading_new(&one, NULL, answer, &answers, &scope), 0);
	assert_int_equal(one->polls.devices_count, 1);
	assert_int_equal(one->polls.cpus_count, 2);
}

TEST(test_history)
{
	struct live_history *history = calloc(1, sizeof(*history));
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;
	uint64_t values[HISTORY_READINGS + 1];

	assert_non_null(history);
	read_twice(&before, &now);
	history_add(history, before);
	assert_int_equal(history->count, 0);
	for (size_t i = 0; i < HISTORY_READINGS + 5; i++) {
		now->packets_per_second[READING_RECEIVED] = (double)i;
		history_add(history, now);
	}
	assert_int_equal(history_values(history, history->per_second[READING_RECEIVED], values, 3),
			 3);
	assert_int_equal(values[0], HISTORY_READINGS + 2);
	assert_int_equal(values[2], HISTORY_READINGS + 4);
	assert_int_equal(history_values(history, history->p99_ns[READING_RECEIVE_TO_COPY], values,
					HISTORY_READINGS + 1),
			 HISTORY_READINGS);
	assert_int_equal(values[0], 576);
	free(history);
}

TEST(test_failures)
{
	for (int i = 1; i <= 4; i++) {
		const struct reading_scope scope = {};
		struct answers answers = late;
		struct live_reading *reading = NULL;

		answers.fail_at = i;
		assert_int_equal(reading_new(&reading, NULL, answer, &answers, &scope),
				 -ECONNRESET);
		assert_null(reading);
	}
}

/* Fails unless the page has at most `rows` lines. */
static void assert_fits(struct page *page, size_t rows)
{
	OWN_FREE char *text = NULL;
	size_t size, lines = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	for (const char *s = text; *s; s++)
		lines += *s == '\n';
	assert_true(lines <= rows);
}

/* A frame of any size, sorted in any order, scrolled or not, fits into the lines of the screen. */
TEST(test_views)
{
	struct view_state *view = calloc(1, sizeof(*view));
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;

	assert_non_null(view);
	read_twice(&before, &now);
	for (size_t columns = 1; columns < 200; columns += 7) {
		for (size_t rows = 1; rows < 60; rows += 9) {
			const struct term term = {
				.tty = true, .utf8 = true, .columns = columns, .rows = rows};
			OWN_PAGE struct page *page = NULL;

			assert_int_equal(page_new(&page, &term), 0);
			view_note(view, now);
			for (size_t i = 0; i < VIEW_COUNT * 3; i++) {
				view->shown = (enum view_id)(i % VIEW_COUNT);
				view_sort(view);
				view->scroll = i;
				view->help = columns == 8;
				page_limit(page, columns, rows);
				assert_int_equal(view_put(view, page, rows % 2 ? now : before,
							  rows % 3 ? NULL : "eth0"),
						 0);
				assert_fits(page, rows);
				page_limit(page, columns, 1);
				view_put_keys(view, page);
				page_end(page);
				assert_fits(page, 1);
			}
		}
	}
	view_done(view);
	free(view);
}

TEST(test_frame_text)
{
	const struct term term = {.utf8 = true};
	OWN_READING struct live_reading *before = NULL;
	OWN_READING struct live_reading *now = NULL;
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	struct frame frame = {};
	FILE *out;
	size_t size;

	read_twice(&before, &now);
	out = open_memstream(&text, &size);
	assert_int_equal(page_new(&page, &term), 0);
	assert_int_equal(frame_put(&frame, page, now, 1000), 0);
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	frame_done(&frame);
	assert_non_null(strstr(text, "received 1.00 k/s"));
	assert_non_null(strstr(text, "dropped -"));
	assert_non_null(strstr(text, "programs 1.50 % CPU"));
	assert_non_null(strstr(text, "09:30:00 ·"));
	assert_non_null(strstr(text, "balanced · in flight 1 · journeys lost 1 · records "
				     "throttled 2"));
	assert_non_null(strstr(text, "MIC_FAIL (mac80211)"));
	assert_non_null(strstr(text, "512 ns to 131 µs"));
}

TEST(test_ledger)
{
	json_t *status = json_loads(status_late, 0, NULL);
	json_t *inflight = json_object_get(status, "inflight");

	assert_string_equal(ledger_verdict(status).text, "balanced");
	/* The daemon knows that packets which moved explain the difference. */
	json_object_set_new(inflight, "begun", json_integer(10));
	assert_string_equal(ledger_verdict(status).text, "balanced");
	json_object_set_new(inflight, "balanced", json_false());
	assert_string_equal(ledger_verdict(status).text, "NOT BALANCED");
	json_object_del(inflight, "balanced");
	assert_string_equal(ledger_verdict(status).text, "NOT BALANCED");
	json_object_del(inflight, "begun");
	assert_string_equal(ledger_verdict(status).text, "not known");
	json_decref(status);
}

TEST(test_times)
{
	json_t *object = json_pack("{s:s,s:s,s:s}", "t", "2026-11-21T09:30:00.123456789+01:00",
				   "short", "2026-11-21T09:30:00Z", "odd", "yesterday");

	assert_string_equal(field_time(object, "t", NULL).s, "2026-11-21 09:30:00.123456");
	assert_string_equal(field_time(object, "t", "2026-11-21T10").s, "09:30:00.123456");
	assert_string_equal(field_time(object, "t", "2026-11-22T10").s,
			    "2026-11-21 09:30:00.123456");
	assert_string_equal(field_date(object, "t").s, "2026-11-21 09:30:00 +01:00");
	assert_string_equal(field_time(object, "short", "2026-11-21").s, "09:30:00");
	assert_string_equal(field_date(object, "short").s, "2026-11-21 09:30:00 Z");
	assert_string_equal(field_time(object, "odd", NULL).s, "yesterday");
	assert_string_equal(field_date(object, "none").s, "-");
	json_decref(object);
}

TEST(test_epoch)
{
	json_t *object =
		json_pack("{s:s,s:s,s:s,s:s,s:s}", "t", "2026-11-21T09:30:00.123456789+01:00",
			  "utc", "2026-11-21T08:30:00Z", "west", "2026-11-21T03:00:00.5-05:30",
			  "odd", "2026-11-21", "no offset", "2026-11-21T08:30:00.1");
	uint64_t ns = 7;

	assert_true(field_epoch(object, "t", &ns));
	assert_int_equal(ns, 1795249800123456789);
	assert_true(field_epoch(object, "utc", &ns));
	assert_int_equal(ns, 1795249800000000000);
	assert_true(field_epoch(object, "west", &ns));
	assert_int_equal(ns, 1795249800500000000);
	assert_false(field_epoch(object, "odd", &ns));
	assert_false(field_epoch(object, "no offset", &ns));
	assert_false(field_epoch(object, "none", &ns));
	assert_int_equal(ns, 1795249800500000000);
	json_decref(object);
}

TEST(test_record)
{
	const struct term term = {.utf8 = true};
	json_t *record =
		json_loads("{\"time\":\"2026-11-21T09:30:00.123456789+01:00\","
			   "\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\","
			   "\"inferred\":true,\"class\":\"benign\","
			   "\"location\":\"f+0x1\",\"device\":\"eth0\","
			   "\"protocol\":\"arp\",\"length_bytes\":42,"
			   "\"task\":{\"pid\":7,\"comm\":\"a\\u001bb\",\"involved\":false},"
			   "\"stack\":[\"g+0x2\",\"h\"]}",
			   0, NULL);
	struct drop_lines_widths widths = {};
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(record);
	assert_int_equal(page_new(&page, &term), 0);
	assert_true(drop_lines_put(page, &widths, record, "2026-11-21", true));
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	json_decref(record);
	assert_string_equal(
		text, "09:30:00.123456  NO_SOCKET (inferred)  benign  f+0x1  eth0  arp  42 B  "
		      "(a\\x1bb[7])\n      g+0x2\n      h\n");
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
