/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What netflowctl diff makes of invented replies: how rows are joined, marked and ordered, and what is not compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/diff/diff.h"
#include "cli/diff/page.h"
#include "cli/diff/quantiles.h"
#include "common/array.h"
#include "common/json.h"
#include "daemon/probe/probes.h"
#include "tests/unit/test.h"

static const char status[] =
	"{\"recording\":{\"duration_ns\":2000000000,\"dated\":false},"
	"\"trace\":{\"events\":7,\"lost\":0,\"losses\":0,\"unreadable\":0,\"disorder\":0},"
	"\"coverage\":[{\"question\":\"drop_reasons\",\"state\":\"full\"},"
	"{\"question\":\"wake\",\"state\":\"full\"}]}";
static const char status_worse[] =
	"{\"recording\":{\"duration_ns\":1000000000,\"dated\":false},"
	"\"trace\":{\"events\":7,\"lost\":40,\"losses\":2,\"unreadable\":3,\"disorder\":0},"
	"\"coverage\":[{\"question\":\"drop_reasons\",\"state\":\"unavailable\",\"reason\":\"old\"},"
	"{\"question\":\"wake\",\"state\":\"unavailable\",\"reason\":\"sk_data_ready: none\"}]}";
static const char probes[] =
	"{\"probes\":[{\"name\":\"kfree_skb\",\"group\":\"drop\",\"state\":\"attached\"},"
	"{\"name\":\"sk_data_ready\",\"group\":\"rx\",\"state\":\"attached\"},"
	"{\"name\":\"sock_recv_length\",\"group\":\"rx\",\"state\":\"attached\"},"
	"{\"name\":\"xennet_start_xmit\",\"group\":\"slots\",\"state\":\"unavailable\"}]}";
static const char probes_fewer[] =
	"{\"probes\":[{\"name\":\"kfree_skb\",\"group\":\"drop\",\"state\":\"attached\"},"
	"{\"name\":\"sk_data_ready\",\"group\":\"rx\",\"state\":\"unavailable\","
	"\"reason\":\"none\",\"lost_without\":\"much\"},"
	"{\"name\":\"skb_attempt_defer_free\",\"group\":\"rx\",\"state\":\"attached\"}]}";
static const char drops_none[] = "{\"rows\":[]}";
static const char drops_a[] =
	"{\"rows\":["
	"{\"reason\":\"NO_SOCKET\",\"class\":\"benign\",\"location\":\"__udp4_lib_rcv+0x4bc\",\"function\":\"udp_rcv\","
	"\"device\":\"lo\",\"protocol\":\"ipv4\",\"packets\":500},"
	"{\"reason\":\"OLD\",\"class\":\"fault\",\"location\":\"f+0x1\",\"packets\":30},"
	"{\"reason\":\"FEW\",\"class\":\"fault\",\"location\":\"f+0x1\",\"packets\":2},"
	"{\"reason\":\"LESS\",\"class\":\"fault\",\"location\":\"f+0x2\",\"packets\":4000},"
	"{\"reason\":\"SAME\",\"inferred\":true,\"class\":\"fault\",\"location\":\"g+0x7\",\"packets\":600},"
	"{\"reason\":\"SAME\",\"class\":\"fault\",\"location\":\"g+0x17\",\"packets\":400}]}";
static const char drops_b[] =
	"{\"rows\":["
	"{\"reason\":\"NO_SOCKET\",\"class\":\"benign\",\"location\":\"udp_rcv+0x12\",\"function\":\"udp_rcv\","
	"\"device\":\"lo\",\"protocol\":\"ipv4\",\"packets\":4217},"
	"{\"reason\":\"NEW\",\"class\":\"fault\",\"location\":\"0xffffffff81000000\",\"packets\":100},"
	"{\"reason\":\"LESS\",\"class\":\"fault\",\"location\":\"f+0x3\",\"packets\":1000},"
	"{\"reason\":\"SAME\",\"class\":\"fault\",\"location\":\"g\",\"packets\":1001}]}";
static const char latency_none[] = "{\"segments\":[]}";
static const char latency_a[] =
	"{\"segments\":[{\"direction\":\"rx\",\"segment\":\"receive_to_copy\",\"count\":200,"
	"\"p50_ns\":1151,\"p90_ns\":1151,\"p99_ns\":1151,\"p999_ns\":1151,"
	"\"buckets\":[{\"from_ns\":1024,\"below_ns\":1280,\"count\":200}]},"
	"{\"direction\":\"rx\",\"segment\":\"wakeup_to_run\",\"count\":200,"
	"\"p50_ns\":1151,\"p90_ns\":1151,\"p99_ns\":1151,\"p999_ns\":1151,"
	"\"buckets\":[{\"from_ns\":1024,\"below_ns\":1280,\"count\":200}]}]}";
static const char latency_b[] =
	"{\"segments\":[{\"direction\":\"tx\",\"segment\":\"tx_total\",\"count\":1,"
	"\"p50_ns\":1,\"p90_ns\":1,\"p99_ns\":1,\"p999_ns\":1,"
	"\"buckets\":[{\"from_ns\":1,\"below_ns\":2,\"count\":1}]},"
	"{\"direction\":\"rx\",\"segment\":\"wakeup_to_run\",\"count\":200,"
	"\"p50_ns\":1151,\"p90_ns\":1151,\"p99_ns\":1151,\"p999_ns\":1151,"
	"\"buckets\":[{\"from_ns\":1024,\"below_ns\":1280,\"count\":200}]},"
	"{\"direction\":\"rx\",\"segment\":\"receive_to_copy\",\"count\":200,"
	"\"p50_ns\":1151,\"p90_ns\":30000000,\"p99_ns\":30000000,\"p999_ns\":30000000,"
	"\"buckets\":[{\"from_ns\":1024,\"below_ns\":1280,\"count\":110},"
	"{\"from_ns\":29360128,\"below_ns\":33554432,\"count\":90}]}]}";

/* ---- helps ---- */

struct texts {
	const char *status, *probes, *drops, *latency;
};

static json_t *load(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static json_t *diff_of(const struct texts *a, const struct texts *b)
{
	const struct texts *const texts[] = {a, b};
	json_t *replies[8];
	struct diff_side sides[2];
	json_t *diff;

	for (size_t i = 0; i < 2; i++) {
		json_t **own = &replies[4 * i];

		own[0] = load(texts[i]->status ?: status);
		own[1] = load(texts[i]->probes ?: probes);
		own[2] = load(texts[i]->drops ?: drops_none);
		own[3] = load(texts[i]->latency ?: latency_none);
		sides[i] =
			(struct diff_side){i ? "b.dat" : "a.dat", own[0], own[1], own[2], own[3]};
	}
	diff = diff_make(sides);
	assert_non_null(diff);
	for (size_t i = 0; i < ARRAY_SIZE(replies); i++)
		json_decref(replies[i]);
	return diff;
}

static const json_t *drop_at(const json_t *diff, size_t i)
{
	return json_array_get(json_object_get(json_object_get(diff, "drops"), "rows"), i);
}

static const json_t *segment_named(const json_t *diff, const char *name)
{
	const json_t *list = json_object_get(json_object_get(diff, "latency"), "segments"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (!strcmp(field_text(one, "segment"), name))
			return one;
	}
	fail_msg("no %s", name);
	return NULL;
}

static void expect_drop(const json_t *diff, size_t i, const char *reason, const char *mark,
			uint64_t a, uint64_t b)
{
	const json_t *row = drop_at(diff, i);

	assert_string_equal(field_text(row, "reason"), reason);
	assert_string_equal(field_text(row, "mark"), mark);
	assert_int_equal(field_count_or(json_object_get(row, "a"), "packets", UINT64_MAX), a);
	assert_int_equal(field_count_or(json_object_get(row, "b"), "packets", UINT64_MAX), b);
}

static const char *mark_of(const json_t *diff, const char *segment, const char *quantile)
{
	const json_t *results = json_object_get(segment_named(diff, segment), "quantiles");

	return field_text(json_object_get(results, quantile), "mark");
}

/* The page for people. */
static char *page_of(const json_t *diff)
{
	OWN_PAGE struct page *page = NULL;
	const struct term term = {.utf8 = true};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_int_equal(page_new(&page, &term), 0);
	assert_int_equal(diff_put(page, diff, SIZE_MAX), 0);
	assert_int_equal(page_write(page, file), 0);
	fclose(file);
	return text;
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in %s", part, text);
}

/* ---- drops ---- */

TEST(test_drops)
{
	const struct texts a = {.drops = drops_a}, b = {.drops = drops_b};
	OWN_JSON json_t *diff = diff_of(&a, &b);
	OWN_FREE char *page = page_of(diff);
	double per_second;

	expect_drop(diff, 0, "NO_SOCKET", "more", 500, 4217);
	expect_drop(diff, 1, "LESS", "fewer", 4000, 1000);
	expect_drop(diff, 2, "NEW", "new", 0, 100);
	expect_drop(diff, 3, "OLD", "gone", 30, 0);
	/* Without a significant difference: of two offsets and whoever named the reason; and too few packets. */
	expect_drop(diff, 4, "FEW", "-", 2, 0);
	expect_drop(diff, 5, "SAME", "-", 1000, 1001);
	assert_null(drop_at(diff, 6));
	assert_null(json_object_get(drop_at(diff, 4), "p"));
	assert_string_equal(field_text(drop_at(diff, 0), "function"), "udp_rcv");
	assert_string_equal(field_text(drop_at(diff, 1), "function"), "f");
	assert_null(json_object_get(drop_at(diff, 2), "function"));
	assert_true(field_real(json_object_get(drop_at(diff, 0), "b"), "per_second", &per_second));
	assert_true(per_second == 4217 / 2.0);
	expect_in(page, "more     500  4,217     250/s  2.11 k/s  NO_SOCKET  benign  udp_rcv");
}

/* The same packets in half the time are twice the rate. */
TEST(test_exposure)
{
	const struct texts a = {.drops = drops_b}, b = {.drops = drops_b, .status = status_worse};
	OWN_JSON json_t *same = diff_of(&a, &a), *diff = diff_of(&a, &b);

	for (size_t i = 0; i < 4; i++) {
		assert_null(json_object_get(drop_at(same, i), "mark"));
		assert_string_equal(field_text(drop_at(diff, i), "mark"), "more");
		/* The kernel of B has no reasons. */
		assert_null(json_object_get(drop_at(diff, i), "reason"));
	}
}

TEST(test_drops_that_cannot_be_compared)
{
	const struct texts a = {.drops = drops_a}, b = {.probes = "{\"probes\":[]}"},
			   c = {.status = "{\"recording\":{\"duration_ns\":0}}"};
	OWN_JSON json_t *blind = diff_of(&a, &b), *brief = diff_of(&c, &a);
	OWN_FREE char *page = page_of(blind);

	assert_false(field_true(json_object_get(blind, "drops"), "compared"));
	assert_false(field_true(json_object_get(brief, "drops"), "compared"));
	assert_null(drop_at(blind, 0));
	expect_in(page, "Drops are not compared: B has no events of kfree_skb.");
}

/* ---- latency ---- */

TEST(test_latency)
{
	const struct texts a = {.latency = latency_a}, b = {.latency = latency_b};
	OWN_JSON json_t *diff = diff_of(&a, &b), *reverse = diff_of(&b, &a);
	OWN_FREE char *page = page_of(diff);

	assert_string_equal(mark_of(diff, "receive_to_copy", "p50"), "-");
	assert_string_equal(mark_of(diff, "receive_to_copy", "p90"), "slower");
	/* 200 packets are too few for a p99. */
	assert_string_equal(mark_of(diff, "receive_to_copy", "p99"), "-");
	assert_string_equal(mark_of(reverse, "receive_to_copy", "p90"), "faster");
	for (size_t i = 0; i < DIFF_QUANTILES; i++)
		assert_string_equal(mark_of(diff, "wakeup_to_run", diff_quantiles[i].name), "-");
	assert_false(field_true(segment_named(diff, "tx_total"), "compared"));
	assert_null(json_object_get(segment_named(diff, "tx_total"), "a"));
	expect_in(page, "slower 30.0 ms");
	expect_in(page, "not in A\n");
}

TEST(test_same_recording)
{
	const struct texts a = {.drops = drops_a, .latency = latency_b};
	OWN_JSON json_t *diff = diff_of(&a, &a);
	OWN_FREE char *text = json_dumps(diff, 0);

	assert_null(strstr(text, "\"mark\""));
	assert_non_null(strstr(text, "\"p\": 1.0"));
}

/* ---- what a recording lacks ---- */

TEST(test_missing_probe)
{
	const struct texts a = {.latency = latency_a},
			   b = {.latency = latency_b, .probes = probes_fewer};
	OWN_JSON json_t *diff = diff_of(&a, &b);
	OWN_FREE char *page = page_of(diff);
	const json_t *run = segment_named(diff, "wakeup_to_run");

	assert_false(field_true(run, "compared"));
	assert_null(json_object_get(run, "quantiles"));
	assert_non_null(json_object_get(run, "a"));
	/* sock_recv_length and skb_attempt_defer_free have the same use on different kernels. */
	assert_true(field_true(segment_named(diff, "receive_to_copy"), "compared"));
	expect_in(page, "not in B: sk_data_ready: none (lost without it: much)\n");
	expect_in(page, "not compared: sk_data_ready\n");
	assert_null(strstr(page, "xennet_start_xmit"));
}

TEST(test_losses_and_coverage)
{
	const struct texts a = {}, b = {.status = status_worse, .probes = probes_fewer};
	OWN_JSON json_t *diff = diff_of(&a, &b);
	OWN_FREE char *page = page_of(diff);

	assert_int_equal(field_count_or(json_object_get(diff, "b"), "lost", 0), 40);
	expect_in(page, "B lost at least 40 events in 2 gaps");
	expect_in(page, "B has 3 events that cannot be read");
	expect_in(page, "drop_reasons: full in A; unavailable in B: old\n");
	expect_in(page, "wake: full in A; unavailable in B\n");
	assert_null(strstr(page, "A lost"));
	assert_null(strstr(page, "A has"));
}

/* A segment that a probe's own text names needs that probe. */
TEST(test_every_probe_has_its_segments)
{
	static const char *const segments[] = {
		"irq_to_softirq",      "raise_to_softirq",
		"softirq_to_receive",  "receive_to_sock_queue",
		"wakeup_to_run",       "run_to_copy",
		"receive_to_copy",     "rx_total",
		"receive_to_queue",    "forward_total",
		"queue_to_start_xmit", "start_xmit_to_xmit",
		"xmit_to_free",	       "tx_total",
	};

	for (size_t i = 0; i < NF_PROBE_COUNT; i++) {
		const struct probe_spec *spec = &probe_specs[i];
		size_t needed = 0;

		for (size_t s = 0; s < ARRAY_SIZE(segments); s++) {
			bool needs = diff_needs(spec->name, segments[s]);

			needed += needs;
			/* consume_skb: UDP's receive_to_copy of old kernels; all transmit latency but one. */
			if (!needs && strstr(spec->lost_without, segments[s]) &&
			    strcmp(spec->name, "consume_skb") != 0 &&
			    !strstr(spec->lost_without, "all transmit latency but"))
				fail_msg("%s: %s", spec->name, segments[s]);
		}
		if (strcmp(spec->group, "slots") != 0 && strcmp(spec->group, "drop") != 0 &&
		    strcmp(spec->name, "napi_poll") != 0 && !needed)
			fail_msg("%s is needed for no segment", spec->name);
	}
}
