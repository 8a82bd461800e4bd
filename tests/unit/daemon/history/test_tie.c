/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulated packets whose truth is known, followed as the programs follow them (bpf/follow.h): the margins of what is
 * tied hold and are smaller, and the shape is right although the part that was followed changes.  The seed is fixed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/core/histogram.h"
#include "daemon/history/series.h"
#include "daemon/history/tie.h"
#include "daemon/history/vector.h"
#include "tests/unit/test.h"

#define INTERVAL_NS UINT64_C(10000000000)
#define SKEW_NS UINT64_C(4000000)
#define SHORT_NS 10000
#define LONG_NS 1000000

static int seed(void **state)
{
	(void)state;
	srandom(4217);
	return 0;
}

ALL_TESTS(seed, NULL);

static double uniform(void)
{
	return (double)random() / ((double)RAND_MAX + 1);
}

static uint64_t below(uint64_t limit)
{
	return (uint64_t)(uniform() * (double)limit);
}

/* ---- an interval of one device ------------------------------------------------------- */

struct stream {
	struct tie tie;
	uint64_t value[LATENCY_VALUES]; /* of a segment that some packets pass */
	uint64_t truth;			/* packets that passed it */
};

static void follow(struct stream *s, bool passes, uint64_t ns, uint64_t weight, uint64_t number)
{
	uint64_t rank = number > 1 ? nf_log2((__u32)number - 1) + 1 : 0;
	uint64_t variance = ((UINT64_C(2) << rank) - 1) * weight * (weight - 1);

	s->tie.interval.weights += weight;
	s->tie.interval.variance += variance;
	if (!passes)
		return;
	s->value[LATENCY_BUCKET + nf_hist_bucket(ns)] += weight;
	s->value[LATENCY_SUM_NS] += weight * ns;
	s->value[LATENCY_UNFOLLOWED] += weight - 1;
	s->value[LATENCY_VARIANCE] += variance;
	if (ns > s->value[LATENCY_MAX_NS])
		s->value[LATENCY_MAX_NS] = ns;
}

static void come(struct stream *s, bool passes)
{
	s->tie.interval.counted++;
	s->truth += passes;
}

/* Runs of the softirq, of each of which some packets pass; one in 2^shift is followed. */
static void runs(struct stream *s, uint64_t count, uint32_t shift, double passing, uint64_t ns)
{
	uint64_t chosen = 0;

	for (uint64_t run = 0; run < count; run++) {
		uint64_t at = run & ((UINT64_C(1) << shift) - 1), size = 1 + below(16);

		if (!at)
			chosen = below(UINT64_C(1) << shift);
		for (uint64_t i = 1; i <= size; i++) {
			bool passes = uniform() < passing;

			come(s, passes);
			if (at == chosen)
				follow(s, passes, ns, UINT64_C(1) << shift, i);
		}
	}
}

/* Windows, one in 2^shift of which is open.  All packets of one pass, or none: the worst case. */
static void windows(struct stream *s, uint64_t count, uint32_t shift, double passing, uint64_t ns)
{
	for (uint64_t window = 0; window < count; window++) {
		bool open = uniform() < 1.0 / (double)(1U << shift), passes = uniform() < passing;
		uint64_t size = 20 + below(20);

		for (uint64_t i = 1; i <= size; i++) {
			come(s, passes);
			if (open)
				follow(s, passes, ns, UINT64_C(1) << shift, i);
		}
	}
}

/* No journey begins. */
static void blind(struct stream *s, uint64_t count, double passing)
{
	for (uint64_t i = 0; i < count; i++)
		come(s, uniform() < passing);
	s->tie.interval.unseen += count;
}

static void begin(struct stream *s)
{
	*s = (struct stream){.tie = {.ns = INTERVAL_NS, .skew_ns = SKEW_NS}};
}

static uint64_t count_of(const uint64_t *value)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < NF_HIST_BUCKETS; i++)
		count += value[LATENCY_BUCKET + i];
	return count;
}

static bool is_tied(struct stream *s)
{
	s->tie.all = s->tie.interval;
	if (!tie_holds(&s->tie))
		return false;
	tie_latency(&s->tie, s->value);
	return true;
}

/* As a reply has it; `unseen` is what the row does not say. */
static double margin_of(const struct stream *s, uint64_t unseen)
{
	double drawn = (double)histogram_margin(s->value[LATENCY_VARIANCE]);

	return hypot(drawn, (double)(s->value[LATENCY_UNSEEN] + unseen));
}

/* ---- margins ------------------------------------------------------------------------- */

#define BURSTS 400

struct judged {
	unsigned int outside, tied;
	double before, after; /* sums of the margins */
};

static void judge(struct judged *judged, struct stream *s)
{
	uint64_t unseen = s->tie.interval.unseen, count;
	double off, margin;

	judged->before += margin_of(s, unseen);
	/* What is not tied has the margin that it had. */
	if (is_tied(s)) {
		judged->tied++;
		unseen = 0;
	}
	count = count_of(s->value);
	margin = margin_of(s, unseen);
	off = fabs((double)count - (double)s->truth);
	judged->after += margin;
	judged->outside += off > margin;
}

static void check(const struct judged *judged, const char *what, double gain)
{
	print_message("%s: %u of %u outside, %u tied, margin %.0f -> %.0f\n", what, judged->outside,
		      BURSTS, judged->tied, judged->before / BURSTS, judged->after / BURSTS);
	assert_true(judged->outside <= BURSTS / 20);
	assert_true(judged->tied >= BURSTS * 9 / 10);
	assert_true(judged->after * gain <= judged->before);
}

TEST(test_margins_of_runs)
{
	static const double passing[] = {1, 0.99, 0.5, 0.1, 0.01}, gain[] = {4, 3, 1.4, 0, 0};

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		struct judged judged = {0};

		for (int burst = 0; burst < BURSTS; burst++) {
			struct stream s;

			begin(&s);
			/* The share that is followed changes in the burst. */
			runs(&s, 20, 0, passing[i], SHORT_NS);
			runs(&s, 1000, 3, passing[i], SHORT_NS);
			runs(&s, 2000, 5, passing[i], SHORT_NS);
			judge(&judged, &s);
		}
		check(&judged, "runs", gain[i]);
	}
}

/* What does not pass, does so at the begin: the load was too much for it. */
TEST(test_margins_of_parts)
{
	struct judged judged = {0};

	for (int burst = 0; burst < BURSTS; burst++) {
		struct stream s;

		begin(&s);
		blind(&s, below(1000), 0);
		runs(&s, 300, 3, uniform(), SHORT_NS);
		runs(&s, 2000, 4, 1, SHORT_NS);
		judge(&judged, &s);
	}
	check(&judged, "bursts in part", 1.2);
}

TEST(test_margins_of_windows)
{
	struct judged judged = {0};

	for (int burst = 0; burst < BURSTS; burst++) {
		struct stream s;

		begin(&s);
		windows(&s, 50 + below(1000), 1 + (uint32_t)below(5), 0.5 + uniform() / 2,
			SHORT_NS);
		judge(&judged, &s);
	}
	check(&judged, "windows", 1.5);
}

/* ---- what cannot be tied --------------------------------------------------------------- */

TEST(test_what_is_left)
{
	struct stream s, drawn;

	/* All were followed: the count is exact. */
	begin(&s);
	runs(&s, 1000, 0, 0.5, SHORT_NS);
	assert_false(is_tied(&s));

	/* Nearly all were: the weights say more than two readings that are apart. */
	begin(&s);
	runs(&s, 100000, 0, 0.5, SHORT_NS);
	runs(&s, 100, 1, 0.5, SHORT_NS);
	assert_true(s.tie.interval.variance > 0);
	assert_false(is_tied(&s));

	/* The kernel counts others, in this interval or ever. */
	begin(&s);
	runs(&s, 20000, 4, 1, SHORT_NS);
	s.tie.interval.counted = s.tie.interval.counted * 13 / 10;
	assert_false(is_tied(&s));
	begin(&s);
	runs(&s, 20000, 4, 1, SHORT_NS);
	s.tie.all = s.tie.interval;
	assert_true(tie_holds(&s.tie));
	s.tie.all.counted = s.tie.all.counted * 13 / 10;
	assert_false(tie_holds(&s.tie));

	/* The readings are too far apart. */
	s.tie.all = s.tie.interval;
	s.tie.skew_ns = INTERVAL_NS / 10;
	assert_false(tie_holds(&s.tie));

	/* Packets wait for a second, so many of a row came in the interval before. */
	begin(&s);
	runs(&s, 2000, 4, 1, INTERVAL_NS / 10);
	memcpy(&drawn, &s, sizeof(s));
	assert_true(is_tied(&s));
	assert_memory_equal(s.value, drawn.value, sizeof(s.value));

	/* More passed than came. */
	begin(&s);
	runs(&s, 2000, 4, 1, SHORT_NS);
	s.value[LATENCY_BUCKET] += s.truth;
	memcpy(&drawn, &s, sizeof(s));
	assert_true(is_tied(&s));
	assert_memory_equal(s.value, drawn.value, sizeof(s.value));

	/* Nothing came, or nothing was followed. */
	begin(&s);
	assert_false(is_tied(&s));
	blind(&s, 100, 1);
	assert_false(is_tied(&s));
}

/* ---- the shape --------------------------------------------------------------------------- */

static uint64_t median(const uint64_t *value)
{
	struct nf_hist hist = {.max_ns = value[LATENCY_MAX_NS]};
	uint64_t ns;

	memcpy(hist.bucket, value + LATENCY_BUCKET, sizeof(hist.bucket));
	assert_int_equal(histogram_quantile(&hist, 0.5, &ns), 0);
	return ns;
}

static bool is_near(uint64_t ns, uint64_t truth)
{
	return ns >= truth - truth / 8 && ns <= truth + truth / 8;
}

/* Two intervals, or two devices: of one with many slow packets little was seen, of the other one all. */
TEST(test_shape)
{
	uint64_t before[LATENCY_VALUES] = {0}, after[LATENCY_VALUES] = {0};
	struct stream busy, calm;

	begin(&busy);
	blind(&busy, 90000, 1);
	runs(&busy, 1000, 2, 1, LONG_NS);
	begin(&calm);
	runs(&calm, 3000, 1, 1, SHORT_NS);
	vector_merge(before, busy.value, LATENCY_VALUES);
	vector_merge(before, calm.value, LATENCY_VALUES);
	assert_true(is_near(median(before), SHORT_NS));
	assert_true(is_tied(&busy) && is_tied(&calm));
	vector_merge(after, busy.value, LATENCY_VALUES);
	vector_merge(after, calm.value, LATENCY_VALUES);
	assert_true(is_near(median(after), LONG_NS));
	/* To the unit: all passed. */
	assert_int_equal(count_of(after), busy.truth + calm.truth);
	assert_int_equal(busy.value[LATENCY_UNSEEN], 90000);
}

/* Quantiles are as uncertain as before: a tie makes no journeys. */
TEST(test_effective)
{
	struct nf_hist drawn = {0}, tied = {0};
	struct stream s;

	begin(&s);
	runs(&s, 20000, 5, 0.9, SHORT_NS);
	memcpy(drawn.bucket, s.value + LATENCY_BUCKET, sizeof(drawn.bucket));
	drawn.variance = s.value[LATENCY_VARIANCE];
	drawn.journeys = tied.journeys = UINT64_MAX;
	assert_true(is_tied(&s));
	memcpy(tied.bucket, s.value + LATENCY_BUCKET, sizeof(tied.bucket));
	tied.variance = s.value[LATENCY_VARIANCE] + s.value[LATENCY_SPREAD];
	assert_true(fabs(histogram_effective(&tied) / histogram_effective(&drawn) - 1) < 0.01);
}
