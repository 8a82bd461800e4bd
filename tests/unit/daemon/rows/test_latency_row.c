/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The margins of rows of latency, and which devices are the worst. */
#include <stdlib.h>

#include "common/array.h"
#include "daemon/rows/latency_row.h"
#include "tests/unit/test.h"

/* Of `count` packets, with this standard deviation of what was drawn. */
static struct latency_row row_of(uint64_t count, uint64_t deviation)
{
	return (struct latency_row){.hist = {.bucket = {[7] = count},
					     .journeys = deviation ? count / 2 : count,
					     .variance = deviation * deviation},
				    .variance = deviation * deviation};
}

TEST(test_margins)
{
	static const struct {
		const char *what;
		uint64_t deviation, unseen, unended, missable, packets, tied;
		bool limits;
		uint64_t drawn, all;
	} cases[] = {
		{"exact", 0, 0, 0, 0, 0, 0, true, 0, 0},
		{"drawn", 100, 0, 0, 0, 0, 0, true, 196, 196},
		{"without a beginning, or an end", 0, 40, 60, 0, 0, 0, true, 0, 100},
		{"the three are independent", 100, 300, 100, 500, 0, 0, true, 196, 670},
		{"the kernel counted 30 more", 0, 40, 60, 500, 1030, 0, true, 0, 43},
		{"the kernel counted 30 fewer", 0, 40, 60, 500, 970, 0, true, 0, 43},
		{"some of them are tied", 0, 40, 60, 0, 1030, 20, true, 0, 50},
		{"the kernel's count is older", 0, 40, 60, 0, 1030, 0, false, 0, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct latency_row row = row_of(1000, cases[i].deviation);
		const struct latency_doubt doubt = {.unseen = cases[i].unseen,
						    .unended = cases[i].unended,
						    .missable = cases[i].missable,
						    .limits = cases[i].limits};
		struct latency_margin margin;
		bool estimate;

		row.tied = cases[i].tied;
		row.packets = cases[i].packets ? &cases[i].packets : NULL;
		estimate = latency_row_margin(&row, &doubt, &margin);
		if (estimate != (cases[i].all > 0) || margin.drawn != cases[i].drawn ||
		    margin.all != cases[i].all)
			fail_msg("%s: %d, %lu, %lu", cases[i].what, estimate,
				 (unsigned long)margin.drawn, (unsigned long)margin.all);
	}
}

/* Against a list that is sorted as a whole. */
static int by_worse(const void *a, const void *b)
{
	return worst_is_before(a, b) ? -1 : worst_is_before(b, a);
}

TEST(test_the_worst)
{
	enum { MANY = 2000 };
	static struct worst_row all[MANY];
	struct worst worst = {0};

	srandom(4217);
	for (size_t i = 0; i < MANY; i++) {
		all[i] = (struct worst_row){.row = i,
					    .count = 1 + (uint64_t)random() % 200,
					    .p99_ns = (uint64_t)random()};
		worst_consider(&worst, &all[i]);
		assert_int_equal(worst_count(&worst), i < WORST_ROWS ? i + 1 : WORST_ROWS);
	}
	assert_int_equal(worst.considered, MANY);
	qsort(all, MANY, sizeof(*all), by_worse);
	for (size_t i = 0; i < WORST_ROWS; i++)
		assert_int_equal(worst.row[i].row, all[i].row);
	assert_true(worst.row[0].count >= WORST_PACKETS);
}
