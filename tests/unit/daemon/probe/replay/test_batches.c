/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records that one thread adds and another visits: all of them, whole, in order, and whoever ends first. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/thread.h"
#include "daemon/probe/replay/batches.h"

#define RECORDS 100000
#define STACK_BYTES ((size_t)1 << 20)

static struct batches *batches;
static pthread_t reader;
static int added;

/* Sizes of 0 to 512 bytes, in no order that a batch has. */
static size_t size_of(uint64_t i)
{
	return i * 2654435761U % 513;
}

static void *add(void *userdata)
{
	const uint64_t *records = userdata;
	unsigned char data[512];

	added = 0;
	for (uint64_t i = 0; i < *records && added == 0; i++) {
		const struct batches_record record = {
			.time_ns = i,
			.cpu = (uint32_t)i % 7,
			.after_loss = i % 1000 == 999,
			.lost = i % 2000 == 1999 ? i : 0,
			.size = size_of(i),
			.data = data,
		};

		memset(data, (int)i, sizeof(data));
		added = batches_add(batches, &record);
	}
	batches_end(batches);
	return NULL;
}

struct seen {
	uint64_t records, losses, lost, last;
};

static int record(void *userdata, uint32_t cpu, uint64_t time_ns, const void *data, size_t size)
{
	struct seen *seen = userdata;
	const unsigned char *bytes = data;

	assert_int_equal(time_ns, seen->records);
	assert_int_equal(cpu, (uint32_t)time_ns % 7);
	assert_int_equal(size, size_of(time_ns));
	assert_int_equal((uintptr_t)data % sizeof(uint64_t), 0);
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != (unsigned char)time_ns)
			fail_msg("byte %zu of record %llu", i, (unsigned long long)time_ns);
	seen->records++;
	return seen->records == seen->last ? -EOVERFLOW : 0;
}

static void lost(void *userdata, uint32_t cpu, uint64_t events)
{
	struct seen *seen = userdata;

	/* Before the record that it is told with. */
	assert_int_equal(seen->records % 1000, 999);
	assert_int_equal(cpu, (uint32_t)seen->records % 7);
	seen->losses++;
	seen->lost += events;
}

static int visit(uint64_t records, struct seen *seen)
{
	const struct recording_visitor visitor = {.record = record, .lost = lost, .userdata = seen};
	int r;

	assert_int_equal(batches_new(&batches), 0);
	assert_int_equal(thread_start(&reader, STACK_BYTES, add, &records), 0);
	r = batches_visit(batches, &visitor);
	assert_int_equal(pthread_join(reader, NULL), 0);
	batches_free(&batches);
	assert_null(batches);
	return r;
}

static void test_all_in_order(void **state)
{
	struct seen seen = {};

	(void)state;
	assert_int_equal(visit(RECORDS, &seen), 0);
	assert_int_equal(added, 0);
	assert_int_equal(seen.records, RECORDS);
	assert_int_equal(seen.losses, RECORDS / 1000);
	assert_int_equal(seen.lost, RECORDS / 2000 * (1999 + RECORDS - 1) / 2);
}

static void test_none(void **state)
{
	struct seen seen = {};

	(void)state;
	assert_int_equal(visit(0, &seen), 0);
	assert_int_equal(seen.records, 0);
}

/* A reader that is far ahead stops, and does not wait for ever. */
static void test_visitor_that_ends(void **state)
{
	struct seen seen = {.last = 10};

	(void)state;
	assert_int_equal(visit(RECORDS, &seen), -EOVERFLOW);
	assert_int_equal(added, -ECANCELED);
	assert_int_equal(seen.records, 10);
	seen = (struct seen){.last = 10};
	assert_int_equal(visit(10, &seen), -EOVERFLOW);
	assert_int_equal(added, 0);
}

static void test_too_large(void **state)
{
	static unsigned char page[1 << 20];
	const struct batches_record large = {.size = sizeof(page), .data = page};

	(void)state;
	assert_int_equal(batches_new(&batches), 0);
	assert_int_equal(batches_add(batches, &large), -EFBIG);
	batches_free(&batches);
	batches_free(&batches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_in_order),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_visitor_that_ends),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
