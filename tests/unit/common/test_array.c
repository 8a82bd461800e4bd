/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "common/array.h"
#include "common/cleanup.h"
#include "tests/unit/test.h"

struct item {
	int number;
	const char *name;
};

TEST(test_lower_bound)
{
	static const struct item items[] = {{2, "a"}, {4, "b"}, {4, "c"}, {4, "d"}, {7, "e"}};
	/* The answer for each number from 0 to 8, for each length of the array. */
	static const size_t expected[ARRAY_SIZE(items) + 1][9] = {
		{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1, 1, 1, 1},
		{0, 0, 0, 1, 1, 2, 2, 2, 2}, {0, 0, 0, 1, 1, 3, 3, 3, 3},
		{0, 0, 0, 1, 1, 4, 4, 4, 4}, {0, 0, 0, 1, 1, 4, 4, 4, 5},
	};

	for (size_t count = 0; count <= ARRAY_SIZE(items); count++)
		for (int number = 0; number <= 8; number++)
			assert_int_equal(LOWER_BOUND(item, items, count, item->number < number),
					 expected[count][number]);
}

TEST(test_lower_bound_of_nothing)
{
	const struct item *none = NULL;

	assert_int_equal(LOWER_BOUND(item, none, 0, item->number < 1), 0);
}

/* Every boundary of every length is found, and no element is looked at twice. */
TEST(test_lower_bound_evaluations)
{
	static const char bytes[1000];

	for (size_t count = 0; count <= sizeof(bytes); count++) {
		for (size_t first = 0; first <= count; first += count / 7 + 1) {
			unsigned int evaluated = 0;

			assert_int_equal(LOWER_BOUND(byte, bytes, count,
						     (evaluated++, (size_t)(byte - bytes) < first)),
					 first);
			assert_true(evaluated <= 10);
		}
	}
}

TEST(test_grow)
{
	OWN_FREE uint32_t *numbers = NULL;
	size_t room = 0, before;

	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(ARRAY_GROW(numbers, i, room), 0);
		assert_true(room > i);
		numbers[i] = i;
	}
	assert_int_equal(room, 128);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(numbers[i], i);
	/* Room that is left is used first. */
	before = room;
	assert_int_equal(ARRAY_GROW(numbers, 127, room), 0);
	assert_int_equal(room, before);
}

/* AddressSanitizer would otherwise end the test when an allocation is too large. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

TEST(test_grow_too_far)
{
	OWN_FREE struct item *items = NULL;
	const struct item *before;
	size_t room = 0;
	/* Volatile, because the compiler would refuse the product that it sees is too large. */
	volatile size_t huge = SIZE_MAX / sizeof(*items);

	assert_int_equal(ARRAY_GROW(items, 0, room), 0);
	before = items;
	assert_int_equal(ARRAY_GROW(items, huge, huge), -ENOMEM);
	assert_ptr_equal(items, before);
	assert_true(huge == SIZE_MAX / sizeof(*items));
}
