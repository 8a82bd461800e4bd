/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/chart.h"

#include <string.h>

#include "common/array.h"

#define EIGHTHS 8

static const char *const left_blocks[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
#define FULL_BLOCK "█"

static const char *const lower_blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii_levels[] = {".", ":", "-", "=", "+", "*", "#", "@"};
#define LEVELS (ARRAY_SIZE(lower_blocks))

_Static_assert(sizeof(ascii_levels) == sizeof(lower_blocks), "as many levels in ASCII");

/* value * steps / max, rounded to the nearest step: at least 1 for a value above 0, at most `steps`. */
static size_t scale(uint64_t value, uint64_t max, size_t steps)
{
	size_t scaled;

	if (!value || !max)
		return 0;
	if (value >= max)
		return steps;
	scaled = (size_t)((double)value / (double)max * (double)steps + 0.5);
	return scaled ? scaled : 1;
}

struct chart_text chart_bar(uint64_t value, uint64_t max, size_t columns, bool utf8)
{
	struct chart_text text;
	char *out = text.s;
	size_t steps;

	if (columns > CHART_COLUMNS_MAX)
		columns = CHART_COLUMNS_MAX;
	steps = scale(value, max, utf8 ? columns * EIGHTHS : columns);
	*out = '\0';
	if (!utf8) {
		memset(out, '#', steps);
		out[steps] = '\0';
		return text;
	}
	for (; steps >= EIGHTHS; steps -= EIGHTHS)
		out = stpcpy(out, FULL_BLOCK);
	stpcpy(out, left_blocks[steps]);
	return text;
}

struct chart_text chart_sparkline(const uint64_t *values, size_t count, bool utf8)
{
	const char *const *levels = utf8 ? lower_blocks : ascii_levels;
	struct chart_text text;
	char *out = text.s;
	uint64_t max = 0;

	if (count > CHART_COLUMNS_MAX)
		count = CHART_COLUMNS_MAX;
	for (size_t i = 0; i < count; i++)
		if (values[i] > max)
			max = values[i];
	*out = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t level = scale(values[i], max, LEVELS);

		out = stpcpy(out, level ? levels[level - 1] : " ");
	}
	return text;
}
