/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments of two recordings, by quantile. */
#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/diff/diff.h"
#include "cli/diff/quantiles.h"
#include "cli/diff/significance.h"
#include "cli/show/segment.h"
#include "common/array.h"
#include "common/json.h"

const struct diff_quantile diff_quantiles[DIFF_QUANTILES] = {
	{"p50", "p50_ns", 0.5},
	{"p90", "p90_ns", 0.9},
	{"p99", "p99_ns", 0.99},
	{"p999", "p999_ns", 0.999},
};

/*
 * The segments that a probe's events are needed for.  With one of two recordings, a segment would be that of other
 * packets, or begin at another stage.  `instead` has the same use on other kernels: the readers of UDP datagrams call
 * skb_attempt_defer_free from Linux 6.18 on, and a task that received one is also known from sock_recv_length.
 */
static const struct need {
	const char *probe, *instead;
	const char *segments; /* with blanks between, before and after them */
} needs[] = {
	{"irq_handler_entry", NULL, " irq_to_softirq rx_total forward_total "},
	{"irq_handler_exit", NULL, " irq_to_softirq rx_total forward_total "},
	{"softirq_raise", NULL, " irq_to_softirq raise_to_softirq rx_total forward_total "},
	{"softirq_entry", NULL,
	 " irq_to_softirq raise_to_softirq softirq_to_receive rx_total forward_total "},
	{"softirq_exit", NULL,
	 " irq_to_softirq raise_to_softirq softirq_to_receive receive_to_copy rx_total forward_total "},
	{"netif_receive_skb", NULL,
	 " irq_to_softirq raise_to_softirq softirq_to_receive gap_wait receive_to_sock_queue receive_to_copy wakeup_to_run run_to_copy rx_total receive_to_queue forward_total "},
	{"udp_enqueue_schedule_skb", NULL, " receive_to_sock_queue "},
	{"sk_data_ready", NULL, " gap_wait receive_to_sock_queue wakeup_to_run run_to_copy "},
	{"sk_data_ready", "skb_attempt_defer_free", " receive_to_copy rx_total "},
	{"sched_waking", NULL, " wakeup_to_run run_to_copy "},
	{"sched_switch", NULL, " wakeup_to_run run_to_copy "},
	{"skb_copy_datagram_iovec", NULL, " run_to_copy receive_to_copy rx_total "},
	{"sock_recv_length", "skb_attempt_defer_free", " run_to_copy receive_to_copy rx_total "},
	{"skb_attempt_defer_free", "sock_recv_length", " run_to_copy receive_to_copy rx_total "},
	{"net_dev_queue", NULL, " receive_to_queue queue_to_start_xmit tx_total forward_total "},
	{"net_dev_start_xmit", NULL, " queue_to_start_xmit start_xmit_to_xmit xmit_to_free "},
	{"net_dev_xmit", NULL, " start_xmit_to_xmit xmit_to_free tx_total forward_total "},
	{"consume_skb", NULL, " xmit_to_free "},
};

struct pair {
	const json_t *sides[2]; /* a Latency object each; NULL: the recording has none */
	json_t *missing;	/* the probes because of which they are not compared */
	struct significance differences[DIFF_QUANTILES];
};

struct pairs {
	struct pair *at;
	size_t count, room;
};

static void pairs_free(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		json_decref(pairs->at[i].missing);
	free(pairs->at);
}
#define OWN_PAIRS CLEANUP(pairs_free)

/* ---- what can be compared -------------------------------------------------------------------- */

static bool serves(const struct need *need, const struct diff_side *side)
{
	return diff_has_probe(side, need->probe) ||
	       (need->instead && diff_has_probe(side, need->instead));
}

bool diff_needs(const char *probe, const char *segment)
{
	char word[64];

	snprintf(word, sizeof(word), " %s ", segment);
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (!strcmp(needs[i].probe, probe) && strstr(needs[i].segments, word))
			return true;
	return false;
}

/* The probes whose events one recording has for this segment, and the other one lacks. */
static json_t *missing_for(const struct diff_side sides[2], const char *segment)
{
	json_t *names = json_array();
	char word[64];

	snprintf(word, sizeof(word), " %s ", segment);
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (strstr(needs[i].segments, word) &&
		    serves(&needs[i], &sides[0]) != serves(&needs[i], &sides[1]))
			json_array_append_new(names, json_string(needs[i].probe));
	return names;
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool is_same(const json_t *one, const json_t *other)
{
	return !strcmp(field_text(one, "segment"), field_text(other, "segment")) &&
	       !strcmp(field_text(one, "direction"), field_text(other, "direction"));
}

static const json_t *any_side(const struct pair *pair)
{
	return pair->sides[0] ? pair->sides[0] : pair->sides[1];
}

static struct pair *find_pair(struct pairs *pairs, const json_t *latency)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (is_same(any_side(&pairs->at[i]), latency))
			return &pairs->at[i];
	if (ARRAY_GROW(pairs->at, pairs->count, pairs->room) < 0)
		return NULL;
	pairs->at[pairs->count] = (struct pair){};
	return &pairs->at[pairs->count++];
}

static size_t count_segments(const struct diff_side *side)
{
	return json_array_size(json_object_get(side->latency, "segments"));
}

static int add_segments(struct pairs *pairs, const struct diff_side *side, size_t which)
{
	const json_t *latency;
	size_t i;

	json_array_foreach(json_object_get(side->latency, "segments"), i, latency)
	{
		struct pair *pair = find_pair(pairs, latency);

		if (!pair)
			return -ENOMEM;
		pair->sides[which] = latency;
	}
	return 0;
}

static int compare_pair(struct pair *pair)
{
	OWN_BUCKETS struct buckets a = {}, b = {};
	int r = segment_buckets(pair->sides[0], &a);

	if (!r)
		r = segment_buckets(pair->sides[1], &b);
	if (r || json_array_size(pair->missing) || !a.total || !b.total)
		return r;
	for (size_t i = 0; i < DIFF_QUANTILES; i++)
		pair->differences[i] = significance_quantiles(&a, &b, diff_quantiles[i].quantile);
	return 0;
}

static int compare(struct pairs *pairs, const struct diff_side sides[2])
{
	OWN_FREE struct significance **results =
		calloc(pairs->count * DIFF_QUANTILES + 1, sizeof(*results));
	size_t count = 0;

	if (!results)
		return -ENOMEM;
	for (size_t i = 0; i < pairs->count; i++) {
		struct pair *pair = &pairs->at[i];
		int r;

		pair->missing = missing_for(sides, field_text(any_side(pair), "segment"));
		r = compare_pair(pair);
		if (r)
			return r;
		for (size_t q = 0; q < DIFF_QUANTILES; q++)
			results[count++] = &pair->differences[q];
	}
	return significance_correct(results, count);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Its count and its quantiles, as the daemon computed them.  NULL: the recording does not have the segment. */
static json_t *numbers(const json_t *latency)
{
	json_t *made;

	if (!latency)
		return NULL;
	made = json_pack("{s:I}", "count", json_count(field_count_or(latency, "count", 0)));
	for (size_t i = 0; i < DIFF_QUANTILES; i++) {
		const char *member = diff_quantiles[i].member;

		json_object_set(made, member, json_object_get(latency, member));
	}
	return made;
}

static json_t *result_of(const struct significance *result)
{
	int mark = significance_mark(result);
	const char *text = mark > 0 ? "slower" : mark < 0 ? "faster" : NULL;

	if (!result->tested)
		return json_pack("{s:b}", "tested", false);
	return json_pack("{s:b, s:s*, s:f, s:f}", "tested", true, "mark", text, "p", result->p,
			 "p_corrected", result->corrected);
}

static json_t *segment_of(const struct pair *pair)
{
	bool compared = pair->sides[0] && pair->sides[1] && !json_array_size(pair->missing);
	json_t *results = compared ? json_object() : NULL;

	for (size_t i = 0; compared && i < DIFF_QUANTILES; i++)
		json_object_set_new(results, diff_quantiles[i].name,
				    result_of(&pair->differences[i]));
	return json_pack("{s:s, s:s, s:b, s:O, s:o*, s:o*, s:o*}", "direction",
			 field_text(any_side(pair), "direction"), "segment",
			 field_text(any_side(pair), "segment"), "compared", compared, "missing",
			 pair->missing, "a", numbers(pair->sides[0]), "b", numbers(pair->sides[1]),
			 "quantiles", results);
}

json_t *diff_latency(const struct diff_side sides[2])
{
	OWN_PAIRS struct pairs pairs = {};
	json_t *segments = json_array();
	size_t tests = 0, first = count_segments(&sides[1]) > count_segments(&sides[0]);

	/* The order is that of the recording which has more of them. */
	if (!segments || add_segments(&pairs, &sides[first], first) ||
	    add_segments(&pairs, &sides[!first], !first) || compare(&pairs, sides)) {
		json_decref(segments);
		return NULL;
	}
	for (size_t i = 0; i < pairs.count; i++) {
		json_array_append_new(segments, segment_of(&pairs.at[i]));
		for (size_t q = 0; q < DIFF_QUANTILES; q++)
			tests += pairs.at[i].differences[q].tested;
	}
	return json_pack("{s:I, s:o}", "tests", json_count(tests), "segments", segments);
}
