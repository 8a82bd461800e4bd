/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops by cause, and by reason; and messages, which are not drops. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "daemon/core/packet.h"
#include "daemon/metrics/internal.h"

enum { PACKETS, SEGMENTS, BYTES };

/*
 * The labels of a series.  A location is compared by its text, because a module that is loaded again brings the same
 * function at another address.
 */
struct drop_labels {
	uint32_t group, netns;
	uint64_t location; /* hash of its text */
	char device[NF_DEVICE_NAME];
	uint16_t protocol;
	uint8_t flags, l4;
};

_Static_assert(sizeof(struct drop_labels) <= SERIES_KEY_MAX, "a key fits");

/* FNV-1a.  The texts are the kernel's own symbols. */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static struct series_key key_of(const struct backend_drops *drops, uint32_t group,
				const char *location)
{
	struct drop_labels key;
	struct series_key bytes = {0};

	memset(&key, 0, sizeof(key));
	key.group = group;
	key.netns = drops->netns;
	key.location = hash(location);
	memcpy(key.device, drops->device, strnlen(drops->device, NF_DEVICE_NAME));
	key.protocol = drops->key.protocol;
	key.flags = drops->key.flags & (uint8_t)~NF_KEY_GENERATION;
	key.l4 = drops->key.l4;
	memcpy(bytes.bytes, &key, sizeof(key));
	return bytes;
}

/* The group of the cause, a new one if it is the first of it. */
static int find_group(struct metrics *metrics, const struct metrics_cause *cause, uint32_t *index)
{
	struct drop_group *group;
	size_t i = 0;

	for (; i < metrics->groups; i++) {
		group = &metrics->group[i];
		if (group->inferred == cause->inferred && group->class == cause->class &&
		    !strcmp(group->reason, cause->reason) &&
		    !strcmp(group->subsystem, cause->subsystem))
			break;
	}
	*index = (uint32_t)i;
	if (i < metrics->groups)
		return 0;
	if (ARRAY_GROW(metrics->group, metrics->groups, metrics->groups_room) < 0)
		return -ENOMEM;
	group = &metrics->group[metrics->groups++];
	*group = (struct drop_group){.class = cause->class, .inferred = cause->inferred};
	strcpy(group->reason, cause->reason);
	strcpy(group->subsystem, cause->subsystem);
	return 0;
}

/* The group of each cause of the snapshot; NULL: no memory. */
static uint32_t *find_groups(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	OWN_FREE uint32_t *groups = calloc(snapshot->causes + 1, sizeof(*groups));

	for (size_t i = 0; groups && i < snapshot->causes; i++)
		if (!snapshot->cause[i].message &&
		    find_group(metrics, &snapshot->cause[i], &groups[i]) < 0)
			return NULL;
	return TAKE_PTR(groups);
}

int metrics_add_drops(struct metrics *metrics, const struct metrics_snapshot *snapshot)
{
	const struct reading *reading = snapshot->reading[READING_DROPS];
	OWN_FREE uint32_t *groups = find_groups(metrics, snapshot);
	struct metrics_series *series = metrics->drops;
	uint64_t messages = 0;
	int r = groups ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct metrics_cause *cause = &snapshot->cause[snapshot->drop_cause[i]];
		const struct backend_drops *drops = reading_drops(reading, i);
		const uint64_t values[SERIES_VALUES] = {
			[PACKETS] = drops->packets,
			[SEGMENTS] = drops->segments,
			[BYTES] = drops->bytes,
		};
		uint32_t group = groups[snapshot->drop_cause[i]];
		const struct series_key key = key_of(drops, group, cause->location);

		metrics->unmeasured |= drops->unmeasured;
		if (cause->message)
			messages += drops->packets;
		else if (drops->gone || drops->unkeyed)
			r = metrics_series_add_rest(series, group, values);
		else if (metrics->drops_ns && drops->named_ns > metrics->drops_ns)
			r = metrics_series_add_moved(series, &key, group, cause->location, values);
		else
			r = metrics_series_add(series, &key, group, cause->location, values);
	}
	metrics->drops_ns = reading_time(reading);
	if (messages > metrics->messages)
		metrics->messages = messages;
	return r;
}

/* ---- writing ----------------------------------------------------------------- */

static const char *is_inferred(const struct drop_group *group)
{
	return group->inferred ? "true" : "false";
}

static void write_row(struct metrics_text *text, const struct metrics *metrics,
		      const struct series_row *row)
{
	const struct drop_group *group = &metrics->group[row->group];
	char netns[16] = "", protocol[PACKET_PROTOCOL_MAX];
	char device[NF_DEVICE_NAME + 1] = "";
	struct drop_labels key;

	memcpy(&key, row->key->bytes, sizeof(key));
	memcpy(device, key.device, NF_DEVICE_NAME);
	if (key.netns)
		snprintf(netns, sizeof(netns), "%" PRIu32, key.netns);
	packet_drop_protocol(key.protocol, key.flags, key.l4, protocol);
	metrics_labels(text, group->reason, is_inferred(group), group->class, row->text, device,
		       netns, key.flags & NF_KEY_COARSE ? "" : protocol);
	metrics_count(text, row->values[PACKETS]);
}

/* Of every reason, also while it is 0: a series that is there from the beginning has a rate from the beginning. */
static void write_others(struct metrics_text *text, const struct metrics *metrics)
{
	struct series_group counts;

	for (size_t i = 0; metrics_series_group(metrics->drops, i, &counts); i++) {
		const struct drop_group *group = &metrics->group[counts.group];

		metrics_labels(text, group->reason, is_inferred(group), group->class, METRICS_OTHER,
			       METRICS_OTHER, METRICS_OTHER, METRICS_OTHER);
		metrics_count(text, counts.other[PACKETS]);
	}
}

static void write_reasons(struct metrics_text *text, const struct metrics *metrics,
			  enum metrics_family_id family, int value)
{
	struct series_group counts;

	metrics_family(text, family);
	for (size_t i = 0; metrics_series_group(metrics->drops, i, &counts); i++) {
		const struct drop_group *group = &metrics->group[counts.group];

		metrics_labels(text, group->reason, is_inferred(group), group->class,
			       group->subsystem);
		metrics_count(text, counts.total[value]);
	}
}

static void write_unlisted(struct metrics_text *text, const struct metrics *metrics)
{
	struct series_group counts;

	metrics_family(text, METRICS_DROPS_UNLISTED);
	for (size_t i = 0; metrics_series_group(metrics->drops, i, &counts); i++) {
		const struct drop_group *group = &metrics->group[counts.group];

		metrics_labels(text, group->reason, is_inferred(group), group->class);
		metrics_count(text, counts.unlisted[PACKETS]);
	}
}

void metrics_write_drops(struct metrics_text *text, const struct metrics *metrics)
{
	struct series_row row;

	metrics_family(text, METRICS_DROPS);
	for (size_t i = 0; metrics_series_row(metrics->drops, i, &row); i++)
		write_row(text, metrics, &row);
	write_others(text, metrics);
	write_reasons(text, metrics, METRICS_DROPS_BY_REASON, PACKETS);
	if (!metrics->unmeasured) {
		write_reasons(text, metrics, METRICS_DROPS_BY_REASON_SEGMENTS, SEGMENTS);
		write_reasons(text, metrics, METRICS_DROPS_BY_REASON_BYTES, BYTES);
	}
	metrics_one(text, METRICS_DROPS_SERIES, metrics_series_shown(metrics->drops));
	metrics_one(text, METRICS_DROPS_SERIES_LIMIT, metrics->limit);
	metrics_one(text, METRICS_DROPS_OTHER_KEYS, metrics_series_others(metrics->drops));
	write_unlisted(text, metrics);
	metrics_one(text, METRICS_DROPS_MESSAGES, metrics->messages);
}
