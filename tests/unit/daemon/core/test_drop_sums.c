/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "daemon/core/drop_sums.h"
#include "tests/unit/test.h"

#define KEYS 64
#define REASONS 5

/* The sums by reason of everything that was ever kept, and of one reading. */
struct model {
	uint64_t kept[REASONS], read[REASONS];
};

struct seen {
	uint64_t packets[REASONS], segments, bytes;
	size_t rows, gone, with_namespace;
};

static struct drop_sum sum(uint32_t reason, uint64_t location, uint32_t netns, uint32_t ifindex,
			   uint64_t packets, uint64_t last_ns)
{
	return (struct drop_sum){
		.key = {.reason = reason, .location = location, .netns = netns, .device = ifindex},
		.netns = netns ? 4026532000U + netns : 0,
		.device = "eth0",
		.count = {packets, 2 * packets, 100 * packets, last_ns},
	};
}

static void keep(struct drop_sums *sums, struct drop_sum one)
{
	assert_int_equal(drop_sums_reserve(sums, 1), 0);
	drop_sums_keep(sums, &one);
}

static int see(const struct drop_sum *sum, void *userdata)
{
	struct seen *seen = userdata;

	assert_true(sum->count.packets > 0);
	seen->packets[sum->key.reason] += sum->count.packets;
	seen->segments += sum->count.segments;
	seen->bytes += sum->count.bytes;
	seen->rows++;
	seen->gone += sum->gone;
	seen->with_namespace += sum->netns != 0;
	if (sum->gone) {
		assert_int_equal(sum->netns, 0);
		assert_int_equal(sum->key.device, 0);
		assert_string_equal(sum->device, "");
	}
	return 0;
}

static struct seen visit(const struct drop_sums *sums)
{
	struct seen seen = {0};

	assert_int_equal(drop_sums_visit(sums, see, &seen), 0);
	return seen;
}

struct wanted {
	struct nf_drop_key key;
	uint64_t packets;
};

static int look_for(const struct drop_sum *sum, void *userdata)
{
	struct wanted *wanted = userdata;

	if (!sum->gone && !memcmp(&sum->key, &wanted->key, sizeof(wanted->key)))
		wanted->packets += sum->count.packets;
	return 0;
}

static uint64_t packets_of(const struct drop_sums *sums, struct drop_sum one)
{
	struct wanted wanted = {.key = one.key};

	drop_sums_visit(sums, look_for, &wanted);
	return wanted.packets;
}

TEST(test_reading_adds_to_what_is_kept)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct drop_sum a = sum(1, 10, 7, 2, 5, 100), b = sum(1, 10, 7, 3, 1, 100);

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	keep(sums, a);
	for (int reading = 0; reading < 3; reading++) {
		drop_sums_begin(sums);
		assert_int_equal(drop_sums_add(sums, &a), 0);
		assert_int_equal(drop_sums_add(sums, &b), 0);
		assert_int_equal(packets_of(sums, a), 10);
		assert_int_equal(packets_of(sums, b), 1);
		assert_int_equal(visit(sums).rows, 2);
		assert_int_equal(drop_sums_kept(sums), 1);
	}
	drop_sums_begin(sums);
	assert_int_equal(packets_of(sums, a), 5);
	assert_int_equal(packets_of(sums, b), 0);
}

TEST(test_idle_keys_fold_first)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct seen seen;

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint32_t i = 0; i <= KEYS; i++) {
		assert_int_equal(drop_sums_fold(sums), 0);
		keep(sums, sum(1, 10, 1 + i, 1, 1 + i, 1000 + i));
	}
	assert_int_equal(drop_sums_fold(sums), KEYS + 1 - KEYS / 2);
	assert_int_equal(drop_sums_kept(sums), KEYS / 2);
	for (uint32_t i = 0; i <= KEYS; i++)
		assert_int_equal(packets_of(sums, sum(1, 10, 1 + i, 1, 0, 0)),
				 i > KEYS / 2 ? 1 + i : 0);
	seen = visit(sums);
	assert_int_equal(seen.rows, KEYS / 2 + 1);
	assert_int_equal(seen.gone, 1);
	assert_int_equal(seen.packets[1], (KEYS + 1) * (KEYS + 2) / 2);
	assert_int_equal(seen.segments, 2 * seen.packets[1]);
	assert_int_equal(seen.bytes, 100 * seen.packets[1]);
}

/* Two namespaces with one inode number: only the one with the newest drop can exist. */
TEST(test_keys_of_gone_namespaces_fold_before_idle_ones)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct drop_sum idle, gone, alive;

	assert_int_equal(drop_sums_new(&sums, 4), 0);
	idle = sum(1, 10, 1, 1, 1, 1);
	gone = sum(1, 10, 2, 1, 1, 900);
	alive = sum(1, 10, 3, 1, 1, 901);
	alive.netns = gone.netns;
	keep(sums, idle);
	keep(sums, gone);
	keep(sums, alive);
	for (uint32_t i = 0; i < 2; i++)
		keep(sums, sum(1, 10, 4 + i, 1, 1, 800 + i));
	assert_int_equal(drop_sums_fold(sums), 3);
	assert_int_equal(packets_of(sums, gone), 0);
	assert_int_equal(packets_of(sums, idle), 0);
	assert_int_equal(packets_of(sums, alive), 1);
	assert_int_equal(packets_of(sums, sum(1, 10, 5, 1, 0, 0)), 1);
}

/* A device whose namespace is not known says nothing about others. */
TEST(test_unknown_namespaces_are_not_gone)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;

	assert_int_equal(drop_sums_new(&sums, 4), 0);
	for (uint32_t i = 0; i < 5; i++)
		keep(sums, sum(1, 10 + i, 0, 1, 1, 1000 - i));
	drop_sums_fold(sums);
	assert_int_equal(packets_of(sums, sum(1, 10, 0, 1, 0, 0)), 1);
	assert_int_equal(packets_of(sums, sum(1, 11, 0, 1, 0, 0)), 1);
	assert_int_equal(packets_of(sums, sum(1, 14, 0, 1, 0, 0)), 0);
}

TEST(test_keys_that_come_again_stay)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct drop_sum steady = sum(1, 10, 1, 1, 1, 5);

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	keep(sums, steady);
	keep(sums, steady);
	for (uint32_t i = 0; i < 100 * KEYS; i++) {
		keep(sums, sum(1, 10, 2 + i, 1, 1, 1000 + i));
		drop_sums_fold(sums);
	}
	assert_int_equal(packets_of(sums, steady), 2);
	assert_true(drop_sums_kept(sums) <= KEYS);
	assert_int_equal(visit(sums).packets[1], 2 + 100 * KEYS);
}

/* More locations than the kernel has: the rest of a reason has one sum, and none is lost. */
TEST(test_folded_sums_are_limited)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct seen seen;

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint32_t i = 0; i < 4 * DROP_SUMS_GONE_MAX; i++) {
		keep(sums, sum(i % REASONS, 10 + i, 1, 1, 1, i));
		drop_sums_fold(sums);
	}
	seen = visit(sums);
	assert_true(seen.gone <= DROP_SUMS_GONE_MAX + REASONS);
	assert_true(seen.gone >= DROP_SUMS_GONE_MAX);
	for (int i = 0; i < REASONS; i++)
		assert_in_range(seen.packets[i], 4 * DROP_SUMS_GONE_MAX / REASONS,
				4 * DROP_SUMS_GONE_MAX / REASONS + 1);
}

struct evidence_seen {
	uint64_t full, no_bytes, none, messages;
};

static int see_evidence(const struct drop_sum *sum, void *userdata)
{
	struct evidence_seen *seen = userdata;

	if (sum->key.evidence & NF_EVIDENCE_MESSAGE)
		seen->messages += sum->count.packets;
	else if (sum->key.evidence & NF_EVIDENCE_FULL)
		seen->full += sum->count.packets;
	else if (sum->key.evidence & NF_EVIDENCE_NO_BYTES)
		seen->no_bytes += sum->count.packets;
	else
		seen->none += sum->count.packets;
	return 0;
}

/* What a drop means does not fold: evidence stays with reason and location, and messages stay apart in any case. */
TEST(test_folded_sums_keep_evidence)
{
	static const uint64_t evidence[] = {NF_EVIDENCE_KNOWN | NF_EVIDENCE_FULL,
					    NF_EVIDENCE_KNOWN | NF_EVIDENCE_NO_BYTES,
					    NF_EVIDENCE_KNOWN | NF_EVIDENCE_MESSAGE, 0};
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct evidence_seen seen = {0};

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint32_t i = 0; i < 40 * KEYS; i++) {
		struct drop_sum one = sum(2, 10, 1, 1 + i, 1, i);

		one.key.evidence = evidence[i % 4];
		keep(sums, one);
		drop_sums_fold(sums);
	}
	drop_sums_visit(sums, see_evidence, &seen);
	assert_int_equal(seen.full, 10 * KEYS);
	assert_int_equal(seen.no_bytes, 10 * KEYS);
	assert_int_equal(seen.messages, 10 * KEYS);
	assert_int_equal(seen.none, 10 * KEYS);
	/* More locations than there is room for. */
	for (uint32_t i = 0; i < 4 * DROP_SUMS_GONE_MAX; i++) {
		struct drop_sum one = sum(2, 100 + i, 1, 1, 1, i);

		one.key.evidence = evidence[i % 4];
		keep(sums, one);
		drop_sums_fold(sums);
	}
	seen = (struct evidence_seen){0};
	drop_sums_visit(sums, see_evidence, &seen);
	assert_int_equal(seen.messages, 10 * KEYS + DROP_SUMS_GONE_MAX);
}

static int count_kinds(const struct drop_sum *sum, void *userdata)
{
	uint64_t *seen =
		userdata; /* sums of location 10, packets of it, messages, packets of location 11 */

	if (sum->gone && sum->key.location == 10)
		seen[0]++;
	/* Only the rest, which has no evidence, is of keys that had some. */
	assert_int_equal(sum->mixed, sum->gone && sum->key.location == 10 &&
					     !(sum->key.evidence & NF_EVIDENCE_KNOWN));
	if (sum->key.location == 10)
		seen[1] += sum->count.packets;
	if (sum->key.evidence & NF_EVIDENCE_MESSAGE)
		seen[2] += sum->count.packets;
	if (sum->key.location == 11 && sum->key.evidence == NF_EVIDENCE_KNOWN)
		seen[3] += sum->count.packets;
	return 0;
}

/* Evidence that a sender chooses: many kinds at one location leave room for the other locations, and none is lost. */
TEST(test_evidence_of_a_location_is_limited)
{
	enum { MANY = 4 * DROP_SUMS_GONE_MAX };
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	uint64_t seen[4] = {0}, messages = 0;

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		struct drop_sum one = sum(2, i < MANY / 2 || i & 1 ? 10 : 11, 1, 1 + i, 1, i);

		one.key.evidence = NF_EVIDENCE_KNOWN;
		if (one.key.location == 10)
			one.key.evidence |= ((uint64_t)i << 32) | (i % 7 ? 0 : NF_EVIDENCE_MESSAGE);
		messages += !!(one.key.evidence & NF_EVIDENCE_MESSAGE);
		keep(sums, one);
		drop_sums_fold(sums);
	}
	drop_sums_visit(sums, count_kinds, seen);
	assert_int_equal(seen[0], DROP_SUMS_EVIDENCES_MAX + 2);
	assert_int_equal(seen[1], MANY / 2 + MANY / 4);
	assert_int_equal(seen[2], messages);
	assert_int_equal(seen[3], MANY / 4);
}

static int stop_at_third(const struct drop_sum *sum, void *userdata)
{
	int *visits = userdata;

	(void)sum;
	return ++*visits == 3 ? -7 : 0;
}

TEST(test_visit_stops)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	int visits = 0;

	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint32_t i = 0; i < 10; i++)
		keep(sums, sum(1, 10, 1 + i, 1, 1, 1));
	assert_int_equal(drop_sums_visit(sums, stop_at_third, &visits), -7);
	assert_int_equal(visits, 3);
}

static void one_round(struct drop_sums *sums, struct model *model, uint64_t now)
{
	unsigned int kept = (unsigned int)rand() % 50, read = (unsigned int)rand() % 50;

	drop_sums_begin(sums);
	memset(model->read, 0, sizeof(model->read));
	for (unsigned int i = 0; i < kept; i++) {
		struct drop_sum one =
			sum((uint32_t)rand() % REASONS, (uint64_t)(10 + rand() % 7),
			    (uint32_t)rand() % 300, (uint32_t)rand() % 3, 1 + rand() % 9, now + i);

		one.netns = one.key.netns % 40;
		keep(sums, one);
		model->kept[one.key.reason] += one.count.packets;
	}
	drop_sums_fold(sums);
	assert_true(drop_sums_kept(sums) <= KEYS);
	for (unsigned int i = 0; i < read; i++) {
		struct drop_sum one =
			sum((uint32_t)rand() % REASONS, (uint64_t)(10 + rand() % 7),
			    (uint32_t)rand() % 300, (uint32_t)rand() % 3, 1 + rand() % 9, now + i);

		assert_int_equal(drop_sums_add(sums, &one), 0);
		model->read[one.key.reason] += one.count.packets;
	}
}

/* Whatever comes, the sums by reason are those of a model that never folds. */
TEST(test_sums_by_reason_are_exact)
{
	OWN_DROP_SUMS struct drop_sums *sums = NULL;
	struct model model = {0};

	srand(4711);
	assert_int_equal(drop_sums_new(&sums, KEYS), 0);
	for (uint64_t round = 0; round < 3000; round++) {
		struct seen seen;

		one_round(sums, &model, round * 100);
		seen = visit(sums);
		for (int i = 0; i < REASONS; i++)
			assert_int_equal(seen.packets[i], model.kept[i] + model.read[i]);
	}
}
