/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of drops: what is joined, what is hidden, what comes first. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/texts.h"
#include "daemon/core/verdict.h"
#include "daemon/rows/drop_cause.h"
#include "daemon/rows/drop_rows.h"
#include "tests/unit/test.h"

#define FAULT VERDICT_CLASS_BIT(KNOWLEDGE_FAULT)

/* Texts of literals: the compiler keeps each once, as struct texts does. */
static const char no_socket[] = "NO_SOCKET", filtered[] = "NETFILTER_DROP", eth0[] = "eth0",
		  eth1[] = "eth1", red[] = "red";

static struct drop_grouping grouping(const char *by)
{
	struct drop_grouping_error error;
	struct drop_grouping read = DROP_GROUPING_NONE;

	if (by)
		assert_int_equal(drop_grouping_read(&read, by, &error), 0);
	return read;
}

static struct drop_rows of_all(const char *by)
{
	return (struct drop_rows){.by = grouping(by),
				  .classes = VERDICT_CLASSES_ALL,
				  .first_mark = 3,
				  .new_mark = 4,
				  .new_after_ns = INT64_MAX};
}

static struct drop_row cause(const char *reason, enum knowledge_class class, const char *device)
{
	return (struct drop_row){.key = {.reason = reason,
					 .class = (uint8_t) class,
					 .device = {.name = device, .netns = 7, .netns_id = 70},
					 .protocol = "ipv4/udp"}};
}

static struct drop_place add(struct drop_rows *rows, struct drop_row row, uint64_t packets,
			     int64_t last_ns)
{
	const struct drop_row count = {.packets = packets,
				       .segments = 2 * packets,
				       .bytes = 100 * packets,
				       .last_ns = last_ns};
	struct drop_place place;

	assert_int_equal(drop_rows_place(rows, &row, false, &place), 0);
	drop_rows_count(rows, &place, &count);
	return place;
}

TEST(test_each_cause_has_a_row)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all(NULL);

	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 4217, 5);
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth1), 10, 9);
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 3, 2);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.row[0].packets, 4220);
	assert_int_equal(rows.row[0].segments, 8440);
	assert_int_equal(rows.row[0].bytes, 422000);
	assert_int_equal(rows.row[0].last_ns, 5);
	assert_int_equal(rows.sum.packets, 4230);
	assert_int_equal(rows.sum.last_ns, 9);
	assert_int_equal(rows.class[KNOWLEDGE_BENIGN], 4230);
}

/* Faults come first, however few, then what nothing is known of. */
TEST(test_order)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all(NULL);
	struct drop_row new = cause(no_socket, KNOWLEDGE_BENIGN, "eth5");

	new.mark = 4;
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 1000, 0);
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth1), 2000, 0);
	add(&rows, new, 1, 0);
	add(&rows, cause(filtered, KNOWLEDGE_UNKNOWN, eth1), 20, 0);
	add(&rows, cause(filtered, KNOWLEDGE_FAULT, eth1), 1, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.row[0].key.class, KNOWLEDGE_FAULT);
	assert_int_equal(rows.row[1].key.class, KNOWLEDGE_UNKNOWN);
	assert_int_equal(rows.row[2].mark, 4);
	assert_int_equal(rows.row[3].packets, 2000);
	assert_int_equal(rows.row[4].packets, 1000);
}

TEST(test_groupings)
{
	static const struct {
		const char *by;
		size_t rows;
	} cases[] = {{"reason", 2}, {"dev", 2},	     {"proto", 2},
		     {"netns", 2},  {"location", 2}, {"reason,proto", 2}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN_DROP_ROWS struct drop_rows rows = of_all(cases[i].by);
		struct drop_row other = cause(filtered, KNOWLEDGE_BENIGN, eth1);

		other.key.device.netns = 8;
		other.key.device.netns_id = 80;
		other.key.protocol = "arp";
		other.key.location = "somewhere";
		add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 1, 0);
		add(&rows, other, 2, 0);
		add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 4, 0);
		assert_int_equal(drop_rows_finish(&rows), 0);
		assert_int_equal(rows.count, cases[i].rows);
		assert_int_equal(rows.row[0].packets, 5);
		assert_int_equal(rows.sum.packets, 7);
	}
}

static void check_refused(const char *names, const char *name, const char *nearest)
{
	struct drop_grouping_error error;
	struct drop_grouping by;

	assert_int_equal(drop_grouping_read(&by, names, &error), -EINVAL);
	assert_int_equal(error.length, strlen(name));
	assert_memory_equal(error.name, name, error.length);
	if (nearest)
		assert_string_equal(error.nearest, nearest);
	else
		assert_null(error.nearest);
}

TEST(test_names_of_groupings)
{
	struct drop_grouping by = grouping("reason,proto");

	assert_int_equal(by.fields, DROP_REASON | DROP_PROTOCOL);
	assert_int_equal(by.lost, DROP_COARSE | DROP_GONE | DROP_UNKEYED);
	assert_int_equal(grouping("flow").fields, DROP_FLOW);
	check_refused("reason,device", "device", "dev");
	check_refused("reason,", "", NULL);
	check_refused("flow,dev", "flow,dev", NULL);
	/* No name is cut: half a character would be no JSON. */
	check_refused("éééééééééééééééééééé,dev", "éééééééééééééééééééé", NULL);
}

/* Whatever rows are joined by, a fault has a row of its own. */
TEST(test_classes_stay_apart)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("dev");

	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 1000, 0);
	add(&rows, cause(filtered, KNOWLEDGE_FAULT, eth0), 1, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.row[0].packets, 1);
}

/* Evidence is what all drops of a row have in common. */
TEST(test_evidence)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all(NULL);
	struct drop_row row = cause(no_socket, KNOWLEDGE_BENIGN, eth0);

	row.evidence = 7;
	add(&rows, row, 1, 0);
	row.evidence = 13;
	add(&rows, row, 1, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.row[0].evidence, 5);
}

/* A row says what all of its drops have lost; those in which a field is only not known are others. */
TEST(test_lost_fields)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("dev");
	OWN_DROP_ROWS struct drop_rows reasons = of_all("reason");
	struct drop_row coarse = cause(no_socket, KNOWLEDGE_BENIGN, NULL);

	coarse.lost = DROP_COARSE;
	add(&rows, coarse, 1, 0);
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, NULL), 2, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 2);
	assert_int_equal(rows.row[0].lost, 0);
	assert_int_equal(rows.row[1].lost, DROP_COARSE);
	add(&reasons, coarse, 1, 0);
	assert_int_equal(reasons.row[0].lost, DROP_COARSE);
	add(&reasons, cause(no_socket, KNOWLEDGE_BENIGN, NULL), 2, 0);
	assert_int_equal(drop_rows_finish(&reasons), 0);
	assert_int_equal(reasons.count, 1);
	assert_int_equal(reasons.row[0].lost, 0);
}

/* What is not shown is counted all the same. */
TEST(test_what_is_no_row)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all(NULL);
	struct drop_row message = cause(no_socket, KNOWLEDGE_FAULT, NULL);
	const struct drop_row three = {.packets = 3},
			      folded = cause(no_socket, KNOWLEDGE_FAULT, eth0);
	struct drop_place place;

	rows.classes = FAULT;
	message.key.message = 1;
	add(&rows, message, 5, 0);
	add(&rows, cause(no_socket, KNOWLEDGE_BENIGN, eth0), 7, 0);
	add(&rows, cause(filtered, KNOWLEDGE_FAULT, eth0), 11, 0);
	assert_int_equal(drop_rows_place(&rows, &folded, true, &place), 0);
	drop_rows_count(&rows, &place, &three);
	drop_rows_count(&rows, &(struct drop_place){0}, &three);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.sum.packets, 11);
	assert_int_equal(rows.messages, 5);
	assert_int_equal(rows.folded, 3);
	assert_int_equal(rows.class[KNOWLEDGE_BENIGN], 7);
	assert_int_equal(rows.class[KNOWLEDGE_FAULT], 11);
	assert_int_equal(drop_rows_hidden(&rows), 7);
}

/* A group is new if one of its causes is, whose own newest drop decides. */
TEST(test_marks)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("reason");
	OWN_DROP_ROWS struct drop_rows old = of_all("reason");
	struct drop_row unseen = cause(no_socket, KNOWLEDGE_BENIGN, eth1);
	struct drop_row known = cause(no_socket, KNOWLEDGE_BENIGN, eth0);

	known.mark = 2;
	unseen.key.unseen = 1;
	rows.new_after_ns = old.new_after_ns = 100;
	add(&rows, known, 1, 500);
	add(&rows, unseen, 1, 101);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 1);
	assert_int_equal(rows.row[0].mark, 4);
	assert_int_equal(rows.row[0].packets, 2);
	add(&old, known, 1, 500);
	add(&old, unseen, 1, 100);
	assert_int_equal(drop_rows_finish(&old), 0);
	assert_int_equal(old.count, 1);
	assert_int_equal(old.row[0].mark, 2);
}

/* The name of a namespace that was not found in time is that of its other rows, unless it had several. */
TEST(test_names_that_are_unsure)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("netns");
	struct drop_row named = cause(no_socket, KNOWLEDGE_BENIGN, eth0);
	struct drop_row unsure = named, stranger = named, twice = named;

	named.key.device.netns_name = red;
	unsure.key.unsure = stranger.key.unsure = 1;
	stranger.key.device.netns_id = 71;
	twice.key.device.netns_id = 72;
	add(&rows, named, 1, 0);
	add(&rows, unsure, 2, 0);
	add(&rows, stranger, 8, 0);
	twice.key.device.netns_name = "blue";
	add(&rows, twice, 16, 0);
	twice.key.device.netns_name = "green";
	add(&rows, twice, 32, 0);
	twice.key.device.netns_name = NULL;
	twice.key.unsure = 1;
	add(&rows, twice, 64, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 5);
	assert_int_equal(rows.row[0].packets, 64);
	assert_null(rows.row[0].key.device.netns_name);
	assert_int_equal(rows.row[3].packets, 8);
	assert_null(rows.row[3].key.device.netns_name);
	assert_int_equal(rows.row[4].packets, 3);
	assert_ptr_equal(rows.row[4].key.device.netns_name, red);
}

TEST(test_flows_behind_the_limit)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("flow");
	static const char *const flows[] = {"a", "b", "c", "d"};

	rows.most = 2;
	for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
		struct drop_row row = {.key = {.flow = flows[i], .class = KNOWLEDGE_POLICY}};

		add(&rows, row, 1 + i, 0);
	}
	/* A flow that has a row keeps it. */
	add(&rows, (struct drop_row){.key = {.flow = flows[0], .class = KNOWLEDGE_POLICY}}, 100, 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 3);
	assert_string_equal(rows.row[0].key.flow, "a");
	assert_int_equal(rows.row[0].packets, 101);
	assert_string_equal(rows.row[1].key.flow, "(others)");
	assert_int_equal(rows.row[1].packets, 3 + 4);
	assert_int_equal(rows.sum.packets, 110);
}

/* Of 100,000 namespaces that came and went, most are one row; texts are kept for rows only. */
TEST(test_more_than_most)
{
	OWN_TEXTS struct texts texts = {0};
	OWN_DROP_ROWS struct drop_rows rows = of_all("netns");

	rows.texts = &texts;
	rows.most = 10;
	for (uint32_t i = 0; i < 100000; i++) {
		struct drop_row row = cause(no_socket, KNOWLEDGE_BENIGN, eth0);
		char name[16];

		snprintf(name, sizeof(name), "ns%u", i);
		row.key.device.netns = 1 + i;
		row.key.device.netns_name = name;
		add(&rows, row, 1, 0);
	}
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 11);
	assert_int_equal(rows.row[0].packets, 100000 - 10);
	assert_int_equal(rows.row[0].lost, DROP_GONE);
	assert_null(rows.row[0].key.device.netns_name);
	assert_int_equal(rows.sum.packets, 100000);
	assert_int_equal(texts.count, 10);
}

/* Of causes whose texts are borrowed, only those of rows are kept, however many causes there are. */
TEST(test_texts_of_rows_are_kept)
{
	OWN_TEXTS struct texts texts = {0};
	OWN_DROP_ROWS struct drop_rows rows = of_all("reason");

	rows.texts = &texts;
	rows.classes = VERDICT_CLASS_BIT(KNOWLEDGE_BENIGN);
	for (int i = 0; i < 10000; i++) {
		char reason[16], cgroup[64];
		struct drop_row row =
			cause(reason, i % 2 ? KNOWLEDGE_BENIGN : KNOWLEDGE_POLICY, eth0);

		snprintf(reason, sizeof(reason), "REASON_%d", i % 10);
		snprintf(cgroup, sizeof(cgroup), "/kubepods.slice/pod%d", i);
		row.key.cgroup = cgroup;
		add(&rows, row, 1, 0);
	}
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 5);
	assert_int_equal(texts.count, 5);
	assert_int_equal(rows.row[0].packets, 1000);
	assert_memory_equal(rows.row[0].key.reason, "REASON_", 7);
}

TEST(test_places_without_drops_are_no_rows)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all(NULL);
	struct drop_row row = cause(no_socket, KNOWLEDGE_BENIGN, eth0);
	struct drop_place place;

	assert_int_equal(drop_rows_place(&rows, &row, false, &place), 0);
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 0);
}

TEST(test_candidates)
{
	char text[DROP_CANDIDATES_MAX] = "", *rest = text;
	const char *reason, *class;

	drop_candidate_add(text, "TCP_CSUM", "fault");
	drop_candidate_add(text, NULL, "policy");
	assert_true(drop_candidate(&rest, &reason, &class));
	assert_string_equal(reason, "TCP_CSUM");
	assert_string_equal(class, "fault");
	assert_true(drop_candidate(&rest, &reason, &class));
	assert_null(reason);
	assert_string_equal(class, "policy");
	assert_false(drop_candidate(&rest, &reason, &class));
}

/* A row that the baseline has not seen is the same row as one that it has. */
TEST(test_more_than_most_with_marks)
{
	OWN_DROP_ROWS struct drop_rows rows = of_all("netns");

	rows.most = 2;
	for (uint32_t i = 0; i < 80; i++) {
		struct drop_row row = cause(no_socket, KNOWLEDGE_BENIGN, eth0);

		row.key.device.netns = 1 + i % 2;
		row.key.unseen = i / 2 % 2;
		row.key.unsure = i / 4 % 2;
		add(&rows, row, 1, 0);
	}
	/* One more is no row, and nothing is said of its mark. */
	for (uint32_t i = 0; i < 2; i++) {
		struct drop_row row = cause(no_socket, KNOWLEDGE_BENIGN, eth0);

		row.key.device.netns = 3;
		row.mark = 4;
		add(&rows, row, 1, 0);
	}
	assert_int_equal(drop_rows_finish(&rows), 0);
	assert_int_equal(rows.count, 3);
	assert_int_equal(rows.row[0].packets, 40);
	assert_int_equal(rows.row[1].packets, 40);
	assert_int_equal(rows.row[2].packets, 2);
	assert_int_equal(rows.row[2].mark, 0);
}

/* ---- the text of a cause ------------------------------------------------------------------ */

static void check_text(const struct drop_row *row, unsigned int fields, const char *expected)
{
	OWN_FREE char *text = drop_cause_text(row, fields);

	assert_string_equal(text, expected);
}

TEST(test_text_of_a_cause)
{
	struct drop_row row = {.key = {.reason = "NO_SOCKET",
				       .numbered = true,
				       .reason_number = 3,
				       .subsystem = "core",
				       .class = KNOWLEDGE_BENIGN,
				       .location = "f+0x1",
				       .device = {.name = "eth0",
						  .ifindex = 2,
						  .netns = 4026531840,
						  .netns_name = "host"},
				       .protocol = "ipv4/udp",
				       .cgroup = "/a.slice",
				       .unit = "a.slice"},
			       .evidence = 5,
			       .packets = 4217};

	check_text(&row, DROP_FIELDS,
		   "reason=NO_SOCKET class=benign location=f+0x1 device=eth0 ifindex=2 "
		   "netns=4026531840 protocol=ipv4/udp");
	check_text(&row, DROP_REASON | DROP_LOCATION,
		   "reason=NO_SOCKET class=benign location=f+0x1");
	check_text(&row, DROP_CGROUP, "class=benign cgroup=/a.slice");
	row.key.cgroup_id = 77;
	row.key.device.netns = 0;
	check_text(&row, DROP_NETNS | DROP_CGROUP, "class=benign netns=host cgroup=77");
	row.key.reason = NULL;
	row.key.subsystem = "mac80211";
	check_text(&row, DROP_REASON, "number=3 subsystem=mac80211 class=benign");
	row.key.inferred = true;
	row.key.reason = "TCP_CSUM";
	row.key.kernel_reason = "NOT_SPECIFIED";
	row.key.candidates = "A\tfault\nB\tpolicy\n";
	row.key.lost = DROP_GONE;
	row.lost = DROP_GONE | DROP_COARSE;
	check_text(&row, DROP_REASON,
		   "inferred=TCP_CSUM kernel_reason=NOT_SPECIFIED subsystem=mac80211 or=A/fault "
		   "or=B/policy class=benign lost=gone");
}
