/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST 128

/* The compiler may call the constructors of a file in any order: sorted by line. */
static struct CMUnitTest tests[MOST];
static unsigned int lines[MOST];
static size_t count;

__attribute__((weak)) const struct test_fixture each_fixture, all_fixture;

void test_add(unsigned int line, const struct CMUnitTest *test)
{
	size_t i = count;

	if (count++ == MOST) {
		fprintf(stderr, "a file with more than %d tests: raise MOST in " __FILE__ "\n",
			MOST);
		abort();
	}
	for (; i && lines[i - 1] > line; i--) {
		lines[i] = lines[i - 1];
		tests[i] = tests[i - 1];
	}
	lines[i] = line;
	tests[i] = *test;
}

int main(void)
{
	/* cmocka_run_group_tests() takes only an array whose size the compiler knows. */
	return _cmocka_run_group_tests("tests", tests, count, all_fixture.set_up,
				       all_fixture.tear_down);
}
