/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files of this directory: objects that are being filled, and the members that records of packets have.
 */
#ifndef DAEMON_JSON_INTERNAL_H
#define DAEMON_JSON_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "bpf/records.h"

struct contents;
struct device;
struct owner;

/*
 * An object that is being filled.  If memory runs out, `object` becomes NULL and all later members are dropped, so the
 * caller checks only the result.
 */
struct fill {
	json_t *object;
};

struct fill fill_new(void);

/* Add a member; steals the reference to `value`.  `value` NULL means that memory ran out. */
void fill_put(struct fill *f, const char *key, json_t *value);

void fill_int(struct fill *f, const char *key, uint64_t value);

/* Add a number unless it is 0, which means not known. */
void fill_known(struct fill *f, const char *key, uint64_t value);

void fill_bool(struct fill *f, const char *key, bool value);

/* Add a text of netflowd itself, which is valid UTF-8; NULL is left out. */
void fill_text(struct fill *f, const char *key, const char *text);

/* Add up to `max` bytes of unknown origin, see json_text(); NULL and an empty text are left out. */
void fill_bytes(struct fill *f, const char *key, const char *bytes, size_t max);

/* Add a string of unknown origin, see json_text(); NULL is left out, an empty text is not. */
void fill_foreign(struct fill *f, const char *key, const char *text);

/* Add a moment of CLOCK_MONOTONIC as a time of day, see json_time(). */
void fill_time(struct fill *f, const char *key, uint64_t monotonic_ns);

/* Append to an array as fill_put() does to an object: *array becomes NULL if memory runs out. */
void fill_append(json_t **array, json_t *value);

/* packet.c: add the members protocol, flow, ethernet, vlan, ip, transport and icmp that the packet has. */
void fill_contents(struct fill *f, const struct contents *contents);
/* Add the members device, ifindex, netns and netns_name; a value that is not known is left out. */
void fill_device(struct fill *f, const struct device *device);
/* Add the member header. */
void fill_header(struct fill *f, const struct nf_bytes *bytes);
/* Add the member owner; NULL is left out. */
void fill_owner(struct fill *f, const struct owner *owner);
/* Add the member task. */
void fill_task(struct fill *f, const struct nf_task *task, const bool *involved);

#endif
