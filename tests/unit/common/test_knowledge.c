/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <strings.h>

#include "common/knowledge.h"
#include "tests/unit/test.h"

static size_t meant(const char *text, const char *expected)
{
	const struct knowledge *entry;
	size_t count = 0;

	for (size_t i = 0; (entry = knowledge_at(i)); i++) {
		if (!knowledge_meant(entry, text))
			continue;
		count++;
		if (expected)
			assert_string_equal(entry->name, expected);
	}
	return count;
}

/* The look-ups use bsearch(), so the table must be sorted. */
TEST(test_table_is_sorted)
{
	const struct knowledge *entry, *before = knowledge_at(0);

	assert_non_null(before);
	for (size_t i = 1; (entry = knowledge_at(i)); i++) {
		assert_true(before->kind <= entry->kind);
		if (before->kind == entry->kind)
			assert_true(strcasecmp(before->name, entry->name) < 0);
		before = entry;
	}
	assert_null(knowledge_at(SIZE_MAX));
}

TEST(test_every_reason_is_found)
{
	const struct knowledge *entry;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (entry->kind == KNOWLEDGE_REASON)
			assert_ptr_equal(knowledge_reason(entry->name), entry);
		else
			assert_null(knowledge_reason(entry->name));
	assert_ptr_equal(knowledge_reason("no_socket"), knowledge_reason("NO_SOCKET"));
	assert_null(knowledge_reason("NO_SOCKE"));
	assert_null(knowledge_reason(""));
	assert_null(knowledge_reason("12345"));
}

TEST(test_texts)
{
	const struct knowledge *entry = knowledge_reason("NO_SOCKET");

	assert_non_null(entry);
	assert_string_equal(entry->subject, "core");
	assert_int_equal(entry->class, KNOWLEDGE_BENIGN);
	assert_non_null(strstr(entry->tell, "\n$ netflowctl drops --reason NO_SOCKET "));
}

TEST(test_names_of_reasons)
{
	assert_int_equal(meant("no_socket", "NO_SOCKET"), 1);
	assert_int_equal(meant("SKB_DROP_REASON_NO_SOCKET", "NO_SOCKET"), 1);
	assert_int_equal(meant("SKB_CONSUMED", "CONSUMED"), 1);
	assert_int_equal(meant("SKB_CSUM", "SKB_CSUM"), 1);
	assert_int_equal(meant("___RX_DROP_U_DUP", "RX_DROP_U_DUP"), 1);
	assert_int_equal(meant("SKB_DROP_REASON_", NULL), 0);
	assert_int_equal(meant("", NULL), 0);
}

TEST(test_names_of_segments)
{
	assert_int_equal(meant("rx receive→copy", "receive_to_copy"), 1);
	assert_int_equal(meant("receive->copy", "receive_to_copy"), 1);
	assert_int_equal(meant("receive_to_copy", "receive_to_copy"), 1);
	assert_int_equal(meant("RECEIVE_TO_COPY", "receive_to_copy"), 1);
	assert_int_equal(meant("softirq_entry->receive", "softirq_to_receive"), 1);
	assert_int_equal(meant("total", NULL), 3);
	assert_int_equal(meant("tx total", "tx_total"), 1);
	assert_int_equal(meant("fwd total", "forward_total"), 1);
	assert_int_equal(meant("forward_total", "forward_total"), 1);
	assert_int_equal(meant("->", NULL), 0);
}

TEST(test_names_of_metrics)
{
	assert_int_equal(meant("inflight.overwritten", "inflight.overwritten"), 1);
	assert_int_equal(meant("overwritten", "inflight.overwritten"), 1);
	assert_int_equal(meant("p99.9", "latencies.p999_ns"), 1);
	assert_int_equal(meant("p99.", NULL), 0);
	assert_int_equal(meant(", ", NULL), 0);
}

/* A text that is too long for a name is cut, and does not overflow the buffer. */
TEST(test_long_names)
{
	char text[1000];

	memset(text, '>', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(meant(text, NULL), 0);
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "->", 2);
	assert_int_equal(meant(text, NULL), 0);
}

TEST(test_nearest)
{
	assert_string_equal(knowledge_nearest("NO_SOKET"), "NO_SOCKET");
	assert_string_equal(knowledge_nearest("SKB_DROP_REASON_NO_SOKET"), "NO_SOCKET");
	assert_string_equal(knowledge_nearest("overwriten"), "overwritten");
	assert_string_equal(knowledge_nearest("raise→sofirq"), "raise_to_softirq");
	assert_null(knowledge_nearest(""));
}

TEST(test_words)
{
	assert_string_equal(knowledge_kind_name(KNOWLEDGE_REASON), "reason");
	assert_string_equal(knowledge_kind_name(KNOWLEDGE_METRIC), "metric");
	assert_string_equal(knowledge_class_name(KNOWLEDGE_FAULT), "fault");
	assert_string_equal(knowledge_class_name(KNOWLEDGE_POLICY), "policy");
	assert_string_equal(knowledge_class_name(KNOWLEDGE_BENIGN), "benign");
}
