/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "daemon/store/recent.h"
#include "tests/unit/test.h"

static const struct share_cause cause;
static const struct recent_layout drop_layout = {.record_size = sizeof(struct nf_drop_record),
						 .plain_size = NF_DROP_RECORD_PLAIN};

static void add(struct recent *recent, uint64_t time)
{
	struct nf_journey_record record = {
		.header = {.type = NF_RECORD_JOURNEY, .size = sizeof(record), .time_ns = time},
		.cgroup = time * 2,
	};

	recent_add(recent, &record.header, &cause, NULL);
}

TEST(test_keeps_the_newest)
{
	struct recent *recent = NULL;

	assert_int_equal(
		recent_new(&recent, 3,
			   &(struct recent_layout){.record_size = sizeof(struct nf_journey_record),
						   .plain_size = sizeof(struct nf_journey_record)},
			   NULL),
		0);
	assert_int_equal(recent_capacity(recent), 3);
	assert_null(recent_newest(recent, 0));
	for (uint64_t time = 1; time <= 5; time++)
		add(recent, time);
	assert_int_equal(recent_count(recent), 3);
	for (size_t i = 0; i < 3; i++) {
		const struct nf_record *record = recent_newest(recent, i);

		assert_int_equal(record->time_ns, 5 - i);
		assert_int_equal(((const struct nf_journey_record *)record)->cgroup, 2 * (5 - i));
	}
	assert_null(recent_newest(recent, 3));
	assert_null(recent_newest(recent, SIZE_MAX));
	recent_free(&recent);
	assert_null(recent);
	recent_free(&recent);
}

/* A short record that replaces a long one must not show the long one's stack. */
TEST(test_takes_records_of_both_sizes)
{
	struct nf_drop_record record = {.header.size = sizeof(record), .stack_len = 4};
	void *memory = malloc(NF_DROP_RECORD_PLAIN);
	struct nf_drop_record *plain = memory;
	struct recent *recent = NULL;
	const struct nf_drop_record *kept;

	assert_non_null(plain);
	assert_int_equal(recent_new(&recent, 1, &drop_layout, NULL), 0);
	recent_add(recent, &record.header, &cause, NULL);
	kept = (const struct nf_drop_record *)recent_newest(recent, 0);
	assert_int_equal(kept->stack_len, 4);
	assert_int_equal(kept->header.size, sizeof(record));
	record.header.size = NF_DROP_RECORD_PLAIN;
	record.stack_len = 0;
	memcpy(plain, &record, NF_DROP_RECORD_PLAIN);
	recent_add(recent, &plain->header, &cause, NULL);
	kept = (const struct nf_drop_record *)recent_newest(recent, 0);
	assert_int_equal(kept->stack_len, 0);
	assert_int_equal(kept->header.size, NF_DROP_RECORD_PLAIN);
	recent_free(&recent);
	free(plain);
}

/* A record that is too long is cut, and its size says so. */
TEST(test_cuts_what_is_too_long)
{
	struct nf_drop_record record = {.header.size = sizeof(record), .reason = 7};
	struct recent *recent = NULL;

	assert_int_equal(recent_new(&recent, 2,
				    &(struct recent_layout){.record_size = NF_DROP_RECORD_PLAIN,
							    .plain_size = NF_DROP_RECORD_PLAIN},
				    NULL),
			 0);
	for (int i = 0; i < 3; i++)
		recent_add(recent, &record.header, &cause, NULL);
	for (size_t i = 0; i < 2; i++) {
		const struct nf_record *kept = recent_newest(recent, i);

		assert_int_equal(kept->size, NF_DROP_RECORD_PLAIN);
		assert_int_equal(((const struct nf_drop_record *)kept)->reason, 7);
	}
	recent_free(&recent);
}

/* Records of any size stay aligned. */
TEST(test_keeps_records_aligned)
{
	struct recent *recent = NULL;

	assert_int_equal(
		recent_new(&recent, 4,
			   &(struct recent_layout){.record_size = sizeof(struct nf_record) + 3,
						   .plain_size = sizeof(struct nf_record) + 3},
			   NULL),
		0);
	for (uint64_t time = 1; time <= 4; time++) {
		struct nf_record record = {.size = sizeof(record), .time_ns = time};

		recent_add(recent, &record, &cause, NULL);
	}
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal((uintptr_t)recent_newest(recent, i) % _Alignof(struct nf_record),
				 0);
		assert_int_equal(recent_newest(recent, i)->time_ns, 4 - i);
	}
	recent_free(&recent);
}

/* Any index in any order, with additions in between, and with records of two causes. */
TEST(test_reads_in_any_order)
{
	OWN_RECENT struct recent *recent = NULL;
	uint64_t expected[50];
	size_t count = 0;

	srand(1);
	assert_int_equal(recent_new(&recent, 50, &drop_layout, NULL), 0);
	for (uint64_t time = 1; time <= 5000; time++) {
		struct nf_drop_record record = {
			.header = {.size = sizeof(record), .time_ns = time}};
		const struct share_cause one = {.member = time % 3 != 0};
		uint64_t gone;

		recent_add(recent, &record.header, &one, NULL);
		if (count == 50) {
			/* Of one group, the member that has most gives its oldest: read all to find the gap. */
			for (gone = 0; gone < 49; gone++)
				if (recent_newest(recent, 49 - gone)->time_ns != expected[gone])
					break;
			count--;
			memmove(&expected[gone], &expected[gone + 1],
				(count - gone) * sizeof(expected[0]));
		}
		expected[count++] = time;
		for (int turn = 0; turn < 20; turn++) {
			size_t i = (size_t)rand() % count;

			assert_int_equal(recent_newest(recent, i)->time_ns,
					 expected[count - 1 - i]);
		}
	}
	assert_int_equal(recent_causes(recent), 2);
}

TEST(test_refuses_more_than_can_be)
{
	struct recent *recent = NULL;

	assert_true(recent_new(&recent, SIZE_MAX / 8,
			       &(struct recent_layout){.record_size = sizeof(struct nf_drop_record),
						       .plain_size = sizeof(struct nf_drop_record)},
			       NULL) < 0);
	assert_null(recent);
}
