/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "bpf/records.h"
#include "daemon/core/evidence.h"
#include "daemon/core/infer.h"
#include "tests/unit/test.h"

#define E(name) NF_EVIDENCE_##name

/* What the programs read of a TCP segment, and of its socket. */
#define SEGMENT (E(KNOWN) | E(CHECKED) | E(IP) | E(TCP) | E(RECEIVED))
#define WITH_SOCKET (SEGMENT | E(LOOKED) | E(SOCKET))

static struct inference inferred(const char *function, const char *reason, uint64_t evidence)
{
	struct inference out;

	infer(function, reason, evidence, &out);
	return out;
}

static void check(struct inference out, const char *reason, bool is_inferred,
		  enum knowledge_class class)
{
	if (reason)
		assert_string_equal(out.reason, reason);
	else
		assert_null(out.reason);
	assert_int_equal(out.inferred, is_inferred);
	assert_string_equal(knowledge_class_name(out.class), knowledge_class_name(class));
}

/* ---- words ------------------------------------------------------------------ */

TEST(test_words)
{
	const char *words[EVIDENCE_WORDS_MAX];

	assert_int_equal(evidence_words(E(KNOWN) | E(NO_BYTES) | E(LISTEN), words, 32), 3);
	assert_string_equal(words[0], "no_bytes");
	assert_string_equal(words[1], "listen");
	assert_string_equal(words[2], "known");
	assert_int_equal(evidence_words(UINT32_MAX, words, 32), 32);
	assert_int_equal(evidence_words(UINT32_MAX, words, 2), 2);
	assert_int_equal(evidence_words(0, words, 32), 0);
	for (int bit = 0; bit < 32; bit++)
		assert_int_equal(evidence_words(1ULL << bit, words, 2), 1);
}

TEST(test_absence_means_something_only_if_it_was_read)
{
	assert_int_equal(evidence_readable(0), 0);
	assert_true(evidence_readable(E(KNOWN)) & E(NO_BYTES));
	assert_false(evidence_readable(E(KNOWN)) & E(SOCKET));
	assert_true(evidence_readable(E(KNOWN) | E(LOOKED)) & E(SOCKET));
	/* There is no socket, so it does not listen. */
	assert_true(evidence_readable(E(KNOWN) | E(LOOKED)) & E(LISTEN));
	assert_true(evidence_readable(E(KNOWN) | E(LOOKED)) & E(OLD));
	assert_true(evidence_readable(WITH_SOCKET) & E(LISTEN));
	assert_false(evidence_readable(WITH_SOCKET) & E(OLD));
	assert_true(evidence_readable(WITH_SOCKET | E(STREAM)) & E(OLD));
}

/* ---- names of functions ------------------------------------------------------ */

TEST(test_functions)
{
	char text[INFER_FUNCTION_MAX + 8];

	assert_string_equal(infer_function("udp_rcv+0x1f").s, "udp_rcv");
	assert_string_equal(infer_function("ip_rcv_core.isra.0+0x1f").s, "ip_rcv_core");
	assert_string_equal(infer_function("tcp_v4_rcv.constprop.0.cold+0x1f").s, "tcp_v4_rcv");
	assert_string_equal(infer_function("nft_do_chain+0x3c [nf_tables]").s, "nft_do_chain");
	assert_string_equal(infer_function("0xffffffff81000000").s, "");
	assert_string_equal(infer_function("").s, "");
	memset(text, 'a', sizeof(text));
	text[INFER_FUNCTION_MAX] = '\0';
	assert_string_equal(infer_function(text).s, "");
	text[INFER_FUNCTION_MAX - 1] = '\0';
	assert_string_equal(infer_function(text).s, text);
}

/* ---- reasons ----------------------------------------------------------------- */

TEST(test_no_entry)
{
	struct inference out = inferred("function_of_no_kernel", NULL, WITH_SOCKET);

	check(out, NULL, false, KNOWLEDGE_UNKNOWN);
	assert_null(out.place);
	assert_int_equal(out.candidate_count, 0);
	check(inferred(NULL, "NOT_SPECIFIED", 0), NULL, false, KNOWLEDGE_UNKNOWN);
	check(inferred("", NULL, 0), NULL, false, KNOWLEDGE_UNKNOWN);
}

TEST(test_own_reason)
{
	check(inferred("udp_rcv", "NO_SOCKET", 0), "NO_SOCKET", false, KNOWLEDGE_BENIGN);
	check(inferred("function_of_no_kernel", "QDISC_DROP", 0), "QDISC_DROP", false,
	      KNOWLEDGE_FAULT);
	check(inferred("udp_rcv", "REASON_OF_NO_KERNEL", 0), "REASON_OF_NO_KERNEL", false,
	      KNOWLEDGE_UNKNOWN);
}

TEST(test_place_without_cases)
{
	struct inference out = inferred("ip6_mc_input", "NOT_SPECIFIED", 0);

	check(out, NULL, false, KNOWLEDGE_BENIGN);
	assert_string_equal(out.place->name, "ip6_mc_input");
}

TEST(test_one_reason_remains)
{
	check(inferred("neigh_invalidate", "NOT_SPECIFIED", 0), "NEIGH_FAILED", true,
	      KNOWLEDGE_FAULT);
	check(inferred("neigh_invalidate", NULL, E(KNOWN)), "NEIGH_FAILED", true, KNOWLEDGE_FAULT);
	infer_set_kernel("6.12.5+deb13-amd64");
	check(inferred("tcp_v4_rcv", NULL, WITH_SOCKET | E(LISTEN) | E(FULL) | E(TCP_ACK)),
	      "TCP_LISTEN_OVERFLOW", true, KNOWLEDGE_FAULT);
	check(inferred("tcp_v6_rcv", NULL, WITH_SOCKET | E(TIME_WAIT) | E(TCP_ACK) | E(CHECKED)),
	      NULL, false, KNOWLEDGE_BENIGN);
	infer_set_kernel(NULL);
}

/* Both cases of a queue at close have the same reason and class. */
TEST(test_cases_that_agree)
{
	struct inference out = inferred("sk_stream_kill_queues", NULL, 0);

	check(out, "QUEUE_PURGE", true, KNOWLEDGE_BENIGN);
	assert_int_equal(out.candidate_count, 0);
}

TEST(test_several_remain)
{
	struct inference out = inferred("tcp_v4_rcv", NULL, 0);
	bool overflow = false, time_wait = false;

	check(out, NULL, false, KNOWLEDGE_UNKNOWN);
	assert_true(out.candidate_count > 2);
	for (size_t i = 0; i < out.candidate_count; i++) {
		const char *reason = out.candidates[i]->reason;

		overflow |= reason && !strcmp(reason, "TCP_LISTEN_OVERFLOW");
		time_wait |= strstr(out.candidates[i]->conditions, "time_wait") != NULL;
	}
	assert_true(overflow && time_wait);
}

#define UNICAST (E(KNOWN) | E(IP) | E(UDP) | E(NET) | E(UNICAST))

TEST(test_kernels)
{
	infer_set_kernel("6.12.5+deb13-amd64");
	check(inferred("udp_rcv", "NOT_SPECIFIED", UNICAST), "NO_SOCKET", true, KNOWLEDGE_BENIGN);
	check(inferred("udp_rcv", "NOT_SPECIFIED", UNICAST | E(POLICIES)), NULL, false,
	      KNOWLEDGE_UNKNOWN);
	infer_set_kernel("5.10.0-32-cloud-amd64");
	check(inferred("udp_rcv", NULL, UNICAST), "UDP_CSUM", true, KNOWLEDGE_FAULT);
	check(inferred("udp_rcv", NULL, UNICAST | E(CHECKED)), NULL, false, KNOWLEDGE_UNKNOWN);
	check(inferred("udp_rcv", NULL, UNICAST | E(CHECKED) | E(LOOKED)), "NO_SOCKET", true,
	      KNOWLEDGE_BENIGN);
	check(inferred("udp_rcv", NULL, UNICAST | E(SHORT)), "PKT_TOO_SMALL", true,
	      KNOWLEDGE_FAULT);
	check(inferred("udp_rcv", NULL, E(KNOWN)), NULL, false, KNOWLEDGE_UNKNOWN);
	infer_set_kernel("none");
	check(inferred("udp_rcv", NULL, E(KNOWN)), NULL, false, KNOWLEDGE_UNKNOWN);
	infer_set_kernel(NULL);
}

/* Multicast without a route is normal where IPv6 comes up; afterwards, and for unicast, it is a fault. */
TEST(test_no_route_while_ipv6_comes_up)
{
	const uint64_t multicast = E(KNOWN) | E(RECEIVED) | E(DEVICE) | E(IP);
	static const char *const kernels[] = {"5.10", "6.1", "6.18"};

	for (size_t i = 0; i < 3; i++) {
		const char *reason = i < 2 ? NULL : "IP_INNOROUTES";
		const struct {
			uint64_t evidence;
			enum knowledge_class class;
		} cases[] = {
			{multicast | E(UNICAST), KNOWLEDGE_FAULT},
			{multicast | E(UNICAST) | E(DISABLED), KNOWLEDGE_FAULT},
			{multicast | E(UNICAST) | E(EXPIRED) | E(BAD_SOURCE), KNOWLEDGE_FAULT},
			{multicast, KNOWLEDGE_FAULT},
			{multicast | E(LINK_LOCAL), KNOWLEDGE_FAULT},
			{multicast | E(UDP) | E(EXPIRED), KNOWLEDGE_FAULT},
			{multicast | E(EXPIRED) | E(OPTIONS), KNOWLEDGE_BENIGN}, /* MLD */
			{multicast | E(BAD_SOURCE), KNOWLEDGE_BENIGN},		 /* DAD */
			{multicast | E(LINK_LOCAL) | E(DISABLED), KNOWLEDGE_BENIGN},
			{multicast | E(UDP) | E(DISABLED), KNOWLEDGE_BENIGN},
		};

		infer_set_kernel(kernels[i]);
		for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++)
			check(inferred("ip6_pkt_discard", reason, cases[j].evidence),
			      "IP_INNOROUTES", !reason, cases[j].class);
	}
	infer_set_kernel(NULL);
}

/* A qdisc that drops reports of groups, which are repeated, loses nothing; OSPF's packets have no options. */
TEST(test_reports_of_groups_in_a_qdisc)
{
	static const char *const places[] = {"__dev_queue_xmit", "kfree_skb_list_reason",
					     "__tcf_kfree_skb_list"};
	const uint64_t leaving = E(KNOWN) | E(DEVICE) | E(LEAVING) | E(QUEUE);
	const struct {
		uint64_t evidence;
		enum knowledge_class class;
	} cases[] = {
		{E(IP) | E(OPTIONS) | E(EXPIRED), KNOWLEDGE_BENIGN},
		{E(IP) | E(OPTIONS) | E(EXPIRED) | E(UNICAST), KNOWLEDGE_FAULT},
		{E(IP) | E(EXPIRED), KNOWLEDGE_FAULT},
		{E(IP) | E(OPTIONS), KNOWLEDGE_FAULT},
		{E(IP) | E(UNICAST), KNOWLEDGE_FAULT},
		{E(IP) | E(LINK_LOCAL), KNOWLEDGE_BENIGN}, /* for routers */
		{E(IP) | E(LINK_LOCAL) | E(UNICAST), KNOWLEDGE_FAULT},
		{E(IP) | E(LINK_LOCAL) | E(EXPIRED), KNOWLEDGE_FAULT}, /* OSPF */
		{E(IP) | E(LINK_LOCAL) | E(OPTIONS) | E(EXPIRED), KNOWLEDGE_BENIGN},
		{E(IP), KNOWLEDGE_FAULT},
		{0, KNOWLEDGE_FAULT},
	};

	for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
		infer_set_kernel("6.18");
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
			check(inferred(places[i], "QDISC_DROP", E(KNOWN) | cases[j].evidence),
			      "QDISC_DROP", false, cases[j].class);
		infer_set_kernel("5.10");
		check(inferred("kfree_skb_list", NULL, leaving | cases[j].evidence), "QDISC_DROP",
		      true, cases[j].class);
	}
	check(inferred("kfree_skb_list", NULL, leaving | E(IP) | E(BAD_SOURCE)), "QDISC_DROP", true,
	      KNOWLEDGE_BENIGN); /* DAD */
	infer_set_kernel(NULL);
	/* Nothing was read, as on trace events. */
	check(inferred("__dev_queue_xmit", "QDISC_DROP", 0), "QDISC_DROP", false, KNOWLEDGE_FAULT);
	assert_int_equal(inferred("__dev_queue_xmit", "QDISC_DROP", 0).candidate_count, 0);
}

/* A place says what the reason alone does not: a bridge needs no target, and a tunnel does. */
TEST(test_a_place_refines_without_evidence)
{
	check(inferred("br_handle_frame_finish", "NO_TX_TARGET", 0), "NO_TX_TARGET", false,
	      KNOWLEDGE_BENIGN);
	check(inferred("vxlan_xmit", "NO_TX_TARGET", 0), "NO_TX_TARGET", false, KNOWLEDGE_FAULT);
	/* Several cases stay open: a multicast report while IPv6 comes up is not called a fault. */
	check(inferred("ip6_pkt_drop", "IP_INNOROUTES", 0), "IP_INNOROUTES", false,
	      KNOWLEDGE_UNKNOWN);
	assert_true(inferred("ip6_pkt_drop", "IP_INNOROUTES", 0).candidate_count > 1);
}

TEST(test_messages)
{
	struct inference out = inferred("unix_stream_connect", NULL, E(KNOWN) | E(MESSAGE));

	assert_true(out.message);
	check(out, NULL, false, KNOWLEDGE_BENIGN);
	assert_true(
		inferred("function_of_no_kernel", "QUEUE_PURGE", E(KNOWN) | E(MESSAGE)).message);
	assert_false(inferred("sk_stream_kill_queues", NULL, E(KNOWN) | E(NO_BYTES)).message);
}

TEST(test_evidence_is_read_for_reasons_that_need_it)
{
	assert_int_equal(infer_needs(NULL), NF_EVIDENCE_ALL);
	assert_int_equal(infer_needs("NOT_SPECIFIED"), NF_EVIDENCE_ALL);
	assert_int_equal(infer_needs("QUEUE_PURGE"), NF_EVIDENCE_ONLY_MESSAGE);
	assert_int_equal(infer_needs("NO_REASON"), NF_EVIDENCE_ALL);
	assert_int_equal(infer_needs("NO_SOCKET"), NF_EVIDENCE_NONE);
	assert_int_equal(infer_needs("IP_INNOROUTES"), NF_EVIDENCE_ALL);
	assert_int_equal(infer_needs("QDISC_DROP"), NF_EVIDENCE_HEADERS);
	assert_int_equal(infer_needs("REASON_OF_NO_KERNEL"), NF_EVIDENCE_NONE);
	assert_int_equal(infer_needs("REASON_OF_NO_KERNEL"), NF_EVIDENCE_NONE);
}

/* Whatever the evidence, a class comes from a case or says "unknown", and each candidate is there once. */
TEST(test_all_places_with_any_evidence)
{
	const struct knowledge *entry;
	uint64_t evidence = 1;

	for (size_t i = 0; (entry = knowledge_at(i)); i++) {
		if (entry->kind != KNOWLEDGE_PLACE)
			continue;
		assert_ptr_equal(knowledge_place(entry->name), entry);
		for (int round = 0; round < 200; round++) {
			struct inference out;

			evidence = evidence * 1664525 + 1013904223;
			infer(entry->name, NULL, evidence | E(KNOWN), &out);
			assert_ptr_equal(out.place, entry);
			assert_true(out.candidate_count != 1 &&
				    out.candidate_count <= KNOWLEDGE_CASES_MAX);
			assert_true(!out.inferred || out.reason);
			assert_true(!out.reason || knowledge_reason(out.reason));
		}
	}
}
