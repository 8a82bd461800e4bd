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

struct attribution;
struct knowledge;
struct names;
struct path;
struct rocket;
struct symbols;

/*
 * A string out of `max` bytes that anybody may have written: it ends at the
 * first 0, or after them all; each byte that is not valid UTF-8 becomes U+FFFD.
 */
json_t *json_text(const char *bytes, size_t max);

/* Type DropRecord.  stack[] is read only as far as header.size covers it. */
json_t *json_drop_record(const struct nf_drop_record *record, const struct names *names,
			 const struct symbols *symbols);

/*
 * Type LatencyRecord; `path` is what path_read() made of the record.  With
 * `attribution` NULL nothing is said of owners, nor of namespaces' names.
 */
json_t *json_latency_record(const struct nf_path_record *record, const struct path *path,
			    struct attribution *attribution);

/* Type Explanation. */
json_t *json_knowledge(const struct knowledge *entry);

/* "fault", "policy" or "benign"; NULL for a reason that the knowledge does not have. */
const char *json_reason_class(uint32_t reason, const struct names *names);

/* Type SlotsRecord.  frag[] is read only as far as header.size covers it. */
json_t *json_slots_record(const struct nf_slots_record *record);

/* Type Rocket; `state` is one of those it names there. */
json_t *json_rocket(const struct rocket *rocket, const char *state);

/* Which fields of the key stand in a row. */
enum json_drops_field {
	JSON_DROPS_REASON = 1 << 0, /* leave it out where the kernel gives no reasons */
	JSON_DROPS_LOCATION = 1 << 1,
	JSON_DROPS_DEVICE = 1 << 2, /* device and ifindex */
	JSON_DROPS_NETNS = 1 << 3,
	JSON_DROPS_PROTOCOL = 1 << 4,
	JSON_DROPS_ALL = (1 << 5) - 1,
};

struct json_drops {
	struct nf_drop_key key;
	unsigned int fields; /* enum json_drops_field */
	const char *device;  /* up to NF_DEVICE_NAME bytes; NULL or empty: not known */
	const char *flow;    /* NULL: the row does not stand for a flow */
	uint64_t packets;
	uint64_t bytes;
	uint64_t last_ns; /* CLOCK_MONOTONIC */
};

/* Type Drops. */
json_t *json_drops(const struct json_drops *row, const struct names *names,
		   const struct symbols *symbols);

struct json_device {
	const char *name; /* up to NF_DEVICE_NAME bytes; NULL or empty: not known */
	uint32_t ifindex; /* 0: not known */
	uint32_t netns;	  /* 0: not known */
};

/*
 * Type Latency; `device` NULL: the devices without a slot of their own.  An
 * empty histogram has a count of 0, and no mean, maximum or quantiles.  The
 * last bucket's below_ns is INT64_MAX: it is open.
 */
json_t *json_latency(enum nf_segment segment, const struct json_device *device,
		     const struct nf_hist *hist);

#endif
