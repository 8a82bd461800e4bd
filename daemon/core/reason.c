/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/knowledge.h"
#include "daemon/core/drop.h"

/* The entry of a reason that an older or newer kernel has, and that can be inferred on this one. */
static const struct knowledge *find_known(const char *text)
{
	const struct knowledge *entry;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		if (entry->kind == KNOWLEDGE_REASON && knowledge_meant(entry, text))
			return entry;
	return NULL;
}

int reason_read(struct reason_wanted *wanted, const struct names *names, const char *text,
		const char **nearest)
{
	const struct knowledge *known;
	const char *name = NULL;
	uint32_t number = 0;
	bool is_number = *text >= '0' && *text <= '9';

	if (names && names_find_reason(names, text, &number) == 0) {
		if (!is_number)
			name = names_reason(names, number);
	} else if ((known = find_known(text))) {
		name = known->name;
	} else {
		*nearest = names ? names_nearest_reason(names, text) : NULL;
		if (!*nearest)
			*nearest = knowledge_nearest(text);
		return -ENOENT;
	}
	*wanted = (struct reason_wanted){.number = number};
	snprintf(wanted->name, sizeof(wanted->name), "%s", name ? name : "");
	return 0;
}

bool reason_is(const struct reason_wanted *wanted, const char *name, bool numbered, uint32_t number)
{
	if (wanted->name[0])
		return name && !strcasecmp(wanted->name, name);
	return numbered && wanted->number == number;
}

bool reason_takes(const struct reason_wanted *wanted, const struct cause *cause)
{
	return reason_is(wanted, cause->verdict.reason, cause->has_reason, cause->reason);
}
