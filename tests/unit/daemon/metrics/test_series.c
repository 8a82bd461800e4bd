/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/series.h"
#include "tests/unit/test.h"

#define SECOND UINT64_C(1000000000)
#define KEYS 300
#define GROUPS 5

static const struct series_limits limits = {
	.shown = 4, .idle_ns = 600 * SECOND, .hold_ns = 100 * SECOND};

static struct series_key key_of(uint32_t number)
{
	struct series_key key = {0};

	memcpy(key.bytes, &number, sizeof(number));
	return key;
}

static uint32_t number_of(const struct series_key *key)
{
	uint32_t number;

	memcpy(&number, key->bytes, sizeof(number));
	return number;
}

static void add(struct metrics_series *series, uint32_t key, uint64_t value)
{
	const uint64_t values[SERIES_VALUES] = {value, 2 * value};
	const struct series_key k = key_of(key);

	assert_int_equal(metrics_series_add(series, &k, key % GROUPS, "text", values), 0);
}

static void add_rest(struct metrics_series *series, uint32_t group, uint64_t value)
{
	const uint64_t values[SERIES_VALUES] = {value, 2 * value};

	assert_int_equal(metrics_series_add_rest(series, group, values), 0);
}

/* What the series of a key shows; UINT64_MAX: it has none. */
static uint64_t shown(const struct metrics_series *series, uint32_t key)
{
	struct series_row row;

	for (size_t i = 0; metrics_series_row(series, i, &row); i++)
		if (number_of(row.key) == key) {
			assert_int_equal(row.values[1], 2 * row.values[0]);
			assert_string_equal(row.text, "text");
			return row.values[0];
		}
	return UINT64_MAX;
}

static struct series_group group_of(const struct metrics_series *series, uint32_t number)
{
	struct series_group group;

	for (size_t i = 0; metrics_series_group(series, i, &group); i++)
		if (group.group == number)
			return group;
	fail_msg("there is no group %u", number);
	return group;
}

/* ---- single steps ------------------------------------------------------------- */

TEST(test_with_room_each_key_has_its_whole_count)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	metrics_series_begin(series);
	add(series, 1, 10);
	add(series, 1, 5);
	add(series, 2, 7);
	metrics_series_end(series, &limits, SECOND);
	assert_int_equal(shown(series, 1), 15);
	assert_int_equal(shown(series, 2), 7);
	assert_int_equal(metrics_series_shown(series), 2);
	assert_int_equal(metrics_series_others(series), 0);
	assert_int_equal(group_of(series, 1).other[0], 0);
}

/* Five keys for four series: the one with the fewest events is in "other", with all that it had. */
TEST(test_the_busiest_have_series)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	metrics_series_begin(series);
	for (uint32_t key = 0; key < 5; key++)
		add(series, key * GROUPS, 100 - key);
	metrics_series_end(series, &limits, SECOND);
	assert_int_equal(shown(series, 0), 100);
	assert_int_equal(shown(series, 3 * GROUPS), 97);
	assert_int_equal(shown(series, 4 * GROUPS), UINT64_MAX);
	assert_int_equal(group_of(series, 0).other[0], 96);
	assert_int_equal(group_of(series, 0).total[0], 490);
	assert_int_equal(metrics_series_others(series), 1);
}

static void round_of_five(struct metrics_series *series, const uint64_t values[5], uint64_t now_ns)
{
	metrics_series_begin(series);
	for (uint32_t key = 0; key < 5; key++)
		add(series, key * GROUPS, values[key]);
	metrics_series_end(series, &limits, now_ns);
}

/* A key that gets a series shows what comes from then on; what it had stays where it was counted. */
TEST(test_an_idle_series_is_given_away)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	round_of_five(series, (const uint64_t[]){100, 90, 80, 70, 60}, SECOND);
	/* Not idle for long enough, and not shown for long enough. */
	round_of_five(series, (const uint64_t[]){101, 91, 81, 70, 65}, 90 * SECOND);
	assert_int_equal(shown(series, 4 * GROUPS), UINT64_MAX);
	assert_int_equal(group_of(series, 0).other[0], 65);
	/* Key 3 idle since 1 s. */
	round_of_five(series, (const uint64_t[]){102, 92, 82, 70, 66}, 602 * SECOND);
	assert_int_equal(shown(series, 3 * GROUPS), UINT64_MAX);
	assert_int_equal(shown(series, 4 * GROUPS), 1);
	assert_int_equal(group_of(series, 0).other[0], 65);
	assert_int_equal(group_of(series, 0).unlisted[0], 70);
	/* Key 0 was idle in turn, and key 3 goes on where its series ended. */
	round_of_five(series, (const uint64_t[]){102, 93, 83, 70, 67}, 1200 * SECOND);
	round_of_five(series, (const uint64_t[]){102, 94, 84, 75, 68}, 1300 * SECOND);
	assert_int_equal(shown(series, 0), UINT64_MAX);
	assert_int_equal(shown(series, 3 * GROUPS), 75);
	assert_int_equal(group_of(series, 0).unlisted[0], 102);
}

/* Quiet keys that never stop cannot keep all series for themselves. */
TEST(test_a_much_busier_key_takes_over)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	round_of_five(series, (const uint64_t[]){10, 10, 10, 10, 0}, SECOND);
	round_of_five(series, (const uint64_t[]){11, 11, 11, 11, 1000}, 60 * SECOND);
	assert_int_equal(shown(series, 4 * GROUPS), UINT64_MAX);
	round_of_five(series, (const uint64_t[]){12, 12, 12, 12, 2000}, 120 * SECOND);
	assert_int_equal(shown(series, 4 * GROUPS), 1000);
	assert_int_equal(group_of(series, 0).other[0], 1000);
	assert_int_equal(metrics_series_shown(series), 4);
}

/* The counts of a folded key move to the rest: its series stays, and no event counts twice. */
TEST(test_a_key_that_folds)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	metrics_series_begin(series);
	add(series, 1, 50);
	metrics_series_end(series, &limits, SECOND);
	metrics_series_begin(series);
	add_rest(series, 1, 53);
	metrics_series_end(series, &limits, 2 * SECOND);
	assert_int_equal(shown(series, 1), 50);
	assert_int_equal(group_of(series, 1).other[0], 3);
	metrics_series_begin(series);
	add_rest(series, 1, 53);
	add(series, 1, 4);
	metrics_series_end(series, &limits, 3 * SECOND);
	assert_int_equal(shown(series, 1), 54);
	assert_int_equal(group_of(series, 1).other[0], 3);
	assert_int_equal(group_of(series, 1).total[0], 57);
}

/* Where nothing folds, a smaller count has begun again. */
TEST(test_a_count_that_begins_again)
{
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, false), 0);
	metrics_series_begin(series);
	add(series, 1, 50);
	metrics_series_end(series, &limits, SECOND);
	metrics_series_begin(series);
	metrics_series_end(series, &limits, 2 * SECOND);
	assert_int_equal(shown(series, 1), 50);
	metrics_series_begin(series);
	add(series, 1, 20);
	metrics_series_end(series, &limits, 3 * SECOND);
	assert_int_equal(shown(series, 1), 70);
	metrics_series_begin(series);
	add(series, 1, 25);
	metrics_series_end(series, &limits, 4 * SECOND);
	assert_int_equal(shown(series, 1), 75);
}

TEST(test_a_lower_limit)
{
	const struct series_limits one = {.shown = 1, .idle_ns = SECOND, .hold_ns = SECOND};
	OWN_SERIES struct metrics_series *series = NULL;

	assert_int_equal(metrics_series_new(&series, true), 0);
	round_of_five(series, (const uint64_t[]){100, 90, 80, 70, 60}, SECOND);
	metrics_series_begin(series);
	for (uint32_t key = 0; key < 5; key++)
		add(series, key * GROUPS, 100 - 10 * key);
	metrics_series_end(series, &one, SECOND);
	assert_int_equal(metrics_series_shown(series), 1);
	assert_int_equal(group_of(series, 0).other[0] + group_of(series, 0).unlisted[0] +
				 shown(series, number_of(&(struct series_key){0})),
			 400);
}

/* ---- a long life, against a model that knows every event ------------------------ */

struct model {
	uint64_t now[KEYS], rest[GROUPS], events[GROUPS];
	uint64_t before[KEYS], other[GROUPS];
	bool was[KEYS];
};

static void check(const struct metrics_series *series, struct model *model)
{
	bool is[KEYS] = {false};
	uint64_t sum[GROUPS] = {0};
	struct series_row row;

	assert_true(metrics_series_shown(series) <= limits.shown);
	for (size_t i = 0; metrics_series_row(series, i, &row); i++) {
		uint32_t key = number_of(row.key);

		/* While it is shown, a series never goes backwards. */
		if (model->was[key])
			assert_true(row.values[0] >= model->before[key]);
		model->before[key] = row.values[0];
		is[key] = true;
		sum[row.group] += row.values[0];
	}
	memcpy(model->was, is, sizeof(is));
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct series_group group = group_of(series, i);

		assert_int_equal(group.total[0], model->events[i]);
		assert_int_equal(sum[i] + group.other[0] + group.unlisted[0], model->events[i]);
		assert_true(group.other[0] >= model->other[i]);
		model->other[i] = group.other[0];
	}
}

TEST(test_each_event_counts_once)
{
	OWN_SERIES struct metrics_series *series = NULL;
	struct model *model = calloc(1, sizeof(*model));
	uint64_t now = 0;

	assert_non_null(model);
	srandom(20261122);
	assert_int_equal(metrics_series_new(&series, true), 0);
	for (int round = 0; round < 4000; round++) {
		now += (uint64_t)(random() % 120) * SECOND;
		for (int i = 0; i < 20; i++) {
			uint32_t key = (uint32_t)(random() % (random() % 3 ? 8 : KEYS));
			uint64_t more = (uint64_t)(random() % 50);

			model->now[key] += more;
			model->events[key % GROUPS] += more;
			/* Now and then a key folds, in part or as a whole. */
			if (random() % 40 == 0) {
				uint64_t part =
					random() % 2 ? model->now[key] : model->now[key] / 2;

				model->now[key] -= part;
				model->rest[key % GROUPS] += part;
			}
		}
		metrics_series_begin(series);
		for (uint32_t key = 0; key < KEYS; key++)
			if (model->now[key])
				add(series, key, model->now[key]);
		for (uint32_t group = 0; group < GROUPS; group++)
			add_rest(series, group, model->rest[group]);
		metrics_series_end(series, &limits, now);
		check(series, model);
	}
	free(model);
}
