/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as people read them.  Every function returns its text by value:
 * units_count(n).s may be used until the end of the full expression it stands
 * in.  All texts are UTF-8 (the micro sign is the only character beyond ASCII).
 *
 * Rounding is to the nearest, halves away from zero, and carries into the next
 * unit: 999.9 µs reads "1.00 ms".
 */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H

#include <stdint.h>

struct units_text {
	char s[32];
};

/* What stands where a value is not known. */
#define UNITS_UNKNOWN "-"

struct units_text units_unknown(void);

/* "4,217". */
struct units_text units_count(uint64_t count);

/*
 * Nanoseconds with three significant digits: "0 ns", "843 ns", "1.23 ms",
 * "59.9 s"; from a minute on with the next smaller unit: "1 min 05 s",
 * "1 h 02 min", "3 d 04 h".
 */
struct units_text units_duration(uint64_t ns);

/* The same for a mean or the like: "43.2 ns" below a microsecond. Not finite or negative: unknown.
 */
struct units_text units_duration_real(double ns);

/* Events per second with three significant digits, powers of 1000: "0.25/s", "123 k/s". */
struct units_text units_rate(double per_second);

/* Powers of 1024, three significant digits (four from 1000 to 1023): "512 B", "1.50 MiB". */
struct units_text units_bytes(uint64_t bytes);

/*
 * A share of 100 with three significant digits: "12.3 %".  What is not all is
 * never shown as all, nor something as nothing: ">99.9 %", "<0.01 %".
 */
struct units_text units_percent(double percent);

/* The share that `part` is of `whole`; unknown when the whole is 0. */
struct units_text units_share(uint64_t part, uint64_t whole);

#endif
