/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What only a record of the past has, and the longest one.  tests/unit/daemon/json/test_json.c stores each record that
 * it makes.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/kernel/symbols.h"
#include "tests/unit/daemon/history/round_trip.h"

static const struct nf_bytes bytes = {.len = 60, .protocol = 0x800, .segments = 1};
static const struct nf_task task = {.pid = 1, .tid = 2, .comm = "sixteen letters!"};

static struct record drop(void)
{
	struct record record = {.kind = RECORDS_DROPS};

	record.drop.time_ns = 1000000007;
	record.drop.task = &task;
	contents_read(&record.drop.contents, &bytes);
	return record;
}

/* A place with a case that is always a fault: neither its reason nor its class is a number or a text. */
TEST(test_candidate_without_a_reason)
{
	static const struct knowledge_case benign = {.class = KNOWLEDGE_BENIGN};
	static const struct knowledge_case fault = {.class = KNOWLEDGE_FAULT};
	struct record record = drop();

	record.drop.cause.verdict.candidate[0] = &benign;
	record.drop.cause.verdict.candidate[1] = &fault;
	record.drop.cause.verdict.candidates = 2;
	check_round_trip(&record);
}

/* The kernel's longest names, for each place that has one. */
TEST(test_longest)
{
	static char symbol[SYMBOLS_TEXT_MAX], path[PATH_MAX], netns[NAME_MAX + 1];
	static struct record record;
	const struct owner owner = {.cgroup = path};
	struct journey *journey = &record.journey;
	struct drop *missing = &journey->missing;

	memset(symbol, 's', sizeof(symbol) - 1);
	memset(path, '/', sizeof(path) - 1);
	memset(netns, 'n', sizeof(netns) - 1);
	record = (struct record){.kind = RECORDS_LATENCY};
	journey->time_ns = 1000000007;
	journey->outcome = NF_OUTCOME_DELIVERED;
	for (int i = 0; i < NF_STAGE_COUNT; i++)
		journey->stages.stage[journey->stages.count++] =
			(struct stage_time){(enum nf_stage)i, 1000000000};
	for (int i = 0; i < NF_JOURNEY_DEVICES; i++)
		journey->device[journey->devices++] = (struct device){
			.name = "sixteen-letters", .netns = UINT32_MAX, .netns_name = netns};
	journey->has_contents = true;
	contents_read(&journey->contents, &bytes);
	journey->task = &task;
	journey->owner = &owner;
	journey->has_missing = true;
	*missing = drop().drop;
	missing->device = journey->device[0];
	missing->owner = &owner;
	missing->cause.location = symbol;
	for (int i = 0; i < NF_DROP_STACK_MAX; i++)
		missing->stack[missing->stack_count++] = symbol;
	check_round_trip(&record);
}

/* A record of an earlier boot is as old as the file says. */
TEST(test_before_the_boot)
{
	static uint8_t stored_bytes[STORED_RECORD_MAX];
	static struct stored_record stored;
	struct record record = drop();
	OWN_JSON json_t *object = NULL;
	int64_t time_us;
	size_t size = stored_record_write(&record, &time_us, stored_bytes);

	setenv("TZ", "UTC", 1);
	tzset();
	time_us = 1000000000000000 + time_us % 1000000;
	assert_int_equal(stored_record_read(&stored, RECORDS_DROPS, time_us, stored_bytes, size),
			 0);
	object = json_drop_record(&stored.record.drop);
	assert_memory_equal(json_string_value(json_object_get(object, "time")),
			    "2001-09-09T01:46:40", 19);
}

/* Nothing is no record, nor is one that was cut. */
TEST(test_damaged)
{
	static uint8_t stored_bytes[STORED_RECORD_MAX];
	static struct stored_record stored;
	struct record record = drop();
	int64_t time_us;
	size_t size = stored_record_write(&record, &time_us, stored_bytes);

	for (int kind = 0; kind < RECORDS_KINDS; kind++)
		assert_int_equal(stored_record_read(&stored, (enum record_kind)kind, time_us,
						    stored_bytes, 0),
				 -EBADMSG);
	for (size_t i = 0; i < size; i++) {
		int r = stored_record_read(&stored, RECORDS_DROPS, time_us, stored_bytes, i);

		assert_true(r == 0 || r == -EBADMSG);
	}
}
