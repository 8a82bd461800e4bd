/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which record goes, compared with a model that looks at all records each time. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/ranking.h"
#include "daemon/store/shares.h"
#include "tests/unit/test.h"

#define ROOM 64 /* records of the model */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(random_state >> 33) % below;
}

/* ---- the ranking ------------------------------------------------------------ */

TEST(test_ranking)
{
	struct rank ranks[ROOM + 1] = {0};
	bool ranked[ROOM + 1] = {0};
	OWN_RANKING struct ranking *ranking = NULL;

	random_state = 1;
	assert_int_equal(ranking_new(&ranking, ROOM), 0);
	assert_int_equal(ranking_below(ranking, UINT64_MAX), 0);
	for (int turn = 0; turn < 100000; turn++) {
		uint32_t item = 1 + draw(ROOM), limit = draw(20), best = 0;

		ranked[item] = draw(3);
		if (ranked[item]) {
			ranks[item] = (struct rank){.high = draw(20), .low = draw(5)};
			ranking_set(ranking, item, ranks[item]);
		} else {
			ranking_remove(ranking, item);
		}
		for (uint32_t i = 1; i <= ROOM; i++)
			if (ranked[i] && ranks[i].high < limit &&
			    (!best || ranks[i].high > ranks[best].high ||
			     (ranks[i].high == ranks[best].high &&
			      ranks[i].low >= ranks[best].low)))
				best = i;
		assert_int_equal(ranking_below(ranking, limit), best);
	}
}

/* ---- the model -------------------------------------------------------------- */

/* Records from the oldest to the newest. */
struct model {
	size_t count;
	struct held {
		uint32_t record;
		struct share_cause cause;
	} held[ROOM + 1];
};

static bool same_group(const struct held *a, const struct held *b)
{
	return !memcmp(a->cause.group, b->cause.group, sizeof(a->cause.group));
}

static bool same_cause(const struct held *a, const struct held *b)
{
	return same_group(a, b) && a->cause.member == b->cause.member;
}

typedef bool (*same_as)(const struct held *a, const struct held *b);

static size_t count_same(const struct model *model, size_t at, same_as same)
{
	size_t count = 0;

	for (size_t i = 0; i < model->count; i++)
		count += same(&model->held[i], &model->held[at]);
	return count;
}

static bool is_newest(const struct model *model, size_t at)
{
	for (size_t i = at + 1; i < model->count; i++)
		if (same_cause(&model->held[i], &model->held[at]))
			return false;
	return true;
}

static size_t causes(const struct model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < model->count; i++)
		count += is_newest(model, i);
	return count;
}

/* The records of the group, or only those that are not the newest of their cause. */
static size_t weight(const struct model *model, size_t at, bool protect)
{
	size_t count = 0;

	for (size_t i = 0; i < model->count; i++)
		count += same_group(&model->held[i], &model->held[at]) &&
			 !(protect && is_newest(model, i));
	return count;
}

/* The member's oldest record, if no member of its group has more records, or as many and an older one. */
static bool is_candidate(const struct model *model, size_t at)
{
	size_t own = count_same(model, at, same_cause);

	for (size_t i = 0; i < model->count; i++) {
		size_t other = count_same(model, i, same_cause);

		if (same_group(&model->held[i], &model->held[at]) &&
		    (other > own || (other == own && i < at)))
			return false;
	}
	return true;
}

static size_t expected(const struct model *model)
{
	bool protect = causes(model) <= model->count / 2;
	size_t best = SIZE_MAX, most = 0;

	for (size_t i = 0; i < model->count; i++) {
		size_t own = weight(model, i, protect);

		if (is_candidate(model, i) && (best == SIZE_MAX || own > most)) {
			best = i;
			most = own;
		}
	}
	return best;
}

static uint32_t model_give(struct model *model)
{
	size_t at = expected(model);
	uint32_t record = model->held[at].record;

	model->count--;
	memmove(&model->held[at], &model->held[at + 1],
		(model->count - at) * sizeof(model->held[0]));
	return record;
}

/* One flood, a few usual causes and many members, in changing proportions. */
static struct share_cause draw_cause(uint32_t mood)
{
	switch (draw(4) ? mood : draw(3)) {
	case 0:
		return (struct share_cause){.group = {7, 7}, .member = 7};
	case 1:
		return (struct share_cause){.group = {draw(3), draw(2)}, .member = draw(4)};
	default:
		return (struct share_cause){.group = {9, draw(2)}, .member = draw(1000000)};
	}
}

TEST(test_model)
{
	random_state = 2;
	for (uint32_t room = 1; room <= 40; room += 1 + room / 3) {
		OWN_SHARES struct shares *shares = NULL;
		struct model model = {0};
		uint32_t free = 1;

		assert_int_equal(shares_new(&shares, room + 1), 0);
		for (int turn = 0; turn < 3000; turn++) {
			struct share_cause cause = draw_cause((uint32_t)turn / 100 % 3);

			shares_add(shares, free, &cause);
			model.held[model.count++] = (struct held){free, cause};
			assert_int_equal(shares_causes(shares), causes(&model));
			if (model.count <= room) {
				free = (uint32_t)model.count + 1;
				continue;
			}
			free = model_give(&model);
			assert_int_equal(shares_give(shares), free);
		}
	}
}

/* ---- what it is for --------------------------------------------------------- */

struct store {
	struct shares *shares;
	uint32_t room, count, free;
	struct share_cause *causes; /* by record; a group of all ones: free */
};

static void store_add(struct store *store, uint64_t group, uint64_t member)
{
	const struct share_cause cause = {.group = {group, 1}, .member = member};

	shares_add(store->shares, store->free, &cause);
	store->causes[store->free] = cause;
	if (store->count < store->room) {
		store->free = ++store->count + 1;
		return;
	}
	store->free = shares_give(store->shares);
	store->causes[store->free].group[0] = UINT64_MAX;
}

static size_t store_count(const struct store *store, uint64_t group, uint64_t member)
{
	size_t count = 0;

	for (uint32_t i = 1; i <= store->count + 1 && i <= store->room + 1; i++)
		count += store->causes[i].group[0] == group &&
			 (member == UINT64_MAX || store->causes[i].member == member);
	return count;
}

#define STORE(name, size)                                                         \
	struct share_cause name##_causes[(size) + 2] = {0};                       \
	OWN_SHARES struct shares *name##_shares = NULL;                           \
	struct store name = {.room = (size), .free = 1, .causes = name##_causes}; \
	memset(name##_causes, 0xff, sizeof(name##_causes));                       \
	assert_int_equal(shares_new(&name##_shares, (size) + 1), 0);              \
	name.shares = name##_shares

TEST(test_a_flood)
{
	STORE(store, 1000);

	store_add(&store, 1, 1);
	for (uint64_t i = 0; i < 50; i++)
		store_add(&store, 100 + i, i);
	for (int i = 0; i < 100000; i++)
		store_add(&store, 2, 2);
	assert_int_equal(store_count(&store, 1, 1), 1);
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(store_count(&store, 100 + i, i), 1);
	assert_int_equal(store_count(&store, 2, 2), 1000 - 51);
}

/* Three floods have a third each, whatever their rates. */
TEST(test_floods_share)
{
	STORE(store, 999);

	for (int i = 0; i < 100000; i++)
		store_add(&store, i % 10 ? 1 : i % 20 ? 2 : 3, 1);
	for (uint64_t group = 1; group <= 3; group++)
		assert_in_range(store_count(&store, group, 1), 332, 334);
}

/* A thousand pods with one record each keep it, although other causes flood. */
TEST(test_many_members_keep_their_newest)
{
	STORE(store, 4096);

	for (uint64_t i = 0; i < 1000; i++)
		store_add(&store, 1, i);
	for (int i = 0; i < 100000; i++)
		store_add(&store, 2 + (uint64_t)i % 20, 1);
	assert_int_equal(store_count(&store, 1, UINT64_MAX), 1000);
}

/*
 * A million namespaces, one record each in four groups, do not push out what others have: neither a flood's fair share
 * nor the only record of a quiet cause.
 */
TEST(test_a_million_members)
{
	STORE(store, 4096);

	for (uint64_t i = 0; i < 20; i++)
		store_add(&store, 100 + i, 1);
	for (int i = 0; i < 10000; i++)
		store_add(&store, 1, 1);
	for (uint64_t i = 0; i < 1000000; i++)
		store_add(&store, 2 + i % 4, 10 + i);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(store_count(&store, 100 + i, 1), 1);
	assert_true(store_count(&store, 1, 1) >= 4076 / 5);
	assert_true(shares_causes(store.shares) <= 4096);
	/* A live cause that comes later has its share, too. */
	for (int i = 0; i < 5000; i++)
		store_add(&store, 7, 7);
	assert_true(store_count(&store, 7, 7) >= 4076 / 6 - 1);
}
