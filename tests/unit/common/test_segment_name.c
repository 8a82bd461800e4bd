/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/segment_name.h"
#include "tests/unit/test.h"

TEST(test_join)
{
	assert_string_equal(segment_name_join("receive", "copy").s, "receive_to_copy");
	assert_string_equal(segment_name_join("softirq_raise", "softirq_entry").s,
			    "raise_to_softirq");
	assert_string_equal(segment_name_join("irq", "softirq_raise").s, "irq_to_raise");
	assert_string_equal(segment_name_join("raise", "softirq").s, "raise_to_softirq");
	assert_string_equal(segment_name_join("receive", "gap_filled").s, "gap_wait");
	assert_string_equal(segment_name_join("gap_filled", "copy").s, "gap_filled_to_copy");
}

TEST(test_totals)
{
	assert_string_equal(segment_name_total("rx"), "rx_total");
	assert_string_equal(segment_name_total("fwd"), "forward_total");
	assert_string_equal(segment_name_total("tx"), "tx_total");
	assert_string_equal(segment_name_total("sideways"), "total");
	assert_true(segment_name_is_total("forward_total"));
	assert_false(segment_name_is_total("total"));
	assert_false(segment_name_is_total("receive_to_copy"));
}

/* Whatever form a person writes, the identifier is the same. */
TEST(test_read)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{"raise_to_softirq", "raise_to_softirq"},
		{"raise→softirq", "raise_to_softirq"},
		{"raise->softirq", "raise_to_softirq"},
		{"softirq_raise→softirq_entry", "raise_to_softirq"},
		{"softirq_raise_to_softirq_entry", "raise_to_softirq"},
		{"Softirq_Raise->SOFTIRQ_ENTRY", "raise_to_softirq"},
		{"rx raise→softirq", "raise_to_softirq"},
		{"tx  queue→start_xmit", "queue_to_start_xmit"},
		{"softirq_to_receive", "softirq_to_receive"},
		{"softirq_entry→receive", "softirq_to_receive"},
		{"receive→gap_filled", "gap_wait"},
		{"gap_wait", "gap_wait"},
		{"rx total", "rx_total"},
		{"fwd total", "forward_total"},
		{"tx Total", "tx_total"},
		{"rx_total", "rx_total"},
		{"total", "total"},
		{"nothing", "nothing"},
		{"softirq_entry", "softirq_entry"}, /* a stage alone is no segment */
		{"rxtotal", "rxtotal"},
		{"rx ", ""},
		{"→", "_to_"},
		{"a→b→c", "a_to_b→c"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(segment_name_read(cases[i].text).s, cases[i].name);
}

TEST(test_text)
{
	assert_string_equal(segment_name_text("raise_to_softirq").s, "raise→softirq");
	assert_string_equal(segment_name_text("receive_to_sock_queue").s, "receive→sock_queue");
	assert_string_equal(segment_name_text("rx_total").s, "total");
	assert_string_equal(segment_name_text("forward_total").s, "total");
	assert_string_equal(segment_name_text("tx_total").s, "total");
	assert_string_equal(segment_name_text("of a later version").s, "of a later version");
	assert_string_equal(segment_name_text("").s, "");
}

/* What people see can be typed. */
TEST(test_text_is_read)
{
	static const struct {
		const char *direction, *name;
	} cases[] = {{"rx", "irq_to_softirq"},
		     {"rx", "rx_total"},
		     {"fwd", "forward_total"},
		     {"tx", "start_xmit_to_xmit"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char shown[128];

		snprintf(shown, sizeof(shown), "%s %s", cases[i].direction,
			 segment_name_text(cases[i].name).s);
		assert_string_equal(segment_name_read(shown).s, cases[i].name);
	}
}

/* It is cut, and no segment is called so. */
TEST(test_too_long)
{
	char text[1000];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(strlen(segment_name_read(text).s), SEGMENT_NAME_MAX - 1);
	assert_int_equal(strlen(segment_name_join(text, text).s), SEGMENT_NAME_MAX - 1);
	assert_int_equal(strlen(segment_name_text(text).s), SEGMENT_NAME_MAX - 1);
	memcpy(text + 10, "->", 2);
	assert_int_equal(strlen(segment_name_read(text).s), SEGMENT_NAME_MAX - 1);
}
