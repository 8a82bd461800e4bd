/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/coverage.h"
#include "tests/unit/test.h"

static void add(struct coverage *coverage, enum coverage_question question,
		enum coverage_state state, const char *reason)
{
	assert_int_equal(coverage_add(coverage, question, state, reason ? strdup(reason) : NULL),
			 0);
}

TEST(test_gaps_come_once)
{
	OWN_COVERAGE struct coverage now = {0}, period = {0};

	add(&now, COVERAGE_DROPS, COVERAGE_FULL, NULL);
	add(&now, COVERAGE_WAKE, COVERAGE_DEGRADED, "no sched_waking");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(coverage_add_gaps(&period, &now), 0);
		assert_int_equal(period.count, 1);
	}
	/* Another state, another reason, another question. */
	add(&now, COVERAGE_WAKE, COVERAGE_UNAVAILABLE, "no sched_waking");
	add(&now, COVERAGE_WAKE, COVERAGE_DEGRADED, "no sched_switch");
	add(&now, COVERAGE_NAPI, COVERAGE_DEGRADED, "no sched_waking");
	assert_int_equal(coverage_add_gaps(&period, &now), 0);
	assert_int_equal(period.count, 4);
	assert_true(coverage_lacks(&period, COVERAGE_WAKE));
	assert_false(coverage_lacks(&period, COVERAGE_NAPI));
	assert_false(coverage_lacks(&period, COVERAGE_DROPS));
}

TEST(test_line)
{
	OWN_COVERAGE struct coverage coverage = {0};
	char line[128], small[20];

	coverage_line(&coverage, line, sizeof(line));
	assert_string_equal(line, "coverage full");
	add(&coverage, COVERAGE_DROPS, COVERAGE_FULL, NULL);
	add(&coverage, COVERAGE_SLOTS_LOG, COVERAGE_UNAVAILABLE, "no /dev/kmsg");
	coverage_line(&coverage, line, sizeof(line));
	assert_string_equal(line, "coverage unavailable: slots_log");
	add(&coverage, COVERAGE_RX_LATENCY, COVERAGE_DEGRADED, "a");
	add(&coverage, COVERAGE_WAKE, COVERAGE_DEGRADED, "b");
	coverage_line(&coverage, line, sizeof(line));
	assert_string_equal(line, "coverage degraded: rx_latency, wake; unavailable: slots_log");
	coverage_line(&coverage, small, sizeof(small));
	assert_string_equal(small, "coverage degraded: ");
}

TEST(test_text_is_read_as_it_was_written)
{
	OWN_COVERAGE struct coverage coverage = {0}, again = {0};
	char *text, *twice;

	for (int i = 0; i < COVERAGE_QUESTIONS; i++)
		add(&coverage, (enum coverage_question)i,
		    i % 2 ? COVERAGE_DEGRADED : COVERAGE_UNAVAILABLE,
		    "probe: error 2 (lost without it: a, b)\nand more");
	text = coverage_write(&coverage);
	assert_int_equal(coverage_read(&again, text), 0);
	assert_int_equal(again.count, COVERAGE_QUESTIONS);
	for (size_t i = 0; i < again.count; i++) {
		assert_int_equal(again.entry[i].question, i);
		assert_int_equal(again.entry[i].state, coverage.entry[i].state);
		assert_string_equal(again.entry[i].reason,
				    "probe: error 2 (lost without it: a, b) and more");
	}
	twice = coverage_write(&again);
	assert_string_equal(twice, text);
	free(twice);
	free(text);
}

TEST(test_bad_texts_are_refused)
{
	static const char *const bad[] = {"drops",
					  "drops unavailable",
					  "drops unavailable x",
					  "drop unavailable x\n",
					  "drops away x\n",
					  "dropsunavailable x\n",
					  "\n",
					  "[{\"question\":\"drops\"}]",
					  "wake degraded x\nnapi\n"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		OWN_COVERAGE struct coverage coverage = {0};

		assert_int_equal(coverage_read(&coverage, bad[i]), -EBADMSG);
	}
}

TEST(test_texts_without_gaps)
{
	OWN_COVERAGE struct coverage coverage = {0};

	assert_int_equal(coverage_read(&coverage, ""), 0);
	assert_int_equal(coverage_read(&coverage, "drops full \n"), 0);
	assert_int_equal(coverage.count, 0);
}
