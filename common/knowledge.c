/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/knowledge.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/nearest.h"
#include "knowledge_table.h"

#define ENTRIES (ARRAY_SIZE(table))
#define ARROW "→"
#define NAME_MAX_BYTES 128

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

/* ---- names as people write them --------------------------------------------- */

static const char *skip(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncasecmp(text, prefix, len) && text[len] ? text + len : text;
}

/* Spellings that people use, and the spelling in entries.  The first match counts. */
static const struct {
	const char *written, *means;
} spellings[] = {
	{"->", ARROW},
	{"softirq_raise", "raise"},
	{"softirq_entry", "softirq"},
};

static const char *respell(const char *at, size_t *written)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		*written = strlen(spellings[i].written);
		if (!strncasecmp(at, spellings[i].written, *written))
			return spellings[i].means;
	}
	return NULL;
}

/* Spell a segment as entries do.  A text that is too long is cut, and then it matches no entry. */
static void normalize(const char *text, char out[static NAME_MAX_BYTES])
{
	size_t len = 0;

	while (*text && len + 8 < NAME_MAX_BYTES) {
		size_t written;
		const char *means = respell(text, &written);

		if (means) {
			len = (size_t)(stpcpy(out + len, means) - out);
			text += written;
		} else {
			out[len++] = *text++;
		}
	}
	out[len] = '\0';
}

/* "rx total" is also called "total", and "napi.polls" is also called "polls". */
static const char *without_group(const struct knowledge *entry)
{
	const char *end = NULL;

	if (entry->kind == KNOWLEDGE_SEGMENT)
		end = strchr(entry->name, ' ');
	else if (entry->kind == KNOWLEDGE_METRIC)
		end = strchr(entry->name, '.');
	return end ? end + 1 : entry->name;
}

static bool is_also(const struct knowledge *entry, const char *text)
{
	size_t len = strlen(text);

	for (const char *at = entry->also; *at; at += strspn(at, ", ")) {
		size_t word = strcspn(at, ",");

		if (word == len && !strncasecmp(at, text, len))
			return true;
		at += word;
	}
	return false;
}

bool knowledge_meant(const struct knowledge *entry, const char *text)
{
	char name[NAME_MAX_BYTES];

	if (is_also(entry, text))
		return true;
	switch (entry->kind) {
	case KNOWLEDGE_REASON:
		text = skip(text, "___");
		text = skip(text, "SKB_DROP_REASON_");
		return !strcasecmp(entry->name, text) ||
		       !strcasecmp(entry->name, skip(text, "SKB_"));
	case KNOWLEDGE_SEGMENT:
		normalize(text, name);
		return !strcasecmp(entry->name, name) || !strcasecmp(without_group(entry), name);
	default:
		return !strcasecmp(entry->name, text) || !strcasecmp(without_group(entry), text);
	}
}

const char *knowledge_nearest(const char *text)
{
	struct nearest search;

	nearest_init(&search, skip(text, "SKB_DROP_REASON_"));
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
		[KNOWLEDGE_REASON] = "reason",
		[KNOWLEDGE_SEGMENT] = "segment",
		[KNOWLEDGE_ALERT] = "alert",
		[KNOWLEDGE_METRIC] = "metric",
	};

	return names[kind];
}

const char *knowledge_class_name(enum knowledge_class class)
{
	static const char *const names[] = {
		[KNOWLEDGE_FAULT] = "fault",
		[KNOWLEDGE_POLICY] = "policy",
		[KNOWLEDGE_BENIGN] = "benign",
	};

	return names[class];
}
