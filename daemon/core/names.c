/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/nearest.h"

#define SUBSYSTEM_SHIFT 16

struct entry {
	uint32_t number;
	char *name;
};

/* Sorted by number. */
struct list {
	struct entry *entries;
	size_t count;
	size_t room;
	size_t max;
};

struct names {
	struct list reasons;
	struct list subsystems;
};

/* ---- a list of names ---------------------------------------------------- */

/* The position of the number, or the position at which to insert it. */
static size_t list_position(const struct list *list, uint32_t number)
{
	return LOWER_BOUND(entry, list->entries, list->count, entry->number < number);
}

static const char *list_name(const struct list *list, uint32_t number)
{
	size_t position = list_position(list, number);

	if (position == list->count || list->entries[position].number != number)
		return NULL;
	return list->entries[position].name;
}

/* Owns `name` if it succeeds. */
static int list_add(struct list *list, uint32_t number, char *name)
{
	size_t position = list_position(list, number);
	struct entry *at;
	int r;

	if (list_name(list, number))
		return -EEXIST;
	if (list->count == list->max)
		return -ENOSPC;
	r = ARRAY_GROW(list->entries, list->count, list->room);
	if (r < 0)
		return r;
	at = list->entries + position;
	memmove(at + 1, at, (list->count - position) * sizeof(*at));
	*at = (struct entry){.number = number, .name = name};
	list->count++;
	return 0;
}

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->entries[i].name);
	free(list->entries);
}

/* ---- texts -------------------------------------------------------------- */

static const char *skip_prefix(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	/* A name that is nothing but the prefix stays as it is. */
	return strncasecmp(text, prefix, len) == 0 && text[len] ? text + len : text;
}

/* mac80211 puts underscores before the enumerators that sparse must not see. */
static const char *without_prefix(const char *name)
{
	return skip_prefix(skip_prefix(name, "___"), "SKB_DROP_REASON_");
}

/*
 * SKB_CONSUMED has only SKB_ as its prefix.  SKB_DROP_REASON_SKB_CSUM has the whole prefix, and its name is SKB_CSUM.
 */
static const char *short_reason(const char *name)
{
	const char *rest = without_prefix(name);

	return rest == name ? skip_prefix(name, "SKB_") : rest;
}

/* Enumerators that only mark where a kernel enum begins or ends. */
static bool is_marker(const char *text)
{
	static const char *const markers[] = {"MAX", "SUBSYS_MASK", "OVS_DROP_MAX",
					      "__OVS_DROP_REASON"};

	for (size_t i = 0; i < ARRAY_SIZE(markers); i++)
		if (strcmp(text, markers[i]) == 0)
			return true;
	return false;
}

static bool is_name(const char *name)
{
	size_t len = strnlen(name, NAMES_LENGTH_MAX + 1);

	if (!len || len > NAMES_LENGTH_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isascii(name[i]) || !isgraph(name[i]))
			return false;
	return true;
}

/* Read a number of 32 bits: decimal, or hexadecimal after 0x. */
static bool parse_number(const char *text, uint32_t *number)
{
	bool hex = strncasecmp(text, "0x", 2) == 0;
	unsigned long long value;
	char *end;

	if (!isxdigit((unsigned char)text[hex ? 2 : 0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, hex ? 16 : 10);
	if (errno || *end || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* ---- names -------------------------------------------------------------- */

int names_new(struct names **names)
{
	OWN_NAMES struct names *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	n->reasons.max = NAMES_REASONS_MAX;
	n->subsystems.max = NAMES_SUBSYSTEMS_MAX;
	r = names_add_subsystem(n, 0, "core");
	if (r < 0)
		return r;
	*names = TAKE_PTR(n);
	return 0;
}

void names_free(struct names **names)
{
	if (!*names)
		return;
	list_free(&(*names)->reasons);
	list_free(&(*names)->subsystems);
	free(*names);
	*names = NULL;
}

int names_add_reason(struct names *names, uint32_t number, const char *name)
{
	const char *text = short_reason(name);
	OWN_FREE char *copy = NULL;
	int r;

	if (!is_name(text))
		return -EINVAL;
	if (is_marker(text))
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	r = list_add(&names->reasons, number, copy);
	if (r < 0)
		return r;
	(void)TAKE_PTR(copy);
	return 0;
}

int names_add_subsystem(struct names *names, uint16_t id, const char *name)
{
	const char *text = skip_prefix(name, "SKB_DROP_REASON_SUBSYS_");
	OWN_FREE char *copy = NULL;
	int r;

	if (!is_name(text))
		return -EINVAL;
	if (strcmp(text, "NUM") == 0)
		return 0;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	r = list_add(&names->subsystems, id, copy);
	/* names_new() has already added the kernel's own name for 0. */
	if (r == -EEXIST && id == 0 && strcmp(copy, "core") == 0)
		return 0;
	if (r < 0)
		return r;
	(void)TAKE_PTR(copy);
	return 0;
}

const char *names_reason(const struct names *names, uint32_t number)
{
	return list_name(&names->reasons, number);
}

const char *names_subsystem(const struct names *names, uint32_t number)
{
	return list_name(&names->subsystems, number >> SUBSYSTEM_SHIFT);
}

bool names_has_reasons(const struct names *names, uint32_t number)
{
	uint32_t first = number >> SUBSYSTEM_SHIFT << SUBSYSTEM_SHIFT;
	size_t position = list_position(&names->reasons, first);

	return position < names->reasons.count &&
	       names->reasons.entries[position].number >> SUBSYSTEM_SHIFT ==
		       number >> SUBSYSTEM_SHIFT;
}

int names_find_reason(const struct names *names, const char *text, uint32_t *number)
{
	const struct list *reasons = &names->reasons;
	const char *whole = without_prefix(text), *name = short_reason(text);

	for (size_t i = 0; i < reasons->count; i++) {
		if (strcasecmp(reasons->entries[i].name, whole) == 0 ||
		    strcasecmp(reasons->entries[i].name, name) == 0) {
			*number = reasons->entries[i].number;
			return 0;
		}
	}
	return parse_number(text, number) ? 0 : -ENOENT;
}

const char *names_nearest_reason(const struct names *names, const char *text)
{
	struct nearest search;

	nearest_init(&search, without_prefix(text));
	for (size_t i = 0; i < names->reasons.count; i++)
		nearest_consider(&search, names->reasons.entries[i].name);
	return search.best;
}
