/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations as people write them in settings: 250us, 5ms, 1s, 10min, 2h, 1d. */
#ifndef COMMON_DURATION_H
#define COMMON_DURATION_H

#include <stdint.h>

/*
 * Parse a whole number and its unit (ns, us, µs, ms, s, min, m, h, d), with or without blanks between them.  Only 0
 * needs no unit.  Returns 0, or -EINVAL if `text` is not a duration or exceeds `most` nanoseconds.
 */
int duration_parse(const char *text, uint64_t most, uint64_t *ns);

struct duration_text {
	char s[32];
};

/* "90s", "1min": a whole number of the largest unit that divides it, as duration_parse() reads it; "0" for 0. */
struct duration_text duration_format(uint64_t ns);

#endif
