/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/knowledge.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/nearest.h"
#include "common/segment_name.h"
#include "knowledge_table.h"

#define ENTRIES (ARRAY_SIZE(table))

const struct knowledge *knowledge_at(size_t index)
{
	return index < ENTRIES ? &table[index] : NULL;
}

static int compare(const void *key, const void *member)
{
	const struct knowledge *wanted = key, *entry = member;

	if (wanted->kind != entry->kind)
		return wanted->kind < entry->kind ? -1 : 1;
	return strcasecmp(wanted->name, entry->name);
}

const struct knowledge *knowledge_reason(const char *name)
{
	const struct knowledge wanted = {.name = name, .kind = KNOWLEDGE_REASON};

	return bsearch(&wanted, table, ENTRIES, sizeof(table[0]), compare);
}

static int compare_function(const void *key, const void *member)
{
	return strcmp(key, ((const struct place_name *)member)->function);
}

const struct knowledge *knowledge_place(const char *function)
{
	const struct place_name *found = bsearch(function, place_names, ARRAY_SIZE(place_names),
						 sizeof(place_names[0]), compare_function);

	return found ? &table[found->entry] : NULL;
}

/* ---- names as people write them --------------------------------------------- */

static const char *skip(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncasecmp(text, prefix, len) && text[len] ? text + len : text;
}

/* "napi.polls" is also called "polls". */
static const char *without_group(const struct knowledge *entry)
{
	const char *end = entry->kind == KNOWLEDGE_METRIC ? strchr(entry->name, '.') : NULL;

	return end ? end + 1 : entry->name;
}

/* "total" means the total of every direction. */
static bool is_segment(const struct knowledge *entry, const char *text)
{
	if (!strcasecmp(text, SEGMENT_NAME_TOTAL))
		return segment_name_is_total(entry->name);
	return !strcasecmp(entry->name, segment_name_read(text).s);
}

static bool is_also(const struct knowledge *entry, const char *text)
{
	size_t len = strlen(text);

	if (entry->kind == KNOWLEDGE_PLACE)
		len = strcspn(text, ".+( ");
	for (const char *at = entry->also; *at; at += strspn(at, ", ")) {
		size_t word = strcspn(at, ",");

		if (word == len && !strncasecmp(at, text, len))
			return true;
		at += word;
	}
	return false;
}

/* "udp_rcv", "udp_rcv()" or a location, "udp_rcv.isra.0+0x1f". */
static bool is_function(const char *name, const char *text)
{
	size_t len = strcspn(text, ".+( ");

	return strlen(name) == len && !strncasecmp(name, text, len);
}

bool knowledge_meant(const struct knowledge *entry, const char *text)
{
	if (is_also(entry, text))
		return true;
	switch (entry->kind) {
	case KNOWLEDGE_REASON:
		text = skip(text, "___");
		text = skip(text, "SKB_DROP_REASON_");
		return !strcasecmp(entry->name, text) ||
		       !strcasecmp(entry->name, skip(text, "SKB_"));
	case KNOWLEDGE_PLACE:
		return is_function(entry->name, text);
	case KNOWLEDGE_SEGMENT:
		return is_segment(entry, text);
	default:
		return !strcasecmp(entry->name, text) || !strcasecmp(without_group(entry), text);
	}
}

const char *knowledge_nearest(const char *text)
{
	struct segment_text word = segment_name_read(skip(text, "SKB_DROP_REASON_"));
	struct nearest search;

	nearest_init(&search, word.s);
	for (size_t i = 0; i < ENTRIES; i++) {
		nearest_consider(&search, table[i].name);
		nearest_consider(&search, without_group(&table[i]));
	}
	return search.best;
}

/* ---- names ------------------------------------------------------------------ */

const char *knowledge_kind_name(enum knowledge_kind kind)
{
	static const char *const names[KNOWLEDGE_KINDS] = {
		[KNOWLEDGE_REASON] = "reason", [KNOWLEDGE_SEGMENT] = "segment",
		[KNOWLEDGE_ALERT] = "alert",   [KNOWLEDGE_METRIC] = "metric",
		[KNOWLEDGE_PLACE] = "place",
	};

	return names[kind];
}

const char *knowledge_class_name(enum knowledge_class class)
{
	static const char *const names[KNOWLEDGE_CLASSES] = {
		[KNOWLEDGE_FAULT] = "fault",
		[KNOWLEDGE_POLICY] = "policy",
		[KNOWLEDGE_BENIGN] = "benign",
		[KNOWLEDGE_UNKNOWN] = "unknown",
	};

	return names[class];
}
