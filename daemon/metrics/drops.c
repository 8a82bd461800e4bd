/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops by cause, and by reason. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/core/packet.h"
#include "daemon/metrics/internal.h"

enum { PACKETS, SEGMENTS, BYTES };

/*
 * The labels of a series.  A location is compared by its text, because a module that is loaded again brings the same
 * function at another address.
 */
struct drop_key {
	uint32_t reason, netns;
	uint64_t location; /* hash of its text */
	char device[NF_DEVICE_NAME];
	uint16_t protocol;
	uint8_t flags, l4;
};

_Static_assert(sizeof(struct drop_key) <= SERIES_KEY_MAX, "a key fits");

/* FNV-1a.  The texts are the kernel's own symbols. */
static uint64_t hash(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static struct series_key key_of(const struct backend_drops *drops, const char *location)
{
	struct drop_key key;
	struct series_key bytes = {0};

	memset(&key, 0, sizeof(key));
	key.reason = drops->key.reason;
	key.netns = drops->netns;
	key.location = hash(location);
	memcpy(key.device, drops->device, strnlen(drops->device, NF_DEVICE_NAME));
	key.protocol = drops->key.protocol;
	key.flags = drops->key.flags & (uint8_t)~NF_KEY_GENERATION;
	key.l4 = drops->key.l4;
	memcpy(bytes.bytes, &key, sizeof(key));
	return bytes;
}

/*
 * The text of an entry keeps what the key has no room for: reason, class, subsystem and location, each up to a line
 * feed, which none of them has.
 */
static void describe(const struct metrics_cause *cause, char text[static SERIES_TEXT_MAX])
{
	snprintf(text, SERIES_TEXT_MAX, "%s\n%s\n%s", cause->reason, cause->class, cause->location);
}

int metrics_add_drops(struct series *series, const struct metrics_snapshot *snapshot)
{
	const struct reading *reading = snapshot->reading[READING_DROPS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++) {
		const struct metrics_cause *cause = &snapshot->cause[snapshot->drop_cause[i]];
		const struct backend_drops *drops = reading_drops(reading, i);
		const uint64_t values[SERIES_VALUES] = {
			[PACKETS] = drops->packets,
			[SEGMENTS] = drops->segments,
			[BYTES] = drops->bytes,
		};
		const struct series_key key = key_of(drops, cause->location);
		char text[SERIES_TEXT_MAX];

		if (drops->gone || drops->unkeyed) {
			r = metrics_series_add_rest(series, drops->key.reason, values);
			continue;
		}
		describe(cause, text);
		r = metrics_series_add(series, &key, drops->key.reason, text, values);
	}
	return r;
}

/* ---- writing ----------------------------------------------------------------- */

static const struct metrics_cause *cause_of(const struct metrics_snapshot *snapshot,
					    uint32_t reason)
{
	static const struct metrics_cause none = {.class = ""};

	for (size_t i = 0; i < snapshot->causes; i++)
		if (snapshot->cause[i].reason_number == reason)
			return &snapshot->cause[i];
	return &none;
}

static void write_row(struct metrics_text *text, const struct series_row *row)
{
	char names[SERIES_TEXT_MAX], *rest = names, netns[16] = "", protocol[PACKET_PROTOCOL_MAX];
	char device[NF_DEVICE_NAME + 1] = "";
	const char *reason, *class;
	struct drop_key key;

	memcpy(&key, row->key->bytes, sizeof(key));
	memcpy(device, key.device, NF_DEVICE_NAME);
	snprintf(names, sizeof(names), "%s", row->text);
	reason = strsep(&rest, "\n");
	class = strsep(&rest, "\n");
	if (key.netns)
		snprintf(netns, sizeof(netns), "%" PRIu32, key.netns);
	packet_drop_protocol(key.protocol, key.flags, key.l4, protocol);
	metrics_labels(text, reason, class, rest, device, netns,
		       key.flags & NF_KEY_COARSE ? "" : protocol);
	metrics_count(text, row->values[PACKETS]);
}

/* Of every reason, also while it is 0: a series that is there from the beginning has a rate from the beginning. */
static void write_others(struct metrics_text *text, const struct metrics *metrics,
			 const struct metrics_snapshot *snapshot)
{
	struct series_group group;

	for (size_t i = 0; metrics_series_group(metrics->drops, i, &group); i++) {
		const struct metrics_cause *cause = cause_of(snapshot, group.group);

		metrics_labels(text, cause->reason, cause->class, METRICS_OTHER, METRICS_OTHER,
			       METRICS_OTHER, METRICS_OTHER);
		metrics_count(text, group.other[PACKETS]);
	}
}

static void write_reasons(struct metrics_text *text, const struct metrics *metrics,
			  const struct metrics_snapshot *snapshot, enum metrics_family_id family,
			  int value)
{
	struct series_group group;

	metrics_family(text, family);
	for (size_t i = 0; metrics_series_group(metrics->drops, i, &group); i++) {
		const struct metrics_cause *cause = cause_of(snapshot, group.group);

		metrics_labels(text, cause->reason, cause->class, cause->subsystem);
		metrics_count(text, group.total[value]);
	}
}

static void write_unlisted(struct metrics_text *text, const struct metrics *metrics,
			   const struct metrics_snapshot *snapshot)
{
	struct series_group group;

	metrics_family(text, METRICS_DROPS_UNLISTED);
	for (size_t i = 0; metrics_series_group(metrics->drops, i, &group); i++) {
		metrics_labels(text, cause_of(snapshot, group.group)->reason);
		metrics_count(text, group.unlisted[PACKETS]);
	}
}

void metrics_write_drops(struct metrics_text *text, const struct metrics *metrics,
			 const struct metrics_snapshot *snapshot)
{
	struct series_row row;

	metrics_family(text, METRICS_DROPS);
	for (size_t i = 0; metrics_series_row(metrics->drops, i, &row); i++)
		write_row(text, &row);
	write_others(text, metrics, snapshot);
	write_reasons(text, metrics, snapshot, METRICS_DROPS_BY_REASON, PACKETS);
	write_reasons(text, metrics, snapshot, METRICS_DROPS_BY_REASON_SEGMENTS, SEGMENTS);
	write_reasons(text, metrics, snapshot, METRICS_DROPS_BY_REASON_BYTES, BYTES);
	metrics_one(text, METRICS_DROPS_SERIES, metrics_series_shown(metrics->drops));
	metrics_one(text, METRICS_DROPS_SERIES_LIMIT, metrics->limit);
	metrics_one(text, METRICS_DROPS_OTHER_KEYS, metrics_series_others(metrics->drops));
	write_unlisted(text, metrics, snapshot);
}
