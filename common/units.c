/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/units.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/time.h"

#define NS_PER_S TIME_NS_PER_SECOND
#define NS_PER_MINUTE (60 * NS_PER_S)
#define NS_PER_HOUR (60 * NS_PER_MINUTE)

/* Divide and round to the nearest whole number, halves up; no value overflows. */
static uint64_t divide_rounded(uint64_t value, uint64_t divisor)
{
	return value / divisor + (value % divisor >= divisor - divisor / 2);
}

/*
 * Write value / divisor with three significant digits.  False if the rounded quotient reaches `limit`: the next unit
 * then suits better.  `divisor` must be 1, or `value` less than 2^64 / 100.
 */
static bool three_digits(struct units_text *text, uint64_t value, uint64_t divisor, uint64_t limit,
			 const char *unit)
{
	uint64_t scaled;

	if (divisor == 1) {
		if (value >= limit)
			return false;
		snprintf(text->s, sizeof(text->s), "%llu%s", (unsigned long long)value, unit);
		return true;
	}
	scaled = divide_rounded(value * 100, divisor);
	if (scaled < 1000) {
		snprintf(text->s, sizeof(text->s), "%llu.%02llu%s",
			 (unsigned long long)(scaled / 100), (unsigned long long)(scaled % 100),
			 unit);
		return true;
	}
	scaled = divide_rounded(value * 10, divisor);
	if (scaled < 1000) {
		snprintf(text->s, sizeof(text->s), "%llu.%llu%s", (unsigned long long)(scaled / 10),
			 (unsigned long long)(scaled % 10), unit);
		return true;
	}
	scaled = divide_rounded(value, divisor);
	if (scaled >= limit)
		return false;
	snprintf(text->s, sizeof(text->s), "%llu%s", (unsigned long long)scaled, unit);
	return true;
}

struct units_text units_unknown(void)
{
	return (struct units_text){.s = UNITS_UNKNOWN};
}

struct units_text units_count(uint64_t count)
{
	struct units_text text;
	char digits[24];
	size_t len, out = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text.s[out++] = ',';
		text.s[out++] = digits[i];
	}
	text.s[out] = '\0';
	return text;
}

/* A minute or more: two units, of which the smaller one is rounded. */
static struct units_text long_duration(uint64_t ns)
{
	struct units_text text;
	uint64_t seconds = divide_rounded(ns, NS_PER_S);
	uint64_t minutes = divide_rounded(ns, NS_PER_MINUTE);
	uint64_t hours = divide_rounded(ns, NS_PER_HOUR);

	if (seconds < 3600)
		snprintf(text.s, sizeof(text.s), "%llu min %02llu s",
			 (unsigned long long)(seconds / 60), (unsigned long long)(seconds % 60));
	else if (minutes < 24 * 60)
		snprintf(text.s, sizeof(text.s), "%llu h %02llu min",
			 (unsigned long long)(minutes / 60), (unsigned long long)(minutes % 60));
	else
		snprintf(text.s, sizeof(text.s), "%llu d %02llu h",
			 (unsigned long long)(hours / 24), (unsigned long long)(hours % 24));
	return text;
}

struct units_text units_duration(uint64_t ns)
{
	static const struct {
		uint64_t divisor;
		const char *unit;
	} units[] = {{1, " ns"}, {1000, " µs"}, {1000000, " ms"}, {NS_PER_S, " s"}};
	struct units_text text;

	/* 59.95 s is the first value that rounds to 60.0 s. */
	if (ns >= NS_PER_MINUTE - NS_PER_S / 20)
		return long_duration(ns);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (three_digits(&text, ns, units[i].divisor, 1000, units[i].unit))
			return text;
	return long_duration(ns);
}

struct units_text units_duration_real(double ns)
{
	struct units_text text;

	if (!isfinite(ns) || ns < 0)
		return units_unknown();
	if (ns == 0)
		return units_duration(0);
	/* From here on all limits of rounding are whole nanoseconds, so a fraction changes nothing. */
	if (ns >= 999.5)
		return units_duration(ns < 0x1p63 ? (uint64_t)fmax(ns, 1000) : (uint64_t)1 << 63);
	/* Thousandths of a nanosecond are exact enough for three digits. */
	three_digits(&text, (uint64_t)(ns * 1000 + 0.5), 1000, 1000, " ns");
	return text;
}

struct units_text units_rate(double per_second)
{
	static const char *const units[] = {"/s", " k/s", " M/s", " G/s", " T/s"};
	struct units_text text;
	uint64_t divisor = 1000;

	if (!isfinite(per_second) || per_second < 0)
		return units_unknown();
	if (per_second == 0)
		return (struct units_text){.s = "0/s"};
	if (per_second < 0.01)
		return (struct units_text){.s = "<0.01/s"};
	if (per_second >= 1e14)
		return (struct units_text){.s = ">100 T/s"};
	for (size_t i = 0; i < ARRAY_SIZE(units); i++, divisor *= 1000)
		if (three_digits(&text, (uint64_t)(per_second * 1000 + 0.5), divisor, 1000,
				 units[i]))
			return text;
	return units_unknown();
}

struct units_text units_bytes(uint64_t bytes)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
	struct units_text text;
	uint64_t divisor = 1;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		/* three_digits() multiplies by 100, so drop 10 bits from 2^57 on: at most 1 in 2^47 off. */
		unsigned int shift = bytes >> 57 ? 10 : 0;

		if (divisor == 1
			    ? three_digits(&text, bytes, 1, 1024, units[i])
			    : three_digits(&text, bytes >> shift, divisor >> shift, 1024, units[i]))
			return text;
		divisor <<= 10;
	}
	return units_unknown();
}

struct units_text units_percent(double percent)
{
	struct units_text text;

	if (!isfinite(percent) || percent < 0)
		return units_unknown();
	if (percent == 0)
		return (struct units_text){.s = "0 %"};
	if (percent < 0.01)
		return (struct units_text){.s = "<0.01 %"};
	if (percent < 100 && percent >= 99.95)
		return (struct units_text){.s = ">99.9 %"};
	if (percent == 100)
		return (struct units_text){.s = "100 %"};
	if (percent >= 999.5)
		snprintf(text.s, sizeof(text.s), "%.0f %%", fmin(percent, 1e18));
	else
		three_digits(&text, (uint64_t)(percent * 1000 + 0.5), 1000, 1000, " %");
	return text;
}

struct units_text units_share(uint64_t part, uint64_t whole)
{
	if (!whole)
		return units_unknown();
	if (part >= whole)
		return units_percent(100);
	return units_percent(100.0 * (double)part / (double)whole);
}
