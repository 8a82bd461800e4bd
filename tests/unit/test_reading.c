/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live view: readings out of made-up answers, and the pictures of them. */
#include "cli/field.h"
#include "cli/frame.h"
#include "cli/ledger.h"
#include "cli/reading.h"
#include "cli/records.h"

#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* What a daemon would say, and what it was asked. */
struct answers {
	const char *status;
	const char *drops;
	const char *latency;
	int fail_at; /* the call that fails; 0 is none */
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
	"\"drops\":{\"hits\":5,\"counted\":5,\"unkeyed\":0,\"recorded\":3,\"throttled\":2,"
	"\"ring_full\":0,\"balanced\":true},"
	"\"inflight\":{\"begun\":9,\"delivered\":4,\"consumed\":1,\"transmitted\":2,"
	"\"forwarded\":0,\"dropped\":1,\"overwritten\":1,\"invalidated\":0,\"torn\":0,"
	"\"in_flight\":1,\"balanced\":true}}";
static const char drops_early[] =
	"{\"rows\":[{\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\",\"location\":\"f+0x1\","
	"\"device\":\"a\",\"packets\":10}]}";
/* two devices of one place; a place that is new; a reason without a name */
static const char drops_late[] =
	"{\"rows\":[{\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\",\"location\":\"f+0x1\","
	"\"device\":\"a\",\"packets\":11},{\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\","
	"\"location\":\"f+0x1\",\"device\":\"b\",\"packets\":4},"
	"{\"reason\":\"MIC_FAIL\",\"subsystem\":\"mac80211\",\"location\":\"g\",\"packets\":900},"
	"{\"reason_number\":77,\"location\":\"h\",\"packets\":1}]}";
static const char latency_early[] =
	"{\"latencies\":[{\"direction\":\"rx\",\"segment\":\"receive→copy\",\"device\":\"a\","
	"\"max_ns\":1000,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":5},"
	"{\"from_ns\":896,\"below_ns\":1024,\"count\":1}]}]}";
static const char latency_late[] =
	"{\"latencies\":[{\"direction\":\"rx\",\"segment\":\"receive→copy\",\"device\":\"a\","
	"\"max_ns\":1000,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":25},"
	"{\"from_ns\":896,\"below_ns\":1024,\"count\":1}]},"
	"{\"direction\":\"rx\",\"segment\":\"receive→copy\",\"device\":\"b\","
	"\"max_ns\":600,\"buckets\":[{\"from_ns\":512,\"below_ns\":640,\"count\":1}]},"
	"{\"direction\":\"tx\",\"segment\":\"xmit→free\",\"max_ns\":70000,"
	"\"buckets\":[{\"from_ns\":65536,\"below_ns\":81920,\"count\":2}]},"
	"{\"direction\":\"tx\",\"segment\":\"not yet invented\"}]}";

static const struct answers early = {
	.status = status_early,
	.drops = drops_early,
	.latency = latency_early,
};
static const struct answers late = {
	.status = status_late,
	.drops = drops_late,
	.latency = latency_late,
};

/* A second reading two seconds after the first. */
static void read_twice(struct reading **before, struct reading **now)
{
	struct answers first = early, second = late;

	assert_int_equal(reading_new(before, NULL, answer, &first, 0), 0);
	assert_int_equal(first.calls, 3);
	assert_int_equal(first.measure_ms, 0);
	(*before)->drops_ns -= 2000000000;
	(*before)->latency_ns -= 2000000000;
	assert_int_equal(reading_new(now, *before, answer, &second, 100), 0);
	assert_int_equal(second.measure_ms, 100);
}

static void assert_about(double value, double expected)
{
	assert_true(value > expected * 0.9 && value <= expected);
}

static void test_packets(void **state)
{
	OWN_READING struct reading *before = NULL;
	OWN_READING struct reading *now = NULL;

	(void)state;
	read_twice(&before, &now);
	assert_true(before->packets_per_second[READING_RECEIVED] < 0);
	assert_true(now->packets_per_second[READING_RECEIVED] == 1000);
	assert_true(now->packets_per_second[READING_DELIVERED] == 0);
	assert_true(now->packets_per_second[READING_TRANSMITTED] == 10);
	/* not told is not 0 */
	assert_true(now->packets_per_second[READING_DROPPED] < 0);
}

static void test_drops(void **state)
{
	OWN_READING struct reading *before = NULL;
	OWN_READING struct reading *now = NULL;

	(void)state;
	read_twice(&before, &now);
	assert_true(before->drops[0].per_second < 0);
	assert_int_equal(now->drops_count, 3);
	assert_string_equal(now->drops[0].reason, "MIC_FAIL (mac80211)");
	assert_about(now->drops[0].per_second, 450);
	assert_string_equal(now->drops[1].reason, "NO_SOCKET");
	assert_int_equal(now->drops[1].packets, 15);
	assert_about(now->drops[1].per_second, 2.5);
	assert_string_equal(now->drops[2].reason, "77");
}

static void test_latency(void **state)
{
	OWN_READING struct reading *before = NULL;
	OWN_READING struct reading *now = NULL;
	const struct reading_segment *copy, *free_;

	(void)state;
	read_twice(&before, &now);
	copy = &now->segments[READING_RECEIVE_TO_COPY];
	assert_int_equal(copy->all.total, 27);
	assert_int_equal(copy->interval.total, 21);
	assert_int_equal(copy->interval.count, 1);
	assert_about(copy->per_second, 10.5);
	/* the maximum is an old one: the last bucket of the interval bounds it */
	assert_int_equal(copy->interval_max_ns, 639);
	free_ = &now->segments[READING_XMIT_TO_FREE];
	assert_int_equal(free_->interval_max_ns, 70000);
	assert_int_equal(now->segments[READING_RX_TOTAL].interval.total, 0);
	assert_true(now->segments[READING_RX_TOTAL].per_second == 0);
}

static void test_failures(void **state)
{
	(void)state;
	for (int i = 1; i <= 3; i++) {
		struct answers answers = late;
		struct reading *reading = NULL;

		answers.fail_at = i;
		assert_int_equal(reading_new(&reading, NULL, answer, &answers, 0), -ECONNRESET);
		assert_null(reading);
	}
}

/* Any picture, however small: never more lines or columns than there are. */
static void test_frame(void **state)
{
	OWN_READING struct reading *before = NULL;
	OWN_READING struct reading *now = NULL;
	struct frame frame = {};

	(void)state;
	read_twice(&before, &now);
	for (size_t columns = 1; columns < 200; columns += 7) {
		for (size_t rows = 1; rows < 60; rows += 9) {
			const struct term term = {
				.tty = true, .utf8 = true, .columns = columns, .rows = rows};
			OWN_PAGE struct page *page = NULL;
			OWN_FREE char *text = NULL;
			size_t size, lines = 0;
			FILE *out = open_memstream(&text, &size);

			assert_int_equal(page_new(&page, &term), 0);
			page_limit(page, columns, rows);
			assert_int_equal(frame_put(&frame, page, rows % 2 ? now : before, 1000), 0);
			assert_int_equal(page_write(page, out), 0);
			fclose(out);
			for (const char *s = text; *s; s++)
				lines += *s == '\n';
			assert_true(lines <= rows);
		}
	}
	frame_done(&frame);
}

static void test_frame_text(void **state)
{
	const struct term term = {.utf8 = true};
	OWN_READING struct reading *before = NULL;
	OWN_READING struct reading *now = NULL;
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	struct frame frame = {};
	FILE *out;
	size_t size;

	(void)state;
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

static void test_ledger(void **state)
{
	json_t *status = json_loads(status_late, 0, NULL);
	json_t *inflight = json_object_get(status, "inflight");

	(void)state;
	assert_string_equal(ledger_verdict(status).text, "balanced");
	json_object_set_new(inflight, "begun", json_integer(10));
	assert_string_equal(ledger_verdict(status).text, "NOT BALANCED");
	json_object_set_new(inflight, "balanced", json_null());
	assert_string_equal(ledger_verdict(status).text, "packets moved while it was read");
	json_object_del(inflight, "balanced");
	assert_string_equal(ledger_verdict(status).text, "packets moved while it was read");
	json_object_del(inflight, "begun");
	assert_string_equal(ledger_verdict(status).text, "not known");
	json_decref(status);
}

static void test_times(void **state)
{
	json_t *object = json_pack("{s:s,s:s,s:s}", "t", "2026-11-21T09:30:00.123456789+01:00",
				   "short", "2026-11-21T09:30:00Z", "odd", "yesterday");

	(void)state;
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

static void test_record(void **state)
{
	const struct term term = {.utf8 = true};
	json_t *record =
		json_loads("{\"time\":\"2026-11-21T09:30:00.123456789+01:00\","
			   "\"reason\":\"NO_SOCKET\",\"subsystem\":\"core\","
			   "\"location\":\"f+0x1\",\"device\":\"eth0\","
			   "\"protocol\":\"arp\",\"length_bytes\":42,"
			   "\"task\":{\"pid\":7,\"comm\":\"a\\u001bb\",\"involved\":false},"
			   "\"stack\":[\"g+0x2\",\"h\"]}",
			   0, NULL);
	struct records_widths widths = {};
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(record);
	assert_int_equal(page_new(&page, &term), 0);
	assert_true(records_put(page, &widths, record, "2026-11-21", true));
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	json_decref(record);
	assert_string_equal(text, "09:30:00.123456  NO_SOCKET  f+0x1  eth0  arp  42 B  "
				  "(a\\x1bb[7])\n      g+0x2\n      h\n");
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets), cmocka_unit_test(test_drops),
		cmocka_unit_test(test_latency), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_frame),	cmocka_unit_test(test_frame_text),
		cmocka_unit_test(test_ledger),	cmocka_unit_test(test_times),
		cmocka_unit_test(test_record),
	};

	return cmocka_run_group_tests_name("reading", tests, setup, NULL);
}
