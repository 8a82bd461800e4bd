/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of a reading: keys whose evidence says the same share one, and each key gets the one that it has alone. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/core/drop.h"
#include "daemon/core/infer.h"
#include "daemon/core/names.h"
#include "daemon/kernel/symbols.h"
#include "daemon/store/cause_index.h"
#include "daemon/store/causes.h"
#include "daemon/store/records.h"
#include "tests/unit/test.h"

#define RCV UINT64_C(0xffffffff81000100)
#define INVALIDATE UINT64_C(0xffffffff81000200)

static struct names *names;
static struct symbols *symbols;
static struct records *records;
static struct causes *causes;

static int setup(void **state)
{
	static const size_t capacity[RECORDS_KINDS] = {8, 8, 8};
	static const char table[] = "ffffffff81000100 T tcp_v4_rcv\n"
				    "ffffffff81000200 T neigh_invalidate\n"
				    "ffffffff81000300 T end\n";
	char path[] = "/tmp/test_causes_XXXXXX";
	int fd = mkstemp(path);
	struct records_sources sources;

	(void)state;
	if (fd < 0 || write(fd, table, sizeof(table) - 1) < 0 || names_new(&names) < 0 ||
	    names_add_reason(names, 2, "NOT_SPECIFIED") < 0 || symbols_new(&symbols) < 0 ||
	    symbols_load(symbols, path, NULL) < 0)
		return -1;
	close(fd);
	unlink(path);
	sources = (struct records_sources){.names = names, .symbols = symbols};
	return records_new(&records, capacity, &sources) < 0 ? -1
							     : causes_new(&causes, records, true);
}

static int teardown(void **state)
{
	(void)state;
	causes_free(&causes);
	records_free(&records);
	symbols_free(&symbols);
	names_free(&names);
	return 0;
}

EACH_TEST(setup, teardown);

static struct nf_drop_key key_of(uint64_t location, uint64_t evidence)
{
	return (struct nf_drop_key){.reason = 2, .location = location, .evidence = evidence};
}

static int by_address(const void *x, const void *y)
{
	return ORDER(*(const struct cause *const *)x, *(const struct cause *const *)y);
}

static size_t count_different(const struct cause **all, size_t count)
{
	size_t different = 1;

	qsort(all, count, sizeof(*all), by_address);
	for (size_t i = 1; i < count; i++)
		different += all[i] != all[i - 1];
	return different;
}

/* What a key means by itself is what it means beside 100,000 others, whose evidence a stranger chose. */
TEST(test_evidence_that_says_the_same_shares_a_cause)
{
	enum { KINDS = 100000 };
	static const struct cause *all[KINDS];
	const struct cause *first;

	for (uint64_t i = 0; i < KINDS; i++) {
		uint64_t random = i * UINT64_C(0x9e3779b97f4a7c15);
		struct nf_drop_key key = key_of(RCV + 9, random | NF_EVIDENCE_KNOWN);
		const struct cause *cause = causes_of(causes, &key);
		struct cause alone;

		assert_non_null(cause);
		records_cause(records, true, &key, &alone);
		assert_int_equal(verdict_compare(&cause->verdict, &alone.verdict), 0);
		assert_string_equal(cause->verdict.function, "tcp_v4_rcv");
		assert_null(cause->location);
		assert_ptr_equal(causes_of(causes, &key), cause);
		all[i] = cause;
	}
	first = all[0];
	assert_true(count_different(all, KINDS) < 4000);
	assert_ptr_equal(causes_of(causes, &(struct nf_drop_key){.reason = 2,
								 .location = RCV + 9,
								 .evidence = NF_EVIDENCE_KNOWN}),
			 first);
}

TEST(test_locations_have_causes_of_their_own)
{
	struct nf_drop_key key = key_of(RCV + 9, 0), other = key_of(INVALIDATE + 9, 0),
			   later = key_of(INVALIDATE + 17, 0);

	assert_string_equal(causes_of(causes, &key)->verdict.function, "tcp_v4_rcv");
	assert_string_equal(causes_of(causes, &other)->verdict.reason, "NEIGH_FAILED");
	assert_true(causes_of(causes, &other)->verdict.inferred);
	assert_ptr_not_equal(causes_of(causes, &other), causes_of(causes, &later));
	assert_ptr_not_equal(causes_of(causes, &other), causes_of(causes, &key));
}

TEST(test_index)
{
	OWN_CAUSE_INDEX struct cause_index *index = NULL;

	assert_int_equal(cause_index_new(&index), 0);
	for (uint32_t i = 1; i <= 10000; i++) {
		struct nf_drop_key key = {.reason = i % 7, .location = i % 11, .evidence = i};

		assert_int_equal(cause_index_find(index, &key), 0);
		assert_int_equal(cause_index_add(index, &key, i), 0);
		/* Other members do not count. */
		key.device = i;
		assert_int_equal(cause_index_find(index, &key), i);
	}
	for (uint32_t i = 1; i <= 10000; i++)
		assert_int_equal(cause_index_find(index, &(struct nf_drop_key){.reason = i % 7,
									       .location = i % 11,
									       .evidence = i}),
				 i);
}
