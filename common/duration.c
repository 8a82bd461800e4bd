/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/duration.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Ascending.  Of two names of a unit, duration_format() writes the second. */
static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
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

/* Nanoseconds in a unit; 0 if there is no such unit. */
static uint64_t unit_ns(const char *unit)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].ns;
	return 0;
}

int duration_parse(const char *text, uint64_t most, uint64_t *ns)
{
	uint64_t number, unit;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &end, 10);
	end += strspn(end, " ");
	unit = !*end && !number ? 1 : unit_ns(end);
	if (errno || !unit || number > most / unit)
		return -EINVAL;
	*ns = number * unit;
	return 0;
}

struct duration_text duration_format(uint64_t ns)
{
	struct duration_text text = {"0"};
	size_t unit = ARRAY_SIZE(units) - 1;

	if (!ns)
		return text;
	while (ns % units[unit].ns)
		unit--;
	snprintf(text.s, sizeof(text.s), "%" PRIu64 "%s", ns / units[unit].ns, units[unit].name);
	return text;
}
