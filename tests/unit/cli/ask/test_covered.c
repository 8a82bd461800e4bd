/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentences about the time that an answer covers. */

#include "cli/ask/covered.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "tests/unit/test.h"

/* Of ten minutes from 03:00 on. */
static json_t *period(int64_t covered_s, const char *begins, const char *to, int gaps)
{
	json_t *list = json_array();

	for (int i = 0; i < gaps && i < 64; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "from",
						      "2026-11-28T03:00:00+01:00", "to", begins));
	return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:I, s:o, s:i}", "since",
			 "2026-11-28T03:00:00+01:00", "until", "2026-11-28T03:10:00+01:00",
			 "asked_ns", (json_int_t)600000000000, "asked_covered_ns",
			 (json_int_t)covered_s * 1000000000, "begins", begins, "from", begins, "to",
			 to, "resolution_ns", (json_int_t)10000000000, "gaps", list, "gap_count",
			 gaps);
}

TEST(test_sentences)
{
	OWN_JSON json_t *whole =
		period(600, "2026-11-20T00:00:00+01:00", "2026-11-28T03:10:00+01:00", 0);
	OWN_JSON json_t *late =
		period(250, "2026-11-28T03:05:50+01:00", "2026-11-28T03:10:00+01:00", 1);
	OWN_JSON json_t *gaps =
		period(250, "2026-11-20T00:00:00+01:00", "2026-11-28T03:10:00+01:00", 70);
	OWN_JSON json_t *early =
		period(250, "2026-11-20T00:00:00+01:00", "2026-11-28T03:04:10+01:00", 0);
	size_t at = 0, found = 0;

	assert_true(covered_whole(NULL) && covered_whole(whole));
	assert_string_equal(covered_sentence(whole).s,
			    "covers all of 10 min 00 s, in buckets of up to 10.0 s");
	assert_false(covered_whole(late));
	assert_string_equal(
		covered_sentence(late).s,
		"covers 4 min 10 s of 10 min 00 s, in buckets of up to 10.0 s; it begins at 2026-11-28 03:05:50 +01:00");
	/* The sentence says it. */
	assert_null(covered_next_gap(late, 5, &at));
	assert_int_equal(covered_gaps_left(late, 5), 0);
	assert_string_equal(covered_sentence(gaps).s,
			    "covers 4 min 10 s of 10 min 00 s, in buckets of up to 10.0 s");
	for (at = 0; covered_next_gap(gaps, 5, &at);)
		found++;
	assert_int_equal(found, 5);
	assert_int_equal(covered_gaps_left(gaps, 5), 65);
	assert_false(covered_whole(early));
	assert_string_equal(
		covered_sentence(early).s,
		"covers 4 min 10 s of 10 min 00 s, in buckets of up to 10.0 s; the time after 2026-11-28 03:04:10 +01:00 is still to come");
	json_object_set_new(whole, "damaged", json_true());
	assert_false(covered_whole(whole));
	assert_string_equal(
		covered_sentence(whole).s,
		"covers all of 10 min 00 s, in buckets of up to 10.0 s; parts of its file are damaged and left out");
	assert_string_equal(covered_failing(early).s, "");
	json_object_set_new(early, "failing", json_string("the disk is full"));
	assert_string_equal(
		covered_failing(early).s,
		"The history cannot be written now: the disk is full; what happens until it can is missing");
}

TEST(test_reasons)
{
	OWN_JSON json_t *gap = json_pack("{s:s, s:s}", "from", "2026-11-28T03:00:00+01:00", "to",
					 "2026-11-28T03:01:00+01:00");
	OWN_JSON json_t *period =
		json_pack("{s:[{s:s, s:I}, {s:s, s:I}]}", "clock_steps", "at",
			  "2026-11-28T03:00:13+01:00", "by_ns", (json_int_t)-691200000000000, "at",
			  "2026-11-28T03:00:00+01:00", "by_ns", (json_int_t)691200000000000);

	assert_string_equal(covered_gap_text(gap).s,
			    "from 2026-11-28 03:00:00 +01:00 to 2026-11-28 03:01:00 +01:00");
	json_object_set_new(gap, "reason", json_string("paused"));
	assert_string_equal(
		covered_gap_text(gap).s,
		"from 2026-11-28 03:00:00 +01:00 to 2026-11-28 03:01:00 +01:00: netflowd was paused");
	assert_string_equal(covered_step(period, 0).s,
			    "the clock was set back by 8 d 00 h at 2026-11-28 03:00:13 +01:00");
	assert_string_equal(covered_step(period, 1).s,
			    "the clock was set forward by 8 d 00 h at 2026-11-28 03:00:00 +01:00");
	assert_string_equal(covered_step(period, 2).s, "");
}

static void check_nothing(const char *before, const char *after, const char *failing,
			  const char *expected)
{
	OWN_JSON json_t *parameters =
		json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "reason", "the history is empty",
			  "since", "2026-11-28T03:00:00Z", "until", "2026-11-28T03:10:00Z",
			  "before", before, "after", after, "failing", failing);

	assert_string_equal(covered_nothing(parameters).s, expected);
}

TEST(test_nothing)
{
	check_nothing(
		NULL, "2026-11-28T02:30:00Z", NULL,
		"no history from 2026-11-28 03:00:00 Z to 2026-11-28 03:10:00 Z: it begins at 2026-11-28 02:30:00 Z");
	check_nothing(
		"2026-11-28T02:58:00Z", "2026-11-28T03:20:00Z", NULL,
		"no history from 2026-11-28 03:00:00 Z to 2026-11-28 03:10:00 Z: netflowd recorded nothing from 2026-11-28 02:58:00 Z to 2026-11-28 03:20:00 Z");
	check_nothing(
		"2026-11-28T02:58:00Z", NULL, "the disk is full",
		"no history from 2026-11-28 03:00:00 Z to 2026-11-28 03:10:00 Z: netflowd recorded nothing after 2026-11-28 02:58:00 Z; it cannot be written now: the disk is full");
	check_nothing(
		NULL, NULL, NULL,
		"no history from 2026-11-28 03:00:00 Z to 2026-11-28 03:10:00 Z: the history is empty");
}
