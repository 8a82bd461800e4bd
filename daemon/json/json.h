/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's records and counters as the JSON objects that daemon/control/io.netflowd.varlink describes.  A value
 * that is not known is left out.
 *
 * Every function returns a new reference, which the caller owns, or NULL if memory runs out.  Counters above INT64_MAX,
 * which JSON's integers cannot hold, become INT64_MAX.
 */
#ifndef DAEMON_JSON_JSON_H
#define DAEMON_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"
#include "daemon/core/device.h"

struct cause;
struct drop;
struct drop_row;
struct journey;
struct knowledge;
struct latency_doubt;
struct latency_row;
struct napi_row;
struct owner;
struct rocket;
struct slots_row;
struct softnet_row;
struct record;
struct transmit;

/*
 * A string of at most `max` bytes of unknown origin.  It ends at the first 0, or after `max` bytes.  Each byte that is
 * not valid UTF-8 becomes U+FFFD.
 */
json_t *json_text(const char *bytes, size_t max);

/* The number, or NULL if it is 0, which means not known; for json_pack() with "o*". */
json_t *json_known(uint32_t number);

/* A moment of CLOCK_MONOTONIC as a string, RFC 3339 with the offset of the host's clock. */
json_t *json_time(uint64_t monotonic_ns);

/* `group` of devices that are one row because there is no room for more. */
#define JSON_GROUP_OTHER "other"

/* Types DropRecord, LatencyRecord and SlotsRecord, of resolved records. */
json_t *json_drop_record(const struct drop *drop);
json_t *json_latency_record(const struct journey *journey);
json_t *json_slots_record(const struct transmit *transmit);
/* One of them. */
json_t *json_record(const struct record *record);

/* Types Napi, Softnet and Slots. */
json_t *json_napi(const struct napi_row *row);
json_t *json_softnet(const struct softnet_row *row);
json_t *json_slots(const struct slots_row *row);

/* Type Explanation. */
json_t *json_knowledge(const struct knowledge *entry);

/* Type Rocket; `state` is one of the states in the interface file. */
json_t *json_rocket(const struct rocket *rocket, const char *state);

/*
 * The fields (enum drop_field) of a row of drops, with the member `message`, true, if the skbs were not packets; a
 * field that the row has lost is left out.
 */
json_t *json_drop_cause(const struct drop_row *row, unsigned int fields);

/* Type Drops, without `baseline`. */
json_t *json_drop_row(const struct drop_row *row, unsigned int fields);

/* Type Counted, without `since`; `value` is in the order of enum traffic_value. */
json_t *json_counted(const struct device *device, const uint64_t value[4]);

/*
 * Type Latency.  An empty histogram has a count of 0, and neither mean, maximum nor quantiles.  The last bucket has no
 * upper limit: its below_ns is INT64_MAX.
 */
json_t *json_latency(const struct latency_row *row, const struct latency_doubt *doubt);

#endif
