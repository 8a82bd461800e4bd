/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/map.h"
#include "tests/unit/test.h"

#define KEYS 500

/* Keys are small numbers; `present` says which a map has, as its own number plus 1. */
struct model {
	struct map map;
	size_t present[KEYS];
	size_t key[KEYS]; /* by number */
	uint64_t (*hash)(size_t key);
};

static uint64_t spread(size_t key)
{
	return hash_word(0, key);
}

/* All keys in three crowds, one at the end of the table, so that it goes on at its beginning. */
static uint64_t crowded(size_t key)
{
	static const uint64_t hash[] = {UINT64_C(0) << 32, UINT64_C(5) << 32,
					UINT64_C(0xffffffff) << 32};

	return hash[key % ARRAY_SIZE(hash)];
}

static bool is(const void *keys, size_t number, const void *key)
{
	return ((const size_t *)keys)[number] == *(const size_t *)key;
}

static void expect(const struct model *model)
{
	size_t count = 0;

	for (size_t key = 0; key < KEYS; key++) {
		size_t number = KEYS;
		bool found = map_find(&model->map, model->hash(key), is, model->key, &key, &number);

		assert_int_equal(found, model->present[key] != 0);
		if (found)
			assert_int_equal(number, model->present[key] - 1);
		count += found;
	}
	assert_int_equal(model->map.count, count);
}

static void toggle(struct model *model, size_t key)
{
	if (model->present[key]) {
		map_remove(&model->map, model->hash(key), model->present[key] - 1);
		model->present[key] = 0;
		return;
	}
	/* Not its own number: nothing but the caller's array says what a number is. */
	model->key[KEYS - 1 - key] = key;
	assert_int_equal(map_add(&model->map, model->hash(key), KEYS - 1 - key), 0);
	model->present[key] = KEYS - key;
}

static void add_and_remove(uint64_t (*hash)(size_t key))
{
	struct model model = {.hash = hash};

	expect(&model);
	srand48(1);
	for (size_t i = 0; i < 4000; i++) {
		toggle(&model, (size_t)lrand48() % KEYS);
		if (i % 50 == 0)
			expect(&model);
	}
	expect(&model);
	map_clear(&model.map);
}

TEST(test_keys_come_and_go)
{
	add_and_remove(spread);
}

TEST(test_keys_with_the_same_hash)
{
	add_and_remove(crowded);
}

TEST(test_a_map_that_forgets_has_no_keys_and_its_room)
{
	struct model model = {.hash = spread};
	struct map_slot *slot;

	for (size_t key = 0; key < KEYS; key++)
		toggle(&model, key);
	slot = model.map.slot;
	map_forget(&model.map);
	for (size_t key = 0; key < KEYS; key++)
		model.present[key] = 0;
	expect(&model);
	for (size_t key = 0; key < KEYS; key++)
		toggle(&model, key);
	expect(&model);
	assert_ptr_equal(model.map.slot, slot);
	map_clear(&model.map);
	assert_int_equal(model.map.count, 0);
}

TEST(test_reserved_room_needs_no_memory_later)
{
	struct model model = {.hash = spread};
	struct map_slot *slot;

	assert_int_equal(map_reserve(&model.map, KEYS), 0);
	slot = model.map.slot;
	for (size_t key = 0; key < KEYS; key++)
		toggle(&model, key);
	assert_ptr_equal(model.map.slot, slot);
	expect(&model);
	map_clear(&model.map);
}

/* Keys that differ in one bit, wherever it is, get places of their own. */
TEST(test_hashes_spread)
{
	bool used[1 << 13] = {0};
	size_t places = 0;

	for (int bit = 4; bit < 64; bit++)
		for (uint64_t word = 0; word < 16; word++) {
			size_t place = hash_word(0, word | UINT64_C(1) << bit) >> (64 - 13);

			places += !used[place];
			used[place] = true;
		}
	/* 960 random ones would take 906 of 8,192 places. */
	assert_in_range(places, 880, 960);
	assert_true(hash_text(0, "eth0") != hash_text(0, "eth1"));
	assert_true(hash_text(1, "eth0") != hash_text(0, "eth0"));
	assert_true(hash_words(0, "12345678abcdefgh", 16) != hash_words(0, "12345678abcdefgi", 16));
}
