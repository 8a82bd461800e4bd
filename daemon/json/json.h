/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon knows, as the JSON objects that daemon/control/io.netflowd.varlink
 * describes.  What is not known is left out.
 *
 * Every function returns a new reference, the caller's to drop, or NULL when
 * memory ran out.  Counters above INT64_MAX, which JSON's integers cannot
 * hold, are given as INT64_MAX.
 */
#ifndef DAEMON_JSON_JSON_H
#define DAEMON_JSON_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "daemon/core/device.h"

struct cause;
struct drop;
struct journey;
struct knowledge;
struct rocket;
struct transmit;

/*
 * A string out of `max` bytes that anybody may have written: it ends at the
 * first 0, or after them all; each byte that is not valid UTF-8 becomes U+FFFD.
 */
json_t *json_text(const char *bytes, size_t max);

/* A moment of CLOCK_MONOTONIC as a string, RFC 3339 with the offset of the host's clock. */
json_t *json_time(uint64_t monotonic_ns);

/* Types DropRecord, LatencyRecord and SlotsRecord, of records that are resolved already. */
json_t *json_drop_record(const struct drop *drop);
json_t *json_latency_record(const struct journey *journey);
json_t *json_slots_record(const struct transmit *transmit);

/* Type Explanation. */
json_t *json_knowledge(const struct knowledge *entry);

/* Type Rocket; `state` is one of those it names there. */
json_t *json_rocket(const struct rocket *rocket, const char *state);

/* Which fields of the key stand in a row. */
enum json_drops_field {
	JSON_DROPS_REASON = 1 << 0,
	JSON_DROPS_LOCATION = 1 << 1,
	JSON_DROPS_DEVICE = 1 << 2, /* device and ifindex */
	JSON_DROPS_NETNS = 1 << 3,
	JSON_DROPS_PROTOCOL = 1 << 4,
	JSON_DROPS_ALL = (1 << 5) - 1,
};

struct json_drops {
	const struct cause *cause;
	unsigned int fields; /* enum json_drops_field */
	struct device device;
	const char *protocol; /* as packet_protocol() has it */
	const char *flow;     /* NULL: the row is not about one flow */
	uint64_t packets;
	uint64_t bytes;
	uint64_t last_ns; /* CLOCK_MONOTONIC */
};

/* Type Drops. */
json_t *json_drops(const struct json_drops *row);

/*
 * Type Latency; `device` NULL: the devices without a slot of their own.  An
 * empty histogram has a count of 0, and no mean, maximum or quantiles.  The
 * last bucket's below_ns is INT64_MAX: it is open.
 */
json_t *json_latency(enum nf_segment segment, const struct device *device,
		     const struct nf_hist *hist);

#endif
