/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"

struct unit {
	const char *name;
	uint64_t size;
};

/* Ascending.  Of several names of a unit, the last one is printed. */
static const struct unit durations[] = {
	{"ns", 1},
	{"µs", 1000},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", UINT64_C(60000000000)},
	{"min", UINT64_C(60000000000)},
	{"h", UINT64_C(3600000000000)},
	{"d", UINT64_C(86400000000000)},
};
static const struct unit sizes[] = {
	{"B", 1},
	{"", 1},
	{"K", UINT64_C(1) << 10},
	{"KiB", UINT64_C(1) << 10},
	{"M", UINT64_C(1) << 20},
	{"MiB", UINT64_C(1) << 20},
	{"G", UINT64_C(1) << 30},
	{"GiB", UINT64_C(1) << 30},
	{"T", UINT64_C(1) << 40},
	{"TiB", UINT64_C(1) << 40},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- numbers ----------------------------------------------------------------- */

/* Read digits and go on behind them.  -EINVAL: there are none, or too many. */
static int take_number(const char **text, uint64_t *number)
{
	char *end;

	/* strtoull() also takes blanks and a sign. */
	if (!is_digit(**text))
		return -EINVAL;
	errno = 0;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return errno ? -EINVAL : 0;
}

int value_count(const char *text, uint64_t most, uint64_t *count)
{
	uint64_t number;

	if (take_number(&text, &number) < 0 || *text || number > most)
		return -EINVAL;
	*count = number;
	return 0;
}

int value_real(const char *text, double *number)
{
	char *end;
	double read;

	if (!is_digit(*text) && *text != '.')
		return -EINVAL;
	/* Not hexadecimal. */
	if (strspn(text, "0123456789.eE+-") != strlen(text))
		return -EINVAL;
	read = strtod(text, &end);
	if (end == text || *end || !isfinite(read))
		return -EINVAL;
	*number = read;
	return 0;
}

/* ---- numbers with a unit ----------------------------------------------------- */

/* The unit that the text begins with, up to its end, a digit or a blank; NULL: there is no such unit. */
static const struct unit *take_unit(const char **text, const struct unit *units, size_t count)
{
	size_t length = strcspn(*text, "0123456789. ");

	for (size_t i = 0; i < count; i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, *text, length)) {
			*text += length;
			return &units[i];
		}
	return NULL;
}

static void skip_blanks(const char **text)
{
	*text += strspn(*text, " ");
}

int value_bytes(const char *text, uint64_t most, uint64_t *bytes)
{
	const struct unit *unit;
	uint64_t number;

	if (take_number(&text, &number) < 0)
		return -EINVAL;
	if (*text)
		skip_blanks(&text);
	unit = take_unit(&text, sizes, ARRAY_SIZE(sizes));
	if (!unit || *text || number > most / unit->size)
		return -EINVAL;
	*bytes = number * unit->size;
	return 0;
}

/* Read the digits behind a decimal point, if there is one, as a part of 10^9. */
static int take_fraction(const char **text, uint64_t *billionths)
{
	uint64_t place = 100000000;

	*billionths = 0;
	if (**text != '.')
		return 0;
	++*text;
	if (!is_digit(**text))
		return -EINVAL;
	for (; is_digit(**text); ++*text, place /= 10)
		*billionths += (uint64_t)(**text - '0') * place;
	return 0;
}

/* One number and its unit, which is smaller than `below`; *below becomes it, or 0 if nothing may follow. */
static int take_duration(const char **text, uint64_t *below, uint64_t *ns)
{
	uint64_t number, billionths;
	const struct unit *unit;
	bool fraction;

	if (take_number(text, &number) < 0)
		return -EINVAL;
	fraction = **text == '.';
	if (take_fraction(text, &billionths) < 0)
		return -EINVAL;
	skip_blanks(text);
	unit = take_unit(text, durations, ARRAY_SIZE(durations));
	if (!unit || unit->size >= *below || number > UINT64_MAX / unit->size)
		return -EINVAL;
	*ns = number * unit->size +
	      (uint64_t)(((__uint128_t)billionths * unit->size + 500000000) / 1000000000);
	*below = fraction ? 0 : unit->size;
	return *ns < number * unit->size ? -EINVAL : 0;
}

int value_duration(const char *text, uint64_t most, uint64_t *ns)
{
	uint64_t sum = 0, below = UINT64_MAX, part;

	if (value_count(text, 0, ns) == 0)
		return 0;
	do {
		if (take_duration(&text, &below, &part) < 0 || part > most - sum)
			return -EINVAL;
		sum += part;
		if (*text == ' ' && is_digit(text[strspn(text, " ")]))
			skip_blanks(&text);
	} while (*text);
	*ns = sum;
	return 0;
}

static struct value_text whole(uint64_t number, const struct unit *units, size_t count)
{
	struct value_text text = {"0"};

	if (!number)
		return text;
	while (number % units[count - 1].size)
		count--;
	snprintf(text.s, sizeof(text.s), "%" PRIu64 "%s", number / units[count - 1].size,
		 units[count - 1].name);
	return text;
}

struct value_text value_duration_text(uint64_t ns)
{
	return whole(ns, durations, ARRAY_SIZE(durations));
}

struct value_text value_bytes_text(uint64_t bytes)
{
	return whole(bytes, sizes, ARRAY_SIZE(sizes));
}

/* ---- words ------------------------------------------------------------------- */

int value_switch(const char *text, bool *on)
{
	static const char *const words[] = {"no",   "yes", "off", "on", "false",
					    "true", "0",   "1",	  NULL};
	const char *nearest;
	int word = value_word(words, text, &nearest);

	if (word < 0)
		return word;
	*on = word % 2;
	return 0;
}

int value_word(const char *const *words, const char *text, const char **nearest)
{
	struct nearest search;

	nearest_init(&search, text);
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], text))
			return i;
		nearest_consider(&search, words[i]);
	}
	*nearest = search.best;
	return -EINVAL;
}

void value_words_text(const char *const *words, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; words[i] && used < size; i++) {
		const char *joint = !i ? "" : words[i + 1] ? ", " : " or ";

		used += (size_t)snprintf(text + used, size - used, "%s%s", joint, words[i]);
	}
}
