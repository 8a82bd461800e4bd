/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as text for people.  Every function returns its text by value, so units_count(n).s is valid until the end of
 * the full expression.  All texts are UTF-8; the micro sign is the only character outside ASCII.
 *
 * Numbers are rounded to the nearest, halves away from zero, and carry into the next unit: 999.9 µs becomes "1.00 ms".
 */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H

#include <stdint.h>

struct units_text {
	char s[32];
};

/* The text for a value that is not known. */
#define UNITS_UNKNOWN "-"

struct units_text units_unknown(void);

/* "4,217". */
struct units_text units_count(uint64_t count);

/*
 * Nanoseconds with three significant digits: "0 ns", "843 ns", "1.23 ms", "59.9 s".  A minute or more with the next
 * smaller unit: "1 min 05 s", "1 h 02 min", "3 d 04 h".
 */
struct units_text units_duration(uint64_t ns);

/*
 * The same for a computed value such as a mean: "43.2 ns" below a microsecond.  A value that is negative or not finite
 * is not known.
 */
struct units_text units_duration_real(double ns);

/* Events per second with three significant digits, powers of 1000: "0.25/s", "123 k/s". */
struct units_text units_rate(double per_second);

/* Powers of 1024, three significant digits (four from 1000 to 1023): "512 B", "1.50 MiB". */
struct units_text units_bytes(uint64_t bytes);

/*
 * Per cent with three significant digits: "12.3 %".  Less than 100 % never becomes "100 %", and more than 0 % never
 * becomes "0 %": the texts are then ">99.9 %" and "<0.01 %".
 */
struct units_text units_percent(double percent);

/* `part` in per cent of `whole`; not known if `whole` is 0. */
struct units_text units_share(uint64_t part, uint64_t whole);

#endif
