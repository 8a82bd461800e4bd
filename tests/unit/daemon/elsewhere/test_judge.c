/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which counters netflowd sees too, their class, and the names of drivers' counters. */
#include <string.h>

#include "common/array.h"
#include "daemon/elsewhere/judge.h"
#include "tests/unit/test.h"

TEST(test_judgements)
{
	static const struct {
		enum elsewhere_source source;
		const char *kind, *counter;
		bool seen;
		enum knowledge_class class;
	} cases[] = {
		{ELSEWHERE_LINK, "", "rx_missed_errors", false, KNOWLEDGE_FAULT},
		{ELSEWHERE_LINK, "veth", "rx_missed_errors", true, KNOWLEDGE_UNKNOWN},
		{ELSEWHERE_LINK, "", "rx_crc_errors", true, KNOWLEDGE_FAULT},
		{ELSEWHERE_LINK, "", "rx_dropped", true, KNOWLEDGE_UNKNOWN},
		{ELSEWHERE_LINK, "ifb", "rx_dropped", true, KNOWLEDGE_UNKNOWN},
		{ELSEWHERE_DRIVER, "veth", "rx_queue_*_xdp_drops", true, KNOWLEDGE_POLICY},
		{ELSEWHERE_DRIVER, "", "rx*_xdp_drops", false, KNOWLEDGE_POLICY},
		{ELSEWHERE_DRIVER, "", "rx_no_buffer", false, KNOWLEDGE_FAULT},
		{ELSEWHERE_DRIVER, "", "rx_discards", true, KNOWLEDGE_UNKNOWN},
		{ELSEWHERE_TCP, "", "TCPReqQFullDrop", false, KNOWLEDGE_FAULT},
		{ELSEWHERE_TCP, "", "ListenDrops", true, KNOWLEDGE_FAULT},
		{ELSEWHERE_XSK, "veth", "rx_dropped", true, KNOWLEDGE_FAULT},
		{ELSEWHERE_TRAP, "", "source_mac_is_multicast", false, KNOWLEDGE_FAULT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct elsewhere_judgement *judgement =
			elsewhere_judge(cases[i].source, cases[i].kind, cases[i].counter);

		assert_int_equal(judgement->seen, cases[i].seen);
		assert_int_equal(judgement->class, cases[i].class);
		assert_true(judgement->why[0]);
	}
}

TEST(test_names)
{
	static const struct {
		const char *counter, *name; /* NULL: it counts no drops */
	} cases[] = {
		{"rx_queue_0_xdp_drops", "rx_queue_*_xdp_drops"},
		{"rx_queue_12_drops", "rx_queue_*_drops"},
		{"rx-3.drops", "rx-*.drops"},
		{"rx_out_of_buffer", "rx_out_of_buffer"},
		{"Rx_Discards", "Rx_Discards"},
		{"rx_packets", NULL},
		{"peer_ifindex", NULL},
		{"", NULL},
		{"a_name_of_a_counter_that_is_far_too_long_to_drop_anything",
		 "a_name_of_a_counter_that_is_far_too_long_to_dro"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[ELSEWHERE_NAME_MAX] = "untouched";

		assert_int_equal(elsewhere_driver_counter(cases[i].counter, name),
				 cases[i].name != NULL);
		assert_string_equal(name, cases[i].name ? cases[i].name : "untouched");
	}
}
