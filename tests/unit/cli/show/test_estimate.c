/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli/show/estimate.h: a count says how far off it can be. */

#include <jansson.h>

#include "cli/show/estimate.h"
#include "common/json.h"
#include "tests/unit/test.h"

static void check(json_t *made, const char *wanted)
{
	OWN_JSON json_t *latency = made;

	assert_non_null(latency);
	assert_string_equal(estimate_count(latency).s, wanted);
}

TEST(test_counts)
{
	check(json_pack("{s:i}", "count", 12300), "12,300");
	check(json_pack("{s:i, s:i}", "count", 12300, "count_margin", 492), "≈ 12,300 ±4.00 %");
	check(json_pack("{}"), "-");
}

/* A margin in percent would have to be more than 100 of them. */
TEST(test_margins_larger_than_the_count)
{
	check(json_pack("{s:i, s:i}", "count", 12, "count_margin", 11), "≈ 12 ±91.7 %");
	check(json_pack("{s:i, s:i}", "count", 12, "count_margin", 12), "≈ 12, up to 24");
	check(json_pack("{s:i, s:i}", "count", 629, "count_margin", 232187),
	      "≈ 629, up to 232,816");
	check(json_pack("{s:i, s:I}", "count", 0, "count_margin", INT64_MAX),
	      "≈ 0, up to 9,223,372,036,854,775,807");
}
