/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rows/drop_cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/rows/drop_row.h"

static void put(FILE *text, const char *word, const char *value)
{
	if (value && value[0])
		fprintf(text, "%s=%s ", word, value);
}

static void put_number(FILE *text, const char *word, uint64_t value)
{
	if (value)
		fprintf(text, "%s=%" PRIu64 " ", word, value);
}

static void put_candidates(FILE *text, const char *candidates)
{
	OWN_FREE char *copy = candidates ? strdup(candidates) : NULL;
	const char *reason, *class;

	for (char *rest = copy; drop_candidate(&rest, &reason, &class);)
		fprintf(text, "or=%s/%s ", reason ? reason : "", class);
}

/* Of a reason with a name, the number can be another one on the next kernel. */
static void put_reason(FILE *text, const struct drop_key *key)
{
	put(text, key->inferred ? "inferred" : "reason", key->reason);
	put(text, "kernel_reason", key->kernel_reason);
	if (!key->reason && key->numbered)
		fprintf(text, "number=%" PRIu32 " ", key->reason_number);
	if (key->subsystem && strcmp(key->subsystem, "core") != 0)
		put(text, "subsystem", key->subsystem);
	put_candidates(text, key->candidates);
}

/* What has a number can get its name later. */
static void put_place(FILE *text, const struct drop_key *key, unsigned int fields)
{
	const struct device *device = &key->device;

	if (fields & DROP_DEVICE) {
		put(text, "device", device->name);
		put_number(text, "ifindex", device->ifindex);
	}
	if (fields & DROP_NETNS && device->netns)
		put_number(text, "netns", device->netns);
	else if (fields & DROP_NETNS)
		put(text, "netns", device->netns_name);
}

/* The owner of a namespace is not a part of what has that namespace. */
static void put_owner(FILE *text, const struct drop_key *key, unsigned int fields)
{
	if (key->cgroup_id)
		put_number(text, "cgroup", key->cgroup_id);
	else if (!(fields & DROP_NETNS) || !key->device.netns)
		put(text, "cgroup", key->cgroup);
}

static void put_lost(FILE *text, unsigned int lost)
{
	if (lost & DROP_GONE)
		put(text, "lost", "gone");
	if (lost & DROP_UNKEYED)
		put(text, "lost", "unkeyed");
	if (lost & DROP_COARSE)
		put(text, "lost", "coarse");
}

static void put_all(FILE *text, const struct drop_row *row, unsigned int fields)
{
	const struct drop_key *key = &row->key;

	if (fields & DROP_REASON)
		put_reason(text, key);
	put(text, "class", knowledge_class_name((enum knowledge_class)key->class));
	if (fields & DROP_LOCATION)
		put(text, "location", key->location);
	put_place(text, key, fields);
	if (fields & DROP_PROTOCOL)
		put(text, "protocol", key->protocol);
	if (fields & DROP_CGROUP)
		put_owner(text, key, fields);
	if (fields & DROP_FLOW)
		put(text, "flow", key->flow);
	put_lost(text, key->lost);
}

char *drop_cause_text(const struct drop_row *row, unsigned int fields)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	put_all(stream, row, fields);
	if (fclose(stream) != 0) {
		free(text);
		return NULL;
	}
	/* Each word has a blank behind it. */
	if (size)
		text[size - 1] = 0;
	return text;
}
