/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/probe/exclusion.h"
#include "tests/unit/test.h"

static struct exclusion read_list(const char *text)
{
	struct exclusion exclusion = {};
	char error[EXCLUSION_ERROR_MAX];

	assert_int_equal(exclusion_parse(&exclusion, text, error), 0);
	return exclusion;
}

static void assert_filter(const char *list, const char *device, const char *other,
			  const char *expected)
{
	const struct exclusion exclusion = read_list(list);
	char *filter = NULL;

	assert_int_equal(exclusion_filter(&exclusion, device, other, &filter), 0);
	if (expected)
		assert_string_equal(filter, expected);
	else
		assert_null(filter);
	free(filter);
}

TEST(test_filters)
{
	assert_filter("docker0", "name", NULL, "name != \"docker0\"");
	assert_filter(
		"veth* docker0,br-?", "dev_name", NULL,
		"!(dev_name ~ \"veth*\") && dev_name != \"docker0\" && !(dev_name ~ \"br-?\")");
	assert_filter("veth*", "name", "len > 3 || len < 1",
		      "(len > 3 || len < 1) && !(name ~ \"veth*\")");
	assert_filter("veth*", NULL, "vec == 3", "vec == 3");
	assert_filter("", "name", "vec == 3", "vec == 3");
	assert_filter("veth*", NULL, NULL, NULL);
	assert_filter(" , ", "name", NULL, NULL);
}

/* The kernel takes a filter of a page. */
TEST(test_the_longest_filter)
{
	char list[1024] = "", *filter;
	struct exclusion exclusion;

	for (int i = 0; i < EXCLUSION_NAMES; i++)
		strcat(list, "a_name_of_15_b* ");
	exclusion = read_list(list);
	assert_int_equal(exclusion_filter(&exclusion, "dev_name", NULL, &filter), 0);
	assert_true(strlen(filter) < 4096);
	free(filter);
}

TEST(test_format)
{
	const struct exclusion exclusion = read_list("veth*\tdocker0,,eth0.100 a_name_of_15_by");
	char text[EXCLUSION_TEXT_MAX];

	exclusion_format(&exclusion, text);
	assert_string_equal(text, "veth*, docker0, eth0.100, a_name_of_15_by");
}

TEST(test_refused)
{
	static const struct {
		const char *list, *says;
	} cases[] = {
		{"a_name_of_16_byt", "names have at most 15 characters; shorten it with *"},
		{"eth0 **", "** excludes all devices"},
		{"ve\"th", "a character that it cannot have"},
		{"ve'th", "a character that it cannot have"},
		{"ve\\th", "a character that it cannot have"},
		{"!veth", "a character that it cannot have"},
		{"veth[0-9]", "a character that it cannot have"},
		{"veth\n", "a character that it cannot have"},
		{"\xc3\xa4", "a character that it cannot have"},
	};
	struct exclusion exclusion = read_list("veth*");
	const struct exclusion before = exclusion;
	char error[EXCLUSION_ERROR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(exclusion_parse(&exclusion, cases[i].list, error), -EINVAL);
		assert_non_null(strstr(error, cases[i].says));
		assert_memory_equal(&exclusion, &before, sizeof(before));
	}
}
