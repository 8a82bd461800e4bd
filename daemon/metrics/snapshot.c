/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/core/drop.h"
#include "daemon/store/cause_index.h"

void metrics_snapshot_free(struct metrics_snapshot **snapshot)
{
	struct metrics_snapshot *old = *snapshot;

	if (!old)
		return;
	for (int i = 0; i < READING_PARTS; i++)
		reading_release(&old->reading[i]);
	for (size_t i = 0; i < old->causes; i++)
		free(old->cause[i].location);
	free(old->cause);
	free(old->drop_cause);
	for (size_t i = 0; i < old->netns_count; i++)
		free(old->netns[i].name);
	free(old->netns);
	coverage_clear(&old->coverage);
	free(old->alert);
	free(old->elsewhere);
	free(old);
	*snapshot = NULL;
}

/* ---- causes ------------------------------------------------------------------ */

static int fill(struct metrics_cause *to, uint64_t location, const struct cause *cause)
{
	*to = (struct metrics_cause){
		.inferred = cause->verdict.inferred,
		.message = cause->verdict.message,
		.class = knowledge_class_name(cause->verdict.class),
	};
	if (cause->verdict.reason)
		snprintf(to->reason, sizeof(to->reason), "%s", cause->verdict.reason);
	else if (cause->has_reason)
		snprintf(to->reason, sizeof(to->reason), "%" PRIu32, cause->reason);
	if (cause->subsystem)
		snprintf(to->subsystem, sizeof(to->subsystem), "%s", cause->subsystem);
	to->location = strdup(location && cause->location ? cause->location : "");
	return to->location ? 0 : -ENOMEM;
}

int metrics_snapshot_causes(struct metrics_snapshot *snapshot,
			    void (*resolve)(const struct nf_drop_key *key, struct cause *cause,
					    void *userdata),
			    void *userdata)
{
	const struct reading *reading = snapshot->reading[READING_DROPS];
	size_t count = reading ? reading_count(reading) : 0;
	OWN_CAUSE_INDEX struct cause_index *index = NULL;
	int r = cause_index_new(&index);

	snapshot->drop_cause = calloc(count + 1, sizeof(*snapshot->drop_cause));
	if (r < 0 || !snapshot->drop_cause)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct nf_drop_key *key = &reading_drops(reading, i)->key;
		uint32_t number = cause_index_find(index, key);
		struct cause cause;

		if (!number) {
			if (ARRAY_GROW(snapshot->cause, snapshot->causes, snapshot->causes_room) <
			    0)
				return -ENOMEM;
			resolve(key, &cause, userdata);
			if (fill(&snapshot->cause[snapshot->causes], key->location, &cause) < 0)
				return -ENOMEM;
			number = (uint32_t)++snapshot->causes;
			if (cause_index_add(index, key, number) < 0)
				return -ENOMEM;
		}
		snapshot->drop_cause[i] = number - 1;
	}
	return 0;
}

/* ---- network namespaces -------------------------------------------------------- */

/* Different numbers in ascending order, at most METRICS_NETNS_MAX: the same ones in each snapshot. */
struct numbers {
	uint32_t at[METRICS_NETNS_MAX + 1]; /* with room for one more while it is inserted */
	size_t count;
};

static void add_number(struct numbers *numbers, uint32_t number)
{
	size_t low = 0, high = numbers->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (numbers->at[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (!number || low == METRICS_NETNS_MAX ||
	    (low < numbers->count && numbers->at[low] == number))
		return;
	memmove(&numbers->at[low + 1], &numbers->at[low],
		(numbers->count - low) * sizeof(numbers->at[0]));
	numbers->at[low] = number;
	if (numbers->count < METRICS_NETNS_MAX)
		numbers->count++;
}

static void add_numbers(struct numbers *numbers, const struct metrics_snapshot *snapshot)
{
	const struct reading *drops = snapshot->reading[READING_DROPS];
	const struct reading *napi = snapshot->reading[READING_NAPI];
	const struct reading *slots = snapshot->reading[READING_SLOTS];

	add_number(numbers, snapshot->host_netns);
	for (size_t i = 0; drops && i < reading_count(drops); i++)
		add_number(numbers, reading_drops(drops, i)->netns);
	for (size_t i = 0; napi && i < reading_count(napi); i++)
		add_number(numbers, reading_napi(napi, i)->netns);
	for (size_t i = 0; slots && i < reading_count(slots); i++)
		add_number(numbers, reading_slots(slots, i)->netns);
}

int metrics_snapshot_netns(struct metrics_snapshot *snapshot,
			   const char *(*name)(uint32_t inode, char buffer[static NAME_MAX + 1],
					       void *userdata),
			   void *userdata)
{
	struct numbers numbers = {.count = 0};
	char buffer[NAME_MAX + 1];

	add_numbers(&numbers, snapshot);
	snapshot->netns = calloc(numbers.count + 1, sizeof(*snapshot->netns));
	if (!snapshot->netns)
		return -ENOMEM;
	for (size_t i = 0; i < numbers.count; i++) {
		struct metrics_netns *row = &snapshot->netns[snapshot->netns_count];

		if (!name(numbers.at[i], buffer, userdata))
			continue;
		row->inode = numbers.at[i];
		row->name = strdup(buffer);
		if (!row->name)
			return -ENOMEM;
		snapshot->netns_count++;
	}
	return 0;
}
