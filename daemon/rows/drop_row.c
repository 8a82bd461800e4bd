/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rows/drop_row.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/texts.h"
#include "daemon/core/drop.h"
#include "daemon/core/owner.h"

/* Between the parts of a candidate, and behind each: no name has them. */
#define BETWEEN "\t"
#define BEHIND "\n"

void drop_candidate_add(char text[static DROP_CANDIDATES_MAX], const char *reason,
			const char *class)
{
	size_t length = strlen(text);

	snprintf(text + length, DROP_CANDIDATES_MAX - length, "%s" BETWEEN "%s" BEHIND,
		 reason ? reason : "", class);
}

bool drop_candidate(char **buffer, const char **reason, const char **class)
{
	char *line = *buffer ? strsep(buffer, BEHIND) : NULL;

	if (!line || !line[0])
		return false;
	*reason = strsep(&line, BETWEEN);
	*class = line ? line : "";
	if (!**reason)
		*reason = NULL;
	return true;
}

static const char *candidates_of(const struct verdict *verdict, struct texts *texts)
{
	char text[DROP_CANDIDATES_MAX] = "";

	if (!verdict->candidates)
		return NULL;
	for (size_t i = 0; i < verdict->candidates; i++)
		drop_candidate_add(text, verdict->candidate[i]->reason,
				   knowledge_class_name(verdict->candidate[i]->class));
	return texts_keep(texts, text, SIZE_MAX);
}

void drop_row_set_cause(struct drop_row *row, const struct cause *cause, struct texts *texts)
{
	const struct verdict *verdict = &cause->verdict;
	struct drop_key *key = &row->key;

	key->reason = texts_keep(texts, verdict->reason, SIZE_MAX);
	key->inferred = verdict->inferred;
	if (verdict->inferred)
		key->kernel_reason = texts_keep(texts, cause->kernel_reason, SIZE_MAX);
	key->numbered = cause->has_reason;
	key->reason_number = cause->has_reason ? cause->reason : 0;
	key->subsystem = texts_keep(texts, cause->subsystem, SIZE_MAX);
	key->candidates = candidates_of(verdict, texts);
	key->class = (uint8_t)verdict->class;
	key->message = verdict->message;
	key->location = texts_keep(texts, cause->location, SIZE_MAX);
	if (verdict->function[0])
		key->function = texts_keep(texts, verdict->function, SIZE_MAX);
	row->evidence = cause->evidence;
}

void drop_row_set_owner(struct drop_row *row, const struct owner *owner, struct texts *texts)
{
	struct drop_key *key = &row->key;

	if (!owner)
		return;
	key->cgroup = texts_keep(texts, owner->cgroup, SIZE_MAX);
	key->unit = texts_keep(texts, owner->unit, SIZE_MAX);
	key->container = texts_keep(texts, owner->container, SIZE_MAX);
	key->pod = texts_keep(texts, owner->pod, SIZE_MAX);
	key->by_netns = owner->by_netns;
}

#define KEY_TEXTS(key)                                                                             \
	{                                                                                          \
		&(key)->reason, &(key)->kernel_reason, &(key)->subsystem, &(key)->candidates,      \
			&(key)->location, &(key)->function, &(key)->device.name,                   \
			&(key)->device.netns_name, &(key)->protocol, &(key)->flow, &(key)->cgroup, \
			&(key)->unit, &(key)->container, &(key)->pod                               \
	}

void drop_key_keep(struct drop_key *key, struct texts *texts)
{
	const char **const all[] = KEY_TEXTS(key);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		*all[i] = texts_keep(texts, *all[i], SIZE_MAX);
}

bool drop_key_find(struct drop_key *key, const struct texts *texts)
{
	const char **const all[] = KEY_TEXTS(key);

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!texts_replace(texts, all[i]))
			return false;
	return true;
}

void drop_key_project(struct drop_key *key, unsigned int fields)
{
	if (!(fields & DROP_REASON)) {
		key->reason = key->kernel_reason = key->subsystem = key->candidates = NULL;
		key->reason_number = key->numbered = key->inferred = 0;
	}
	if (!(fields & DROP_LOCATION))
		key->location = key->function = NULL;
	if (!(fields & DROP_DEVICE)) {
		key->device.name = NULL;
		key->device.ifindex = 0;
		key->device.identity = 0;
	}
	if (!(fields & DROP_NETNS)) {
		key->device.netns_name = NULL;
		key->device.netns = 0;
		key->device.netns_id = 0;
		key->unsure = 0;
	}
	if (!(fields & DROP_PROTOCOL))
		key->protocol = NULL;
	if (!(fields & DROP_CGROUP)) {
		key->cgroup = key->unit = key->container = key->pod = NULL;
		key->cgroup_id = key->by_netns = 0;
	}
	if (!(fields & DROP_FLOW))
		key->flow = NULL;
}

unsigned int drop_row_fields(const struct drop_row *row, unsigned int wanted)
{
	unsigned int fields = wanted;

	if (row->lost & DROP_UNKEYED)
		fields &= DROP_REASON;
	if (row->lost & DROP_GONE)
		fields &= DROP_REASON | DROP_LOCATION | DROP_EVIDENCE;
	if (row->lost & DROP_COARSE)
		fields &= DROP_REASON | DROP_LOCATION | DROP_NETNS | DROP_EVIDENCE;
	return fields;
}
