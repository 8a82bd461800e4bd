/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars and sparklines made of characters: block elements in UTF-8, otherwise ASCII. */
#ifndef CLI_TERMINAL_CHART_H
#define CLI_TERMINAL_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHART_COLUMNS_MAX 128
/* A block element is three bytes long in UTF-8. */
#define CHART_TEXT_MAX (CHART_COLUMNS_MAX * 3 + 1)

struct chart_text {
	char s[CHART_TEXT_MAX];
};

/*
 * A bar whose length is value / max of `columns`, in steps of an eighth of a column (in ASCII, of a whole column).  A
 * value above 0 always shows at least one step.  `columns` is limited to CHART_COLUMNS_MAX.
 */
struct chart_text chart_bar(uint64_t value, uint64_t max, size_t columns, bool utf8);

/*
 * One column per value, as high as the value's share of the largest value.  0 is a blank; a value above 0 shows at
 * least the lowest step.  Shows at most the first CHART_COLUMNS_MAX values.
 */
struct chart_text chart_sparkline(const uint64_t *values, size_t count, bool utf8);

#endif
