/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests, with cmocka's assertions:
 *
 *     TEST(test_that_it_holds)
 *     {
 *             assert_true(…);
 *     }
 *
 * main() is in test.c and runs all tests of the file, in their order.  In a test, `*state` is what its set-up left
 * there.
 */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* What cmocka.h needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Functions that return 0 if all went well, or NULL. */
struct test_fixture {
	CMFixtureFunction set_up, tear_down;
};

/* The file's own, if it defines them with the macros below. */
extern const struct test_fixture each_fixture, all_fixture;

/* What each TEST() of the file needs, and what all of them need once. */
#define EACH_TEST(set_up, tear_down) const struct test_fixture each_fixture = {set_up, tear_down}
#define ALL_TESTS(set_up, tear_down) const struct test_fixture all_fixture = {set_up, tear_down}

#define TEST(name) TEST_WITH(name, each_fixture.set_up, each_fixture.tear_down)

/* A test that needs something else than the others of its file. */
#define TEST_WITH(name, set_up, tear_down)                                                      \
	static void name(void **state);                                                         \
	static void __attribute__((constructor)) add_##name(void)                               \
	{                                                                                       \
		test_add(__LINE__, &(struct CMUnitTest){#name, name, set_up, tear_down, NULL}); \
	}                                                                                       \
	static void name(__attribute__((unused)) void **state)

/* Run the test after all that are in lines before it.  TEST() calls this before main(). */
void test_add(unsigned int line, const struct CMUnitTest *test);

#endif
