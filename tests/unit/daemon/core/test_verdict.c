/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "bpf/records.h"
#include "common/array.h"
#include "daemon/core/drop.h"
#include "daemon/core/reason.h"
#include "daemon/core/verdict.h"
#include "tests/unit/test.h"

#define KNOWN NF_EVIDENCE_KNOWN

static struct verdict verdict(const char *location, const char *reason, uint64_t evidence)
{
	struct verdict made;

	verdict_of(&made, location, reason, evidence);
	return made;
}

/* The kernel's own reason stays as it is. */
TEST(test_own_reason)
{
	struct verdict v = verdict("udp_rcv+0x1f", "SOCKET_RCVBUFF", 0);

	assert_string_equal(v.reason, "SOCKET_RCVBUFF");
	assert_false(v.inferred);
	assert_int_equal(v.class, KNOWLEDGE_FAULT);
	assert_non_null(v.knowledge);
	assert_string_equal(v.function, "udp_rcv");
	assert_false(v.message);
}

/* An older name of a function leads to the newest one. */
TEST(test_renamed)
{
	struct verdict v = verdict("__udp4_lib_rcv.constprop.0+0x3 [module]", "NO_SOCKET", 0);

	assert_string_equal(v.function, "udp_rcv");
	assert_non_null(v.place);
}

TEST(test_inferred)
{
	static const char *const none[] = {NULL, "NOT_SPECIFIED", "NO_REASON"};

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct verdict v = verdict("neigh_invalidate+0x9", none[i], KNOWN);

		assert_string_equal(v.reason, "NEIGH_FAILED");
		assert_true(v.inferred);
		assert_int_equal(v.class, KNOWLEDGE_FAULT);
		assert_int_equal(v.candidates, 0);
	}
}

/* No entry, no location, no name: nothing is guessed. */
TEST(test_unknown)
{
	static const char *const locations[] = {NULL, "", "0xffffffff81000000",
						"no_such_function+0x1"};

	for (size_t i = 0; i < ARRAY_SIZE(locations); i++) {
		struct verdict v = verdict(locations[i], "NOT_SPECIFIED", KNOWN);

		assert_string_equal(v.reason, "NOT_SPECIFIED");
		assert_false(v.inferred);
		assert_int_equal(v.class, KNOWLEDGE_UNKNOWN);
		assert_null(v.place);
		assert_string_equal(v.function, i == 3 ? "no_such_function" : "");
		v = verdict(locations[i], NULL, 0);
		assert_null(v.reason);
		assert_int_equal(v.class, KNOWLEDGE_UNKNOWN);
		v = verdict(locations[i], "A_REASON_OF_A_NEWER_KERNEL", 0);
		assert_string_equal(v.reason, "A_REASON_OF_A_NEWER_KERNEL");
		assert_int_equal(v.class, KNOWLEDGE_UNKNOWN);
	}
}

TEST(test_candidates)
{
	struct verdict many = verdict("tcp_v4_rcv+0x1", "NOT_SPECIFIED", 0);
	struct verdict again = verdict("tcp_v4_rcv+0x77", "NOT_SPECIFIED", 0);
	struct verdict one = verdict(
		"tcp_v4_rcv+0x1", "NOT_SPECIFIED",
		KNOWN | NF_EVIDENCE_LOOKED | NF_EVIDENCE_SOCKET | NF_EVIDENCE_TIME_WAIT |
			NF_EVIDENCE_IP | NF_EVIDENCE_TCP | NF_EVIDENCE_CHECKED | NF_EVIDENCE_NET);

	assert_true(many.candidates > 1);
	assert_int_equal(many.class, KNOWLEDGE_UNKNOWN);
	assert_int_equal(verdict_compare(&many, &again), 0);
	assert_int_not_equal(verdict_compare(&many, &one), 0);
	assert_int_equal(one.class, KNOWLEDGE_BENIGN);
}

TEST(test_message)
{
	struct verdict v =
		verdict("unix_stream_connect+0x1", "NOT_SPECIFIED", KNOWN | NF_EVIDENCE_MESSAGE);

	assert_true(v.message);
	assert_false(verdict("unix_stream_connect+0x1", "NOT_SPECIFIED", KNOWN).message);
}

/* Fault, unknown, policy, benign. */
TEST(test_order)
{
	static const enum knowledge_class classes[] = {KNOWLEDGE_FAULT, KNOWLEDGE_UNKNOWN,
						       KNOWLEDGE_POLICY, KNOWLEDGE_BENIGN};

	assert_int_equal(ARRAY_SIZE(classes), KNOWLEDGE_CLASSES);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct verdict a = {.class = classes[i]};

		assert_int_equal(verdict_rank(classes[i]), i);
		for (size_t j = 0; j < ARRAY_SIZE(classes); j++) {
			struct verdict b = {.class = classes[j]};

			assert_int_equal(verdict_compare(&a, &b) < 0, i < j);
			assert_int_equal(verdict_compare(&a, &b) == 0, i == j);
		}
	}
}

/* ---- reasons that are asked for ----------------------------------------------------- */

static struct names *kernel(void)
{
	struct names *names;

	assert_int_equal(names_new(&names), 0);
	names_add_reason(names, 2, "SKB_DROP_REASON_NOT_SPECIFIED");
	names_add_reason(names, 3, "SKB_DROP_REASON_NO_SOCKET");
	names_add_reason(names, 0x10001, "___RX_DROP_UNUSABLE");
	return names;
}

static bool takes(const struct names *names, const char *text, const struct cause *cause)
{
	struct reason_wanted wanted;
	const char *nearest;

	assert_int_equal(reason_read(&wanted, names, text, &nearest), 0);
	return reason_takes(&wanted, cause);
}

/* A name is what outputs show, a number what the kernel said. */
TEST(test_reason_takes)
{
	struct cause cause = {.has_reason = true, .reason = 2, .kernel_reason = "NOT_SPECIFIED"};
	struct names *names = kernel();

	cause.verdict = verdict("neigh_invalidate+0x1", "NOT_SPECIFIED", KNOWN);
	assert_true(takes(names, "NEIGH_FAILED", &cause));
	assert_true(takes(names, "skb_drop_reason_neigh_failed", &cause));
	assert_false(takes(names, "NOT_SPECIFIED", &cause));
	assert_false(takes(names, "NO_SOCKET", &cause));
	assert_true(takes(names, "2", &cause));
	assert_false(takes(names, "3", &cause));
	cause.verdict = verdict("f+0x1", "NOT_SPECIFIED", KNOWN);
	assert_true(takes(names, "NOT_SPECIFIED", &cause));
	assert_false(takes(names, "NEIGH_FAILED", &cause));
	names_free(&names);
}

/* A kernel without reasons: names of the knowledge, which can be inferred; no numbers. */
TEST(test_reason_without_names)
{
	struct cause cause = {.has_reason = false};
	struct reason_wanted wanted;
	const char *nearest = NULL;

	cause.verdict = verdict("neigh_invalidate+0x1", NULL, KNOWN);
	assert_true(takes(NULL, "NEIGH_FAILED", &cause));
	assert_false(takes(NULL, "NO_SOCKET", &cause));
	assert_int_equal(reason_read(&wanted, NULL, "3", &nearest), -ENOENT);
	assert_int_equal(reason_read(&wanted, NULL, "NEIGH_FAILD", &nearest), -ENOENT);
	assert_string_equal(nearest, "NEIGH_FAILED");
}

TEST(test_reason_nearest)
{
	struct names *names = kernel();
	struct reason_wanted wanted;
	const char *nearest = NULL;

	assert_int_equal(reason_read(&wanted, names, "NO_SOCKT", &nearest), -ENOENT);
	assert_string_equal(nearest, "NO_SOCKET");
	assert_int_equal(reason_read(&wanted, names, "RX_DROP_UNUSABLE", &nearest), 0);
	assert_int_equal(wanted.number, 0x10001);
	names_free(&names);
}
