/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars and sparklines out of characters: block elements in UTF-8, else ASCII. */
#ifndef CLI_TERMINAL_CHART_H
#define CLI_TERMINAL_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHART_COLUMNS_MAX 128
/* A block element takes three bytes. */
#define CHART_TEXT_MAX (CHART_COLUMNS_MAX * 3 + 1)

struct chart_text {
	char s[CHART_TEXT_MAX];
};

/*
 * A bar of value / max of `columns`, in steps of an eighth of a column (ASCII:
 * of a whole one).  What is not 0 leaves a mark.  `columns` beyond
 * CHART_COLUMNS_MAX count as that many.
 */
struct chart_text chart_bar(uint64_t value, uint64_t max, size_t columns, bool utf8);

/*
 * One column for each value, as high as its share of the greatest one.  0 is a
 * blank, everything else at least the lowest step.
 */
struct chart_text chart_sparkline(const uint64_t *values, size_t count, bool utf8);

#endif
