/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the history has of a cause of drops is what was known of it: now and the past answer alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bpf/records.h"
#include "common/array.h"
#include "common/json.h"
#include "common/texts.h"
#include "daemon/core/owner.h"
#include "daemon/core/verdict.h"
#include "daemon/history/series_name.h"
#include "daemon/json/json.h"
#include "daemon/rows/drop_rows.h"
#include "tests/unit/test.h"

#define CAUSES 60
#define QUESTIONS 10000

static uint32_t dice(uint32_t sides)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state = state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(state >> 33) % sides;
}

static const char *one_of(const char *const *list, uint32_t count)
{
	return list[dice(count)];
}

#define ONE_OF(...)                                               \
	({                                                        \
		static const char *const list_[] = {__VA_ARGS__}; \
		one_of(list_, ARRAY_SIZE(list_));                 \
	})

/* A cause as a reading has it; every field can be unknown, and lost. */
static struct drop_row random_cause(struct texts *texts)
{
	struct drop_row row = {0};
	struct drop_key *key = &row.key;
	struct owner owner = {.cgroup = ONE_OF("/a.slice", "/b.slice/pod\"7"),
			      .unit = ONE_OF("a.service", "b.scope", NULL),
			      .container = ONE_OF("0123", NULL),
			      .pod = ONE_OF("1", "2", NULL),
			      .by_netns = dice(2)};

	key->reason = texts_keep(texts, ONE_OF("NO_SOCKET", "NEIGH_FAILED", NULL), 99);
	key->inferred = key->reason && dice(2);
	if (key->inferred)
		key->kernel_reason = texts_keep(texts, "NOT_SPECIFIED", 99);
	key->numbered = dice(2);
	key->reason_number = key->numbered ? dice(3) : 0;
	key->subsystem = texts_keep(texts, ONE_OF("core", NULL), 99);
	if (dice(3) == 0)
		key->candidates = texts_keep(texts, "TCP_CSUM\tfault\n\tpolicy\n", 99);
	key->class = (uint8_t)dice(KNOWLEDGE_CLASSES);
	key->message = dice(10) == 0;
	key->location = texts_keep(texts, ONE_OF("udp_rcv+0x1f", "0xffff", NULL), 99);
	key->function = key->location ? texts_keep(texts, ONE_OF("udp_rcv", NULL), 99) : NULL;
	key->device.name = texts_keep(texts, ONE_OF("eth0", "veth\n1", NULL), 99);
	key->device.ifindex = key->device.name ? 1 + dice(2) : 0;
	key->device.netns = dice(3);
	key->protocol = texts_keep(texts, ONE_OF("ipv4/udp", "0x88cc"), 99);
	key->cgroup_id = dice(3);
	if (dice(2))
		drop_row_set_owner(&row, &owner, texts);
	row.evidence = dice(2) ? NF_EVIDENCE_KNOWN | NF_EVIDENCE_IP : 0;
	if (row.evidence && dice(2))
		row.evidence |= NF_EVIDENCE_SOCKET | NF_EVIDENCE_LOOKED;
	row.lost = (uint8_t)(dice(4) ? 0 : 1U << dice(3));
	row.packets = 1 + dice(1000);
	row.segments = row.packets * 2;
	row.bytes = row.packets * 60;
	row.unmeasured = dice(20) == 0;
	row.last_ns = 1000 * (int64_t)dice(1000000);
	return row;
}

/* The same from the file: its name was written there, and is read. */
static struct drop_row stored(const struct drop_row *row, struct texts *texts)
{
	uint8_t bytes[SERIES_NAME_MAX];
	struct drop_row name = *row, read = {0};

	drop_key_project(&name.key, drop_row_fields(row, DROP_FIELDS));
	assert_int_equal(
		series_name_decode_drops(&read, bytes, series_name_encode_drops(&name, bytes)), 0);
	drop_key_keep(&read.key, texts);
	read.packets = row->packets;
	read.segments = row->segments;
	read.bytes = row->bytes;
	read.unmeasured = row->unmeasured;
	read.last_ns = row->last_ns;
	return read;
}

static void fill(struct drop_rows *rows, const struct drop_row *causes)
{
	for (size_t i = 0; i < CAUSES; i++) {
		struct drop_row cause = causes[i];
		struct drop_place place;

		drop_key_project(&cause.key, drop_row_fields(&cause, DROP_FIELDS));
		assert_int_equal(drop_rows_place(rows, &cause, false, &place), 0);
		drop_rows_count(rows, &place, &causes[i]);
	}
	assert_int_equal(drop_rows_finish(rows), 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All rows as text, in an order that does not depend on equal numbers of packets. */
static char *texts_of(const struct drop_rows *rows)
{
	char **line = test_calloc(rows->count + 1, sizeof(*line));
	size_t length = 1, at = 0;
	char *all;

	for (size_t i = 0; i < rows->count; i++) {
		OWN_JSON json_t *object = json_drop_row(&rows->row[i], rows->by.fields);

		line[i] = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
		length += strlen(line[i]) + 1;
	}
	qsort(line, rows->count, sizeof(*line), by_text);
	all = calloc(1, length);
	for (size_t i = 0; i < rows->count; i++) {
		at += (size_t)sprintf(all + at, "%s\n", line[i]);
		free(line[i]);
	}
	test_free(line);
	return all;
}

static struct drop_grouping grouping(const char *by)
{
	struct drop_grouping_error error;
	struct drop_grouping read = DROP_GROUPING_NONE;

	if (by)
		assert_int_equal(drop_grouping_read(&read, by, &error), 0);
	return read;
}

static void ask_both(const struct drop_row *now, const struct drop_row *past)
{
	static const char *const groupings[] = {NULL,	  "reason",	     "location",
						"dev",	  "proto",	     "netns",
						"cgroup", "reason,location", "proto,dev"};
	const char *by = groupings[dice(ARRAY_SIZE(groupings))];
	struct drop_rows one = {.by = grouping(by),
				.classes = 1 + dice(VERDICT_CLASSES_ALL),
				.new_after_ns = INT64_MAX};
	struct drop_rows other = one;
	OWN_FREE char *first = NULL, *second = NULL;

	fill(&one, now);
	fill(&other, past);
	first = texts_of(&one);
	second = texts_of(&other);
	assert_string_equal(first, second);
	assert_memory_equal(one.class, other.class, sizeof(one.class));
	assert_int_equal(one.messages, other.messages);
	assert_int_equal(one.sum.packets, other.sum.packets);
	assert_int_equal(drop_rows_hidden(&one), drop_rows_hidden(&other));
	drop_rows_clear(&one);
	drop_rows_clear(&other);
}

TEST(test_now_and_the_past_differ_in_nothing)
{
	for (int data = 0; data < QUESTIONS / 100; data++) {
		OWN_TEXTS struct texts texts = {0};
		OWN_TEXTS struct texts others = {0};
		struct drop_row now[CAUSES], past[CAUSES];

		for (size_t i = 0; i < CAUSES; i++) {
			now[i] = random_cause(&texts);
			past[i] = stored(&now[i], &others);
		}
		for (int question = 0; question < 100; question++)
			ask_both(now, past);
	}
}
