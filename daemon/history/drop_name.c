/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/drop_name.h"

#include <string.h>

#include "bpf/records.h"
#include "common/json.h"
#include "daemon/core/evidence.h"
#include "daemon/core/verdict.h"
#include "daemon/history/place_key.h"

static const char *text(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

static uint64_t number(const json_t *object, const char *member)
{
	return (uint64_t)json_integer_value(json_object_get(object, member));
}

static bool truth(const json_t *object, const char *member)
{
	return json_is_true(json_object_get(object, member));
}

static const char *candidates_of(const json_t *list, char all[static DROP_CANDIDATES_MAX])
{
	const json_t *one;
	size_t i;

	all[0] = 0;
	if (!json_array_size(list))
		return NULL;
	json_array_foreach(list, i, one)
	{
		const char *class = text(one, "class");

		if (class)
			drop_candidate_add(all, text(one, "reason"), class);
	}
	return all;
}

static uint64_t evidence(const json_t *words)
{
	uint64_t bits = words ? NF_EVIDENCE_KNOWN : 0;
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word) if (json_is_string(word)) bits |=
		evidence_bit(json_string_value(word));
	return bits;
}

static uint8_t class_of(const json_t *name)
{
	const char *word = text(name, "class");
	enum knowledge_class class = word ? verdict_class(word) : KNOWLEDGE_CLASSES;

	return (uint8_t)(class == KNOWLEDGE_CLASSES ? KNOWLEDGE_UNKNOWN : class);
}

static void read_reason(struct drop_key *key, const json_t *name,
			char candidates[static DROP_CANDIDATES_MAX])
{
	key->reason = text(name, "reason");
	key->inferred = truth(name, "inferred");
	key->kernel_reason = text(name, "kernel_reason");
	key->numbered = json_object_get(name, "reason_number") != NULL;
	key->reason_number = (uint32_t)number(name, "reason_number");
	key->subsystem = text(name, "subsystem");
	key->candidates = candidates_of(json_object_get(name, "candidates"), candidates);
	key->class = class_of(name);
	key->message = truth(name, "message");
	key->location = text(name, "location");
	key->function = text(name, "function");
}

static void read_place(struct drop_key *key, const json_t *name)
{
	const json_t *owner = json_object_get(name, "owner");

	place_read(&key->device, name);
	key->cgroup_id = number(name, "cgroup_id");
	key->cgroup = text(owner, "cgroup");
	key->unit = text(owner, "unit");
	key->container = text(owner, "container");
	key->pod = text(owner, "pod");
	key->by_netns = truth(owner, "by_netns");
}

void drop_name_read(struct drop_row *row, const json_t *name,
		    char candidates[static DROP_CANDIDATES_MAX])
{
	struct drop_key *key = &row->key;

	read_reason(key, name, candidates);
	read_place(key, name);
	key->protocol = text(name, "protocol");
	key->flow = text(name, text(name, "flow") ? "flow" : "protocol");
	row->evidence = evidence(json_object_get(name, "evidence"));
	row->lost = (uint8_t)((truth(name, "gone") ? DROP_GONE : 0) |
			      (truth(name, "unkeyed") ? DROP_UNKEYED : 0) |
			      (truth(name, "coarse") ? DROP_COARSE : 0));
	row->host = key->device.netns_name && !strcmp(key->device.netns_name, "host");
}
