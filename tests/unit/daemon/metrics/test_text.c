/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "daemon/core/histogram.h"
#include "daemon/metrics/text.h"
#include "tests/unit/test.h"

/* End the text and compare it. */
static void expect(struct metrics_text *text, const char *expected)
{
	assert_int_equal(metrics_text_end(text), 0);
	assert_int_equal(text->length, strlen(expected));
	assert_memory_equal(text->bytes, expected, text->length);
	metrics_text_free(text);
}

static void put_drops(struct metrics_text *text)
{
	metrics_family(text, METRICS_INFLIGHT_DROPPED);
	metrics_count(text, 18446744073709551615ULL);
	metrics_family(text, METRICS_COST_CPU);
	metrics_seconds(text, 1000000001);
	metrics_family(text, METRICS_BUILD);
	metrics_labels(text, "1.2", "bpf");
	metrics_count(text, 1);
	metrics_family(text, METRICS_COVERAGE);
	metrics_labels(text, "drops");
	metrics_real(text, 0.5);
}

TEST(test_prometheus)
{
	struct metrics_text text;

	metrics_text_begin(&text, METRICS_PROMETHEUS);
	put_drops(&text);
	expect(&text,
	       "# HELP netflowd_inflight_dropped_total Journeys that ended with kfree_skb\n"
	       "# TYPE netflowd_inflight_dropped_total counter\n"
	       "netflowd_inflight_dropped_total 18446744073709551615\n"
	       "# HELP netflowd_cost_daemon_cpu_seconds_total CPU time of the daemon. The programs in the kernel are not part of it\n"
	       "# TYPE netflowd_cost_daemon_cpu_seconds_total counter\n"
	       "netflowd_cost_daemon_cpu_seconds_total 1.000000001\n"
	       "# HELP netflowd_build_info Version of netflowd and its backend\n"
	       "# TYPE netflowd_build_info gauge\n"
	       "netflowd_build_info{version=\"1.2\",backend=\"bpf\"} 1\n"
	       "# HELP netflowd_coverage Whether netflowd can answer a question: 1 in full, 0.5 degraded, 0 not at all\n"
	       "# TYPE netflowd_coverage gauge\n"
	       "netflowd_coverage{question=\"drops\"} 0.5\n");
}

TEST(test_openmetrics)
{
	struct metrics_text text;

	metrics_text_begin(&text, METRICS_OPENMETRICS);
	put_drops(&text);
	expect(&text,
	       "# HELP netflowd_inflight_dropped Journeys that ended with kfree_skb\n"
	       "# TYPE netflowd_inflight_dropped counter\n"
	       "netflowd_inflight_dropped_total 18446744073709551615\n"
	       "# HELP netflowd_cost_daemon_cpu_seconds CPU time of the daemon. The programs in the kernel are not part of it\n"
	       "# TYPE netflowd_cost_daemon_cpu_seconds counter\n"
	       "# UNIT netflowd_cost_daemon_cpu_seconds seconds\n"
	       "netflowd_cost_daemon_cpu_seconds_total 1.000000001\n"
	       "# HELP netflowd_build Version of netflowd and its backend\n"
	       "# TYPE netflowd_build info\n"
	       "netflowd_build_info{version=\"1.2\",backend=\"bpf\"} 1\n"
	       "# HELP netflowd_coverage Whether netflowd can answer a question: 1 in full, 0.5 degraded, 0 not at all\n"
	       "# TYPE netflowd_coverage gauge\n"
	       "netflowd_coverage{question=\"drops\"} 0.5\n"
	       "# EOF\n");
}

/* Names of devices can have any byte but / and blanks; texts in labels must be UTF-8. */
TEST(test_escapes)
{
	struct metrics_text text;
	char *samples;

	metrics_text_begin(&text, METRICS_PROMETHEUS);
	metrics_family(&text, METRICS_NAPI_POLLS);
	metrics_labels(&text, "a\\b\"c\nd", "");
	metrics_count(&text, 1);
	metrics_labels(&text, "\xff\xc3\xa4\xc3", NULL);
	metrics_count(&text, 2);
	metrics_labels(&text, "", "");
	metrics_count(&text, 3);
	assert_int_equal(metrics_text_end(&text), 0);
	text.bytes[text.length - 1] = 0;
	samples = strstr(text.bytes, "counter\n") + strlen("counter\n");
	assert_string_equal(
		samples,
		"netflowd_napi_polls_total{device=\"a\\\\b\\\"c\\nd\"} 1\n"
		"netflowd_napi_polls_total{device=\"\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\"} 2\n"
		"netflowd_napi_polls_total 3");
	metrics_text_free(&text);
}

/* ---- histograms --------------------------------------------------------------- */

static void put(struct nf_hist *hist, uint64_t ns)
{
	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++) {
		struct histogram_bounds bounds = histogram_bounds(i);

		if (ns >= bounds.from && ns < bounds.below) {
			hist->bucket[i]++;
			hist->sum_ns += ns;
			return;
		}
	}
	fail();
}

/*
 * Every classic bucket holds exactly the values at or below its bound, each bound is one at which no value is on the
 * wrong side, and sum and count are exact.
 */
TEST(test_histogram)
{
	static const uint64_t values[] = {0,	255,  256,	   257,		1023,	    1024,
					  1025, 4095, 17179869183, 17179869184, 99000000000};
	const size_t count = sizeof(values) / sizeof(values[0]);
	struct nf_hist hist = {0};
	struct metrics_text text;
	unsigned int buckets = 0;
	uint64_t sum = 0;
	char expected[128];
	char *line, *rest;

	for (size_t i = 0; i < count; i++) {
		put(&hist, values[i]);
		sum += values[i];
	}
	metrics_text_begin(&text, METRICS_PROMETHEUS);
	metrics_family(&text, METRICS_SOFTIRQ_WAIT);
	metrics_histogram(&text, &hist);
	assert_int_equal(metrics_text_end(&text), 0);
	text.bytes[text.length - 1] = 0;
	rest = strstr(text.bytes, "histogram\n") + strlen("histogram\n");
	while ((line = strsep(&rest, "\n"))) {
		unsigned long long found;
		uint64_t below = 0;
		char bound[32];

		if (sscanf(line, "netflowd_softirq_wait_seconds_bucket{le=\"%31[^\"]\"} %llu",
			   bound, &found) != 2)
			break;
		for (size_t i = 0; i < count; i++)
			below += !strcmp(bound, "+Inf") || (double)values[i] / 1e9 <= atof(bound);
		assert_int_equal(found, below);
		buckets++;
	}
	assert_int_equal(buckets, 28);
	snprintf(expected, sizeof(expected), "netflowd_softirq_wait_seconds_sum %llu.%09llu",
		 (unsigned long long)(sum / 1000000000), (unsigned long long)(sum % 1000000000));
	assert_string_equal(line, expected);
	snprintf(expected, sizeof(expected), "netflowd_softirq_wait_seconds_count %zu", count);
	assert_string_equal(rest, expected);
	metrics_text_free(&text);
}

/* ---- the description ------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

TEST(test_families)
{
	static const char *const ends[] = {"_total", "_info",  "_bucket",
					   "_sum",   "_count", "_created"};

	for (int i = 0; i < METRICS_FAMILIES; i++) {
		const struct metrics_family *family = &metrics_families[i];
		char end[16];

		assert_non_null(family->name);
		assert_int_equal(strncmp(family->name, "netflowd_", 9), 0);
		assert_true(strspn(family->name, "abcdefghijklmnopqrstuvwxyz_0123456789") ==
			    strlen(family->name));
		for (size_t j = 0; j < sizeof(ends) / sizeof(ends[0]); j++)
			assert_false(ends_with(family->name, ends[j]));
		snprintf(end, sizeof(end), "_%s", family->unit ? family->unit : "");
		assert_true(!family->unit || ends_with(family->name, end));
		assert_true(family->unit || (!ends_with(family->name, "_seconds") &&
					     !ends_with(family->name, "_bytes")));
		assert_true(strlen(family->help) > 10 && !ends_with(family->help, "."));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(family->name, metrics_families[j].name);
	}
}
