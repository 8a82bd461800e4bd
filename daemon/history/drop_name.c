/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/drop_name.h"

#include <string.h>

#include "bpf/records.h"
#include "common/json.h"
#include "common/texts.h"
#include "daemon/core/evidence.h"
#include "daemon/core/verdict.h"
#include "daemon/history/place_key.h"
#include "daemon/rows/drop_row.h"

static const char *text(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

static const char *keep(const json_t *object, const char *member, struct texts *texts)
{
	return texts_keep(texts, text(object, member), SIZE_MAX);
}

static uint64_t number(const json_t *object, const char *member)
{
	return (uint64_t)json_integer_value(json_object_get(object, member));
}

static bool truth(const json_t *object, const char *member)
{
	return json_is_true(json_object_get(object, member));
}

static const char *candidates(const json_t *list, struct texts *texts)
{
	char all[DROP_CANDIDATES_MAX] = "";
	const json_t *one;
	size_t i;

	if (!json_array_size(list))
		return NULL;
	json_array_foreach(list, i, one)
	{
		const char *class = text(one, "class");

		if (class)
			drop_candidate_add(all, text(one, "reason"), class);
	}
	return texts_keep(texts, all, SIZE_MAX);
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

static void read_reason(struct drop_key *key, const json_t *name, struct texts *texts)
{
	key->reason = keep(name, "reason", texts);
	key->inferred = truth(name, "inferred");
	key->kernel_reason = keep(name, "kernel_reason", texts);
	key->numbered = json_object_get(name, "reason_number") != NULL;
	key->reason_number = (uint32_t)number(name, "reason_number");
	key->subsystem = keep(name, "subsystem", texts);
	key->candidates = candidates(json_object_get(name, "candidates"), texts);
	key->class = class_of(name);
	key->message = truth(name, "message");
	key->location = keep(name, "location", texts);
	key->function = keep(name, "function", texts);
}

static void read_place(struct drop_key *key, const json_t *name, struct texts *texts)
{
	const json_t *owner = json_object_get(name, "owner");

	key->device = keep(name, "device", texts);
	key->ifindex = (uint32_t)number(name, "ifindex");
	key->netns = (uint32_t)number(name, "netns");
	key->netns_name = keep(name, "netns_name", texts);
	key->netns_id = number(name, PLACE_NETNS);
	key->device_id = number(name, PLACE_DEVICE);
	key->cgroup_id = number(name, "cgroup_id");
	key->cgroup = keep(owner, "cgroup", texts);
	key->unit = keep(owner, "unit", texts);
	key->container = keep(owner, "container", texts);
	key->pod = keep(owner, "pod", texts);
	key->by_netns = truth(owner, "by_netns");
}

void drop_name_read(struct drop_row *row, const json_t *name, struct texts *texts)
{
	struct drop_key *key = &row->key;

	read_reason(key, name, texts);
	read_place(key, name, texts);
	key->protocol = keep(name, "protocol", texts);
	key->flow = keep(name, text(name, "flow") ? "flow" : "protocol", texts);
	row->evidence = evidence(json_object_get(name, "evidence"));
	row->lost = (uint8_t)((truth(name, "gone") ? DROP_GONE : 0) |
			      (truth(name, "unkeyed") ? DROP_UNKEYED : 0) |
			      (truth(name, "coarse") ? DROP_COARSE : 0));
	row->host = key->netns_name && !strcmp(key->netns_name, "host");
}

bool drop_name_key(const char *name, char key[static BASELINE_KEY_MAX])
{
	OWN_JSON json_t *object = json_loads(name, 0, NULL);
	OWN_TEXTS struct texts texts = {0};
	struct drop_row row = {0};

	if (!object)
		return false;
	drop_name_read(&row, object, &texts);
	return !texts.failed && baseline_key_of(&row, key);
}
