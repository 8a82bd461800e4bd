/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two periods of the history: what is new, and what has grown by more than chance. */
#include <stdio.h>
#include <string.h>

#include "cli/diff/compare.h"
#include "common/array.h"
#include "common/json.h"
#include "tests/unit/test.h"

/* A reply about so many covered seconds, with a row for each cause that has packets. */
static json_t *reply(long long seconds, const int *packets, size_t count)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++) {
		char name[16];

		snprintf(name, sizeof(name), "R%zu", i);
		if (packets[i])
			json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:i}", "cause", name,
							      "reason", name, "class", "fault",
							      "packets", packets[i]));
	}
	return json_pack("{s:o, s:{s:I}}", "rows", rows, "period", "covered_ns",
			 (json_int_t)(seconds * 1000000000));
}

/* The mark of a cause: n(ew), g(rown), or nothing. */
static char mark_of(const json_t *compared, size_t number)
{
	const json_t *row;
	char name[16];
	size_t i;

	snprintf(name, sizeof(name), "R%zu", number);
	json_array_foreach(json_object_get(compared, "rows"), i, row)
	{
		if (!strcmp(json_string_value(json_object_get(row, "reason")), name))
			return json_is_true(json_object_get(row, "new")) ? 'n' : 'g';
	}
	return ' ';
}

TEST(test_new_and_grown)
{
	static const struct {
		int before, now;
		char mark;
		const char *what;
	} cases[] = {
		{0, 1, 'n', "one packet, and none before"},
		{2, 3, ' ', "more, but few"},
		{2, 5, ' ', "more than twice as many, but few"},
		{2, 40, 'g', "many after few"},
		{1000, 1000, ' ', "as many"},
		{1000, 1400, ' ', "significantly more, but not 1.5 times"},
		{1000, 1600, 'g', "1.6 times"},
		{1000, 0, ' ', "none"},
		{1000, 100, ' ', "fewer"},
	};
	int before[ARRAY_SIZE(cases)], now[ARRAY_SIZE(cases)], day[ARRAY_SIZE(cases)];
	OWN_JSON json_t *same = NULL, *longer = NULL, *last = NULL, *first = NULL, *other = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		before[i] = cases[i].before;
		now[i] = cases[i].now;
		day[i] = 24 * cases[i].before;
	}
	last = reply(3600, now, ARRAY_SIZE(cases));
	first = reply(3600, before, ARRAY_SIZE(cases));
	other = reply(24 * 3600, day, ARRAY_SIZE(cases));
	same = compare_drops(last, first);
	/* A day with the same rates: 48 packets are more evidence than two. */
	longer = compare_drops(last, other);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (mark_of(same, i) != cases[i].mark || mark_of(longer, i) != cases[i].mark)
			fail_msg("%s: %c, %c", cases[i].what, mark_of(same, i), mark_of(longer, i));
}
